"""What Lizzie and LizzieYzy send, and how they read the answers: the rules of their Leelaz.java and MoveData.java.

Lizzie reads standard output and error as one stream, line by line, and numbers its commands. A number that it cannot
read ends its reader, so they are read as strictly here as Java does.
"""

import re
from dataclasses import dataclass

import pytest

from native.rules import Rules
from node.gtp import session as session_module
from node.gtp.session import Limits, Session
from node.play.resignation import ResignRule
from tests.node.gtp.dialogue import VISITS, dialogue, small_session
from tests.node.play.players import small_network, small_searcher

COORDINATE = re.compile(r"([A-HJ-T])([1-9][0-9]?)|pass|resign")
WHOLE = re.compile(r"[+-]?[0-9]{1,10}")
REAL = re.compile(r"[+-]?[0-9]+\.[0-9]+")


@dataclass(frozen=True, slots=True)
class Told:
    """A move of `info`: per cent as Lizzie shows them, and its variation."""

    move: str
    visits: int
    winrate: float
    policy: float
    line: tuple[str, ...]


def numbered(*commands: str) -> str:
    """The commands as Lizzie sends them."""
    return "".join(f"{number} {command}\n" for number, command in enumerate(commands, 1))


def read_move(text: str, *, is_kata: bool) -> Told:
    """`MoveData.fromInfo` and `fromInfoKatago`: pairs up to `pv`, the rest is the variation, or visits of one."""
    words = text.strip().split(" ")
    found: dict[str, str] = {}
    at = 0
    while words[at] != "pv":
        found[words[at]] = words[at + 1]
        at += 2
    line = words[at + 1 :]
    if is_kata and "pvVisits" in line:
        counts = line[line.index("pvVisits") + 1 :]
        line = line[: line.index("pvVisits")]
        assert len(counts) == len(line)
        assert all(WHOLE.fullmatch(count) for count in counts)
    assert all(COORDINATE.fullmatch(each) for each in (found["move"], *line))
    assert WHOLE.fullmatch(found["visits"])
    for key in ("winrate", "prior", "lcb", *(("scoreMean",) if is_kata else ())):
        assert (REAL if is_kata else WHOLE).fullmatch(found[key]), key
    share = 100.0 if is_kata else 0.01
    return Told(
        found["move"],
        int(found["visits"]),
        share * float(found["winrate"]),
        share * float(found["prior"]),
        tuple(line),
    )


def read_info(line: str, *, is_kata: bool = False) -> list[Told]:
    """`Leelaz.parseInfo` and `parseInfoKatago`."""
    assert line.startswith("info ")
    if is_kata:
        line, _, owned = line.partition("ownership")
        assert all(REAL.fullmatch(each) for each in owned.split())
    return [read_move(each, is_kata=is_kata) for each in line[5:].split(" info ")]


def verify_numbers(answers: list[str]) -> None:
    """`Integer.parseInt(params[0].substring(1))` of each first line: they are the commands' numbers, in order."""
    assert [int(answer.split("\n")[0].split(" ")[0][1:]) for answer in answers] == list(range(1, len(answers) + 1))


def test_start() -> None:
    """The version's second number is compared with Leela Zero's: below 15 Lizzie stands still behind a message."""
    commands = ("name", "version", "boardsize 9", "komi 7.5", "komi 0", "lz-analyze 10")
    answers = dialogue(numbered(*commands), small_session())
    verify_numbers(answers)
    name, version = (answer.split(" ")[1:] for answer in answers[:2])
    assert not name[0].lower().startswith(("kata", "leela", "zen", "sai", "golaxy"))
    assert int(version[0].split(".")[1]) >= 15
    assert all(answer.startswith("=") for answer in answers)


def test_start_of_lizzieyzy() -> None:
    answers = dialogue(
        numbered("name", "version", "list_commands", "komi 7.5", "rectangular_boardsize 9 9", "boardsize 13", "stop"),
        small_session(),
    )
    verify_numbers(answers)
    assert answers[2].split("\n")[0] == "=3 protocol_version", "by this line it knows the list"
    assert {answer[0] for answer in answers} == {"="}


@pytest.mark.parametrize("size", [3, 19])
def test_analyses(size: int) -> None:
    """Passes are moves on a small board, rows of two digits on a large one."""
    commands = ["lz-analyze 10", "lz-analyze B 2147483647", "lz-analyze 10 avoid b A1,B1 1 avoid w A1,B1 1"]
    answers = dialogue(numbered(*commands), small_session(size=size))
    verify_numbers(answers)
    for answer in answers:
        head, first, *_ = answer.split("\n")
        assert WHOLE.fullmatch(head[1:])
        told = read_info(first)
        assert sum(each.visits for each in told) >= VISITS
        assert all(0 < each.winrate < 100 and 0 <= each.policy <= 100 and each.line[0] == each.move for each in told)
    assert not {"A1", "B1"} & {each.move for each in read_info(answers[2].split("\n")[1])}
    if size == 3:
        assert "pass" in {each for told in read_info(answers[0].split("\n")[1]) for each in told.line}
    else:
        assert any(len(each.move) == 3 for each in read_info(answers[0].split("\n")[1]))


def test_analyses_as_of_katago() -> None:
    answers = dialogue("1 kata-analyze 10 ownership true pvVisits true movesOwnership true\n", small_session(size=9))
    _, first, *_ = answers[0].split("\n")
    assert sum(each.visits for each in read_info(first, is_kata=True)) >= VISITS
    assert len(first.split("ownership")[1].split()) == 81


def test_moves() -> None:
    """`play`, `undo` and `genmove` come while an analysis goes on; handicap stones are read from the answer."""
    commands = ["clear_board", "fixed_handicap 4", "lz-analyze 10", "play W E5", "undo", "time_settings 0 2 1"]
    commands += ["time_left B 1.50 0", "genmove W", "lz-genmove_analyze B 10", "undo", "undo", "name"]
    answers = dialogue(numbered(*commands), small_session(size=9))
    verify_numbers(answers)
    assert {answer[0] for answer in answers} == {"="}
    assert all(COORDINATE.fullmatch(each) for each in answers[1].split(" ")[1:])
    assert COORDINATE.fullmatch(answers[7].split(" ")[1])
    *_, info, played = answers[8].split("\n")
    assert played == f"play {read_info(info)[0].move}"


def test_who_resigns_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_module, "RESIGNING", ResignRule(winrate=1.1, behind=-100, after=0, visits=1))
    session = Session(small_searcher(small_network()), Rules(5, 5, 15), Limits(VISITS))
    one, other = dialogue(numbered("genmove B", "lz-genmove_analyze B 10"), session)
    assert one == "=1 resign"
    assert other.split("\n")[-1] == "play resign"
    assert not session.table.moves
