"""One row of what is shown: a word, what there is to say, and how good that is."""

from dataclasses import dataclass
from enum import Enum


class Tone(Enum):
    """How a row's word is coloured; the word itself says the same, for those who see no colours."""

    PLAIN = "bold"
    GOOD = "bold green"
    WAIT = "bold yellow"
    BAD = "bold red"


@dataclass(frozen=True, slots=True)
class Row:
    """`label` is one word, or nothing; `parts` are short and in the order of their weight."""

    label: str
    parts: tuple[str, ...]
    tone: Tone = Tone.PLAIN

    @property
    def sentence(self) -> str:
        """The row within a line of its own."""
        return f"{self.label} {', '.join(self.parts)}".strip()
