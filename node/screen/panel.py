"""Lays rows out for a terminal's width: labels in a column, parts side by side, what does not fit below.

Invariant: no line is wider than the terminal, whatever the texts hold: they come from elsewhere, so only plain characters
are shown.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from rich.text import Text

from node.screen.clean import clean
from node.screen.row import Row

LABEL_WIDTH: Final = 10
NARROW: Final = 30
"""Below this width labels get lines of their own."""

DOT: Final = " · "
_PLAIN: Final = str.maketrans({"·": "|", "°": "'", "…": "~"})


def panel(rows: Iterable[Row], width: int, height: int, is_ascii: bool = False) -> Text:
    """The rows as text of at most `height` lines of at most `width` columns; with `is_ascii` without other signs."""
    lines = [line for row in rows for line in _lines(row, max(1, width))]
    if len(lines) > height:
        lines = lines[: max(0, height)]
    text = Text("\n", no_wrap=True, end="").join(lines)
    if is_ascii:
        text.plain = text.plain.translate(_PLAIN)
    return text


def uncut(rows: Iterable[Row], is_ascii: bool = False) -> str:
    """The rows for whoever breaks or searches lines himself: each is one line, its parts separated by commas."""
    lines = (f"{row.label:<{LABEL_WIDTH - 1}} {', '.join(row.parts)}" for row in rows)
    text = "\n".join(clean(line) for line in lines)
    return text.translate(_PLAIN) if is_ascii else text


def _lines(row: Row, width: int) -> list[Text]:
    """One row."""
    label = clean(row.label)[:width]
    if width < NARROW:
        head = [Text(label, row.tone.value)] if label else []
        return [*head, *(Text(line) for line in wrapped(row.parts, width))]
    lines = []
    for number, shown in enumerate(wrapped(row.parts, width - LABEL_WIDTH) or [""]):
        begin = label[: LABEL_WIDTH - 1] if number == 0 else ""
        lines.append(Text.assemble((begin.ljust(LABEL_WIDTH), row.tone.value), shown))
        lines[-1].rstrip()
    return lines


def wrapped(parts: Sequence[str], width: int) -> list[str]:
    """The parts side by side as far as they fit, each else on a line of its own, or on several when it is too long."""
    lines: list[str] = []
    for part in map(clean, parts):
        if lines and len(lines[-1]) + len(DOT) + len(part) <= width:
            lines[-1] += DOT + part
        else:
            lines += _folded(part, width)
    return lines


def _folded(text: str, width: int) -> list[str]:
    """A text broken at its blanks, and where a word is too long within it."""
    lines: list[str] = []
    for word in text.split():
        if lines and len(lines[-1]) + 1 + len(word) <= width:
            lines[-1] += f" {word}"
        else:
            lines += [word[at : at + width] for at in range(0, len(word), width)]
    return lines
