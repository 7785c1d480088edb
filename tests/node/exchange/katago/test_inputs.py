"""KataGo's planes and numbers of positions that were made by hand, one for each of them.

What is expected was read from KataGo's `fillRowV7` (`cpp/neuralnet/nninputs.cpp`); planes are drawn in rows.
"""

import struct

import pytest

from native.rules import Ko, Rules
from node.exchange.katago.canvas import Canvas
from node.exchange.katago.inputs import GLOBALS, PLANES, Replay, input_globals, input_planes
from node.exchange.values import parse_vertex

SIDE = 5
RULES = Rules(SIDE, SIDE, komi_half=13)


def moves(text: str, side: int = SIDE) -> list[int]:
    return [parse_vertex(word, side, side) for word in text.split()]


def planes(text: str, rules: Rules = RULES, side: int = SIDE) -> list[str]:
    """The planes before the last move, drawn; the last move does not count."""
    played, canvas = moves(text, side), Canvas(side, side)
    packed = input_planes(Replay(rules, played), len(played) - 1, canvas)
    assert len(packed) == PLANES * canvas.packed_bytes
    found = []
    for start in range(0, len(packed), canvas.packed_bytes):
        digits = "".join(f"{byte:08b}" for byte in packed[start : start + canvas.packed_bytes])
        rows = [digits[at : at + side].replace("0", ".").replace("1", "#") for at in range(0, side * side, side)]
        assert "1" not in digits[side * side :]
        found.append(" ".join(rows))
    return found


def numbers(text: str, rules: Rules = RULES) -> list[float]:
    """The numbers before the last move."""
    played = moves(text, rules.rows)
    return list(struct.unpack(f"<{GLOBALS}f", input_globals(Replay(rules, played), len(played) - 1)))


EMPTY = "..... ..... ..... ..... ....."


def test_board_stones_and_liberties() -> None:
    """Black to move after B3 A1 B2 E5: of chains with 4 liberties and more no plane tells."""
    found = planes("B3 A1 B2 E5 A5")
    assert found[0] == "##### ##### ##### ##### #####"
    assert found[1] == "..... ..... .#... .#... ....."
    assert found[2] == "....# ..... ..... ..... #...."
    assert found[3] == EMPTY
    assert found[4] == "....# ..... ..... ..... #...."
    assert found[5] == EMPTY
    assert planes("B1 A1 C1 E5 A5")[3] == "..... ..... ..... ..... #...."
    assert planes("B1 A1 C1 E5 A5")[5] == "..... ..... ..... ..... .##.."
    assert planes("B1 A1 C1 E5 A5")[4] == "....# ..... ..... ..... ....."


KO = "B3 C3 A2 D2 B1 C1 C2 B2"
"""White takes at B2 what was at C2; then Black may not take back."""


@pytest.mark.parametrize("ko", list(Ko))
def test_a_ko(ko: Ko) -> None:
    rules = Rules(SIDE, SIDE, komi_half=13, ko=ko)
    assert planes(f"{KO} E5", rules)[6] == "..... ..... ..... ..#.. ....."
    assert planes(f"{KO} E5 E4 A5", rules)[6] == EMPTY


def test_superko() -> None:
    """White's last move took three stones. Black at B1 would give the board after the second move again; A2 is free."""
    text = "B1 B2 A2 pass A1 B2 pass"
    for ko, forbidden in ((Ko.POSITIONAL, ".. .#"), (Ko.SITUATIONAL, ".. .."), (Ko.SIMPLE, ".. ..")):
        found = planes(text, Rules(2, 2, komi_half=0, ko=ko), 2)
        assert found[2] == ".# .."
        assert found[6] == forbidden


def test_history() -> None:
    """The last five moves, of which the third was a pass, as was the first."""
    found = planes("A1 pass B2 pass C3 D4 E5")
    assert found[9] == "..... ...#. ..... ..... ....."
    assert found[10] == "..... ..... ..#.. ..... ....."
    assert found[11] == EMPTY
    assert found[12] == "..... ..... ..... .#... ....."
    assert found[13] == EMPTY
    assert numbers("A1 pass B2 pass C3 D4 E5")[:5] == [0, 0, 1, 0, 1]
    assert planes("A1 B1")[9:14] == ["..... ..... ..... ..... #....", *[EMPTY] * 4]


def test_a_move_is_shown_where_its_stone_was_taken() -> None:
    """White's A1 is taken by Black's B1 next; then White is to move."""
    found = planes("A2 A1 B1 E5")
    assert found[2] == "..... ..... ..... #.... .#..."
    assert found[10] == "..... ..... ..... ..... #...."


LADDER = "C8 C7 D8 D7 B7 pass C6 pass"
"""With its last move but one Black takes a liberty of two white stones: from then on E7 begins a ladder."""

CAUGHT = "......... ......... ..##..... ......... ......... ......... ......... ......... ........."
BEGINS = "......... ......... ....#.... ......... ......... ......... ......... ......... ........."
NOTHING = CAUGHT.replace("#", ".")


def test_ladders() -> None:
    """Planes 14, 15, 16 are the ladders now, a move and two moves ago; 17 is for the attacker alone."""
    rules = Rules(9, 9, komi_half=13)
    assert planes(f"{LADDER} E7", rules, 9)[14:18] == [CAUGHT, CAUGHT, NOTHING, BEGINS]
    assert planes("C8 C7 D8 D7 B7 pass C6 H8 G8 pass", rules, 9)[14:18] == [CAUGHT, CAUGHT, CAUGHT, NOTHING]
    assert planes(LADDER, rules, 9)[14:18] == [CAUGHT, NOTHING, NOTHING, NOTHING]
    assert planes("C8 C7 D8 D7 B7 F4 C6 pass E7", rules, 9)[14:18] == [NOTHING] * 4


def test_areas() -> None:
    """Black's chain lives with three eyes, White's stone in one of them is dead. White's stones are not alive, but count."""
    text = "B5 D5 B4 D4 B3 D3 B2 D2 B1 D1 A4 A1 A2 E3"
    left, right = "##... ##... ##... ##... ##...", "...## ...## ...## ...## ...##"
    assert planes(text)[18:20] == [right, left]
    assert planes(f"{text} E5")[18:20] == [left, right]
    assert planes(text, Rules(SIDE, SIDE, komi_half=13, pass_alive=False))[18:20] == [right, left]


def test_area_that_touches_both_colours_is_nobodys() -> None:
    assert planes("A5 E1 pass")[18:20] == ["#.... ..... ..... ..... .....", "..... ..... ..... ..... ....#"]


def test_planes_of_rules_that_no_run_has_are_empty() -> None:
    """7 and 8: ko in the cleanup of territory scoring; 20 and 21: its stones."""
    found = planes(f"{KO} E5")
    assert [found[plane] for plane in (7, 8, 20, 21)] == [EMPTY] * 4


@pytest.mark.parametrize(
    ("komi_half", "black", "wave"),
    [
        (13, -6.5, 0.5),
        (14, -7.0, 0.0),
        (15, -7.5, -0.5),
        (0, 0.0, 0.0),
        (-13, 6.5, -0.5),
        (16, -8.0, 0.0),
        (120, -45.0, 0.0),
    ],
)
def test_komi(komi_half: int, black: float, wave: float) -> None:
    """In twentieths, at most 20 points more than the board has; the wave is 0 where odd komi can be drawn on 25 points."""
    rules = Rules(SIDE, SIDE, komi_half=komi_half)
    found = numbers("C3", rules)
    assert found[5] == pytest.approx(black / 20)
    assert found[18] == pytest.approx(wave)
    assert numbers("C3 D3", rules)[5] == pytest.approx(-black / 20)


@pytest.mark.parametrize("ko", list(Ko))
@pytest.mark.parametrize("suicide", [True, False])
def test_rules(ko: Ko, suicide: bool) -> None:
    """Ko by two numbers, suicide by one; scoring, tax, cleanup, handicap and button are never there."""
    found = numbers("C3 D3", Rules(SIDE, SIDE, komi_half=13, ko=ko, suicide=suicide))
    assert found[6:8] == {Ko.SIMPLE: [0, 0], Ko.POSITIONAL: [1, 0.5], Ko.SITUATIONAL: [1, -0.5]}[ko]
    assert found[8] == suicide
    assert found[9:14] == [0] * 5
    assert found[15:18] == [0] * 3


def test_whether_a_pass_would_end_the_game() -> None:
    assert numbers("C3 pass D3")[14] == 1
    assert numbers("C3 pass D3 E4")[14] == 0
    assert numbers("C3")[14] == 0
