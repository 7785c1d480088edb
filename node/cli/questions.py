"""What `gonode setup` asks: a few settings of `gonode join`, each explained in words for somebody who joins a first time."""

from collections.abc import Mapping
from dataclasses import dataclass

from node.cli.setting import Setting


@dataclass(frozen=True, slots=True)
class Question:
    """One question: the setting whose value the answer is, what it means, and what happens with no answer."""

    key: str
    text: str
    otherwise: str


def questions(settings: Mapping[str, Setting], cores: int) -> list[Question]:
    """What is asked, in order, on a machine with so many cores; only about settings that there are."""
    found = [
        Question(
            "join.ticket",
            "The ticket names the run that you contribute to and where it is reached: a text that begins with gonode1, or "
            "the name of a file that holds it. Whoever coordinates the run hands it out.",
            "you give it each time: gonode join TICKET",
        ),
        Question(
            "join.invite",
            "In some runs only those who are invited may take part; the file with the invite comes with the ticket.",
            "you have none; the machine computes a stamp instead, about 10 s, where the run takes that",
        ),
        Question(
            "join.name",
            "The name is what the run's pages show beside your games: letters, digits and . _ + -.",
            "node- and the beginning of your key",
        ),
        Question(
            "join.cores",
            f"Play keeps so many of this machine's cores busy, at most; it has {cores}, and the others stay free.",
            "as many as gonode bench found fastest, else all",
        ),
        Question(
            "join.nice",
            "How far play gives way to your other programs: from 0, not at all, to 19, where it takes only what nothing "
            "else wants.",
            "0",
        ),
        Question(
            "join.hours",
            "The hours in which it plays, by this machine's clock, such as 22-7 for the night.",
            "at all hours",
        ),
    ]
    return [question for question in found if question.key in settings]
