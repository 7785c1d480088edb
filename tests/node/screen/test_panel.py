"""The layout: nothing is wider or higher than the terminal, whatever it holds and however small it is."""

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from node.screen.clean import clean
from node.screen.panel import panel, wrapped
from node.screen.row import Row, Tone

ROWS = st.lists(
    st.builds(Row, st.text(max_size=14), st.lists(st.text(max_size=200), max_size=5).map(tuple), st.sampled_from(Tone)),
    max_size=8,
)


@given(ROWS, st.integers(1, 140), st.integers(0, 30), st.booleans())
def test_no_line_is_wider_than_the_terminal(rows: list[Row], width: int, height: int, is_ascii: bool) -> None:
    text = panel(rows, width, height, is_ascii)
    lines = text.plain.split("\n")
    assert all(cell_len(line) <= width for line in lines)
    assert len(lines) <= max(1, height)
    assert all(letter.isprintable() for line in lines for letter in line)
    assert not is_ascii or text.plain.isascii()


@given(st.lists(st.text(st.characters(codec="ascii", exclude_categories=["C"]), max_size=60)), st.integers(1, 60))
def test_wrapping_loses_nothing(parts: list[str], width: int) -> None:
    letters = "".join("".join(part.split()) for part in parts)
    assert "".join("".join(wrapped(parts, width)).split()).replace("·", "") == letters


def test_parts_that_do_not_fit_go_below() -> None:
    row = Row("peers", ("9", "log 812,051 (in sync)", "batches waiting 0", "next try in 40s"))
    assert panel([row], 40, 9).plain.split("\n") == [
        "peers     9 · log 812,051 (in sync)",
        "          batches waiting 0",
        "          next try in 40s",
    ]
    assert panel([row], 24, 9).plain.split("\n") == [
        "peers",
        "9",
        "log 812,051 (in sync)",
        "batches waiting 0",
        "next try in 40s",
    ]


def test_the_first_lines_stay_on_a_low_terminal() -> None:
    rows = [Row(str(number), ("x",)) for number in range(5)]
    assert panel(rows, 80, 2).plain == "0         x\n1         x"


def test_what_a_stranger_wrote_is_harmless() -> None:
    assert clean("a\x1b[2Jb\r\n\u202ec\U0001f600") == "a [2Jb   c?"
