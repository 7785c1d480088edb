"""Values of properties, where files differ from the specification."""

import pytest

from node.exchange.errors import SgfError
from node.exchange.values import (
    parse_area,
    parse_handicap,
    parse_komi,
    parse_move,
    parse_point,
    parse_result,
    vertex,
    write_point,
    write_result,
)


@pytest.mark.parametrize(
    ("text", "half"),
    [
        ("0", 0),
        ("-7", -14),
        ("+6.5", 13),
        (" 7.500 ", 15),
        (".5", 1),
        ("5.", 10),
        ("3.75", 15),
        ("2.75", 11),
        ("", None),
    ],
)
def test_komi(text: str, half: int | None) -> None:
    assert parse_komi(text, fox=True) == parse_komi(text, fox=False) == half


@pytest.mark.parametrize(
    ("text", "half"), [("375", 15), ("325", 13), ("650", 13), ("750", 15), ("550", 11), ("275", 11)]
)
def test_komi_of_fox(text: str, half: int) -> None:
    assert parse_komi(text, fox=True) == half
    assert parse_komi(text, fox=False) == 2 * int(text)


@pytest.mark.parametrize("text", ["six", "1e3", "7,5", "0.3", "nan", "16384", "9" * 5000, "--1", "٣", "1_0"])
def test_what_is_no_komi(text: str) -> None:
    with pytest.raises(SgfError, match=r"^The komi .{1,60} is not .{1,60}\.$"):
        parse_komi(text, fox=True)


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("B+Resign", "B+R"),
        ("w+r", "W+R"),
        ("B+Time", "B+T"),
        ("W+Forfeit", "W+F"),
        ("B+3.50", "B+3.5"),
        ("W+12", "W+12"),
        ("B+", "B+"),
        ("Draw", "0"),
        ("0", "0"),
        ("void", "Void"),
        ("?", "?"),
        ("黑中盘胜", "黑中盘胜"),
        ("B+Ran away", "B+Ran away"),
        ("B+12345", "B+12345"),
        ("", ""),
    ],
)
def test_results(text: str, result: str) -> None:
    assert parse_result(text) == result
    assert parse_result(result) == result


def test_results_of_scores() -> None:
    assert [write_result(half) for half in (7, -2, 1, 0)] == ["B+3.5", "W+1", "B+0.5", "0"]
    assert all(parse_result(write_result(half)) == write_result(half) for half in range(-800, 801))


def test_points() -> None:
    for rows, cols in ((1, 1), (5, 9), (19, 19)):
        for point in range(rows * cols + 1):
            assert parse_move(write_point(point, rows, cols), rows, cols) == point
    assert parse_move("tt", 19, 19) == 361
    assert parse_point(" ba\n", 5, 9) == 1
    for text in ("", "tt", "a", "aaa", "AA", "ja", "af", "a:"):
        with pytest.raises(SgfError):
            parse_point(text, 5, 9)


def test_areas() -> None:
    assert parse_area("bb", 5, 9) == {10}
    assert parse_area("bb:cc", 5, 9) == {10, 11, 19, 20}
    assert len(parse_area("aa:ie", 5, 9)) == 45
    for text in ("cc:bb", "cb:bc", "aa:", ":aa", "aa:bb:cc"):
        with pytest.raises(SgfError):
            parse_area(text, 5, 9)


def test_vertices() -> None:
    assert [vertex(point, 5, 9) for point in (0, 8, 36, 44, 45)] == ["A5", "J5", "A1", "J1", "pass"]


@pytest.mark.parametrize("text", ["3", " 3", "\x1d3", "3\x1f", "\u20033"])
def test_any_space_around_a_handicap(text: str) -> None:
    assert parse_handicap(text) == 3
