"""What clients of Go servers send: kgsGtp (KGS), the CGOS client, gtp2ogs (OGS), by their documents and sources."""

import json

import pytest

from native.rules import Colour
from tests.node.gtp.dialogue import ask, small_session


def done(answers: list[str]) -> bool:
    """Whether none of the answers is a failure."""
    return all(answer.startswith("=") for answer in answers)


@pytest.mark.parametrize("rules", ["chinese", "japanese", "aga", "new_zealand"])
@pytest.mark.parametrize(
    ("time", "left"), [("byoyomi 60 10 5", "9 4"), ("canadian 60 300 25", "120 7"), ("absolute 30", "3 0")]
)
def test_a_game_on_kgs(rules: str, time: str, left: str) -> None:
    session = small_session(size=9)
    begun = [
        "list_commands",
        "boardsize 9",
        "clear_board",
        f"kgs-rules {rules}",
        "komi 0.5",
        f"kgs-time_settings {time}",
    ]
    assert done(ask(session, *begun, "place_free_handicap 2", "time_left white 60 0", "genmove w"))
    assert done(ask(session, f"time_left black {left}", "play b pass", f"time_left white {left}", "genmove w", "undo"))
    assert done(ask(session, "play w pass", "play b pass"))
    (dead,) = ask(session, "final_status_list dead")
    points = dead.removeprefix("= ").split()
    stones = session.table.game.stones()
    rows = session.table.rules.rows
    for each in points:
        assert stones[(rows - int(each[1:])) * rows + "ABCDEFGHJ".index(each[0])] != Colour.EMPTY
    cleaned = ask(session, "kgs-genmove_cleanup w", "final_score", "kgs-game_over", "quit")
    assert done(cleaned)
    assert cleaned[0] != "= resign"


def test_a_game_on_cgos() -> None:
    """The client takes `kata-genmove_analyze` where it is listed, and reads pairs, a variation, and ownership."""
    session = small_session(size=9)
    begun = ["list_commands", "boardsize 9", "komi 7.0", "clear_board", "time_settings 300 0 0", "play b e5"]
    assert done(ask(session, *begun, "time_left w 300 0"))
    (answer,) = ask(session, "kata-genmove_analyze w ownership true")
    _, analysis, played = answer.split("\n")
    words, owned = (part.split() for part in analysis.split(" ownership "))
    assert len([float(each) for each in owned]) == 81
    moves = " ".join(words).removeprefix("info ").split(" info ")
    for move in moves:
        pairs, line = move.split(" pv ")
        found = dict(zip(pairs.split()[::2], pairs.split()[1::2], strict=True))
        assert 0 <= float(found["winrate"]) <= 1
        assert line.split()[0] == found["move"]
        json.dumps({key: float(value) for key, value in found.items() if key != "move"})
    assert played.lower().startswith("play ")


@pytest.mark.parametrize(
    "clock",
    [
        ["kata-time_settings fischer-capped 120 30 300 -1", "time_left black 110 0", "time_left white 0 0"],
        ["kgs-time_settings byoyomi 600 30 5", "time_left black 29 5", "time_left white 0 1"],
        ["kgs-time_settings canadian 600 180 10", "time_left black 0 0", "time_left white 0 3"],
        ["time_settings 0 20 1", "time_left black 20 1", "time_left white 0 1"],
        ["time_settings 600 0 0", "time_left black 1 0", "time_left white 0 0"],
    ],
)
def test_a_game_on_ogs(clock: list[str]) -> None:
    """gtp2ogs tells the clock anew before each move, and lets every line end in CR LF."""
    session = small_session(size=9)
    begun = ["list_commands", "boardsize 9", "clear_board", "komi 6.5", "set_free_handicap c3 g7", "play white E5"]
    assert "fischer-capped" in ask(session, "kata-list_time_settings")[0]
    assert done(ask(session, *(f"{line}\r" for line in (*begun, *clock, "genmove black"))))
    assert done(ask(session, *(f"{line}\r" for line in (*clock, "genmove white", "showboard", "quit"))))
    assert len(session.table.moves) == 3
