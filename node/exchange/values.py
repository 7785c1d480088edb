"""Values of SGF properties: points, numbers, komi, results, as text without escapes.

Each reader takes what files of today hold, bounds what it takes, and raises SgfError for the rest.
"""

import re
from fractions import Fraction
from typing import Final

from native.rules import MAX_KOMI_HALF, MAX_SIDE
from node.exchange.errors import SgfError

LETTERS: Final = "abcdefghijklmnopqrs"
COLUMNS: Final = "ABCDEFGHJKLMNOPQRST"

_FOX_KOMI_HALF: Final = {275: 11, 325: 13, 375: 15, 550: 11, 650: 13, 750: 15}
_REAL = re.compile(r"[+-]?(?:[0-9]{1,9}(?:\.[0-9]{0,9})?|\.[0-9]{1,9})")
_VERTEX = re.compile(f"([{COLUMNS}])([0-9]{{1,2}})")
_SIZE = re.compile(r"([0-9]{1,3})(?:\s*:\s*([0-9]{1,3}))?")
_SCORE = re.compile(r"([BW])\+(?:([0-9]{1,4}(?:\.[0-9]{1,2})?)|R(?:esign)?|T(?:ime)?|F(?:orfeit)?|)", re.IGNORECASE)
_WHOLE_RESULTS: Final = {"draw": "0", "jigo": "0", "0": "0", "void": "Void", "?": "?"}


def parse_size(text: str) -> tuple[int, int]:
    """Rows and columns of `9` or of `5:9` (columns first)."""
    found = _SIZE.fullmatch(text.strip())
    cols = int(found[1]) if found else 0
    rows = int(found[2] or cols) if found else 0
    if not (1 <= cols <= MAX_SIDE and 1 <= rows <= MAX_SIDE):
        raise SgfError(f"The board size {_shown(text)} is not between 1 and {MAX_SIDE}.")
    return rows, cols


def write_size(rows: int, cols: int) -> str:
    """`9`, or `5:9` for a board that is not square."""
    return str(cols) if rows == cols else f"{cols}:{rows}"


def parse_komi(text: str, fox: bool) -> int | None:
    """Half points of komi; None for an empty value.

    Komi counted in stones a side, as some Chinese records do (3.75), is doubled: points of komi are never quarters. `fox`:
    hundredths as the Fox server writes them (375 is 3.75 a side, 650 is 6.5) are understood too.
    """
    if not text.strip():
        return None
    if not _REAL.fullmatch(text.strip()):
        raise SgfError(f"The komi {_shown(text)} is not a number.")
    komi = Fraction(text.strip())
    if fox and komi in _FOX_KOMI_HALF:
        return _FOX_KOMI_HALF[int(komi)]
    half = 2 * komi if (2 * komi).denominator == 1 else 4 * komi
    if half.denominator != 1 or abs(half) > MAX_KOMI_HALF:
        raise SgfError(f"The komi {_shown(text)} is not a whole or half number that can be played with.")
    return int(half)


def parse_handicap(text: str) -> int | None:
    """Stones of handicap; None for an empty value."""
    number = text.strip()  # more than what `int` takes as space
    if not number:
        return None
    if not re.fullmatch("[0-9]{1,3}", number):
        raise SgfError(f"The handicap {_shown(text)} is not a number of stones.")
    return int(number)


def parse_result(text: str) -> str:
    """`B+3.5`, `W+R`, `B+T`, `B+F`, `B+` (by an unknown margin), `0`, `Void`, `?`; any other text stays as it is."""
    found = _SCORE.fullmatch(text)
    if found is None:
        return _WHOLE_RESULTS.get(text.lower(), text)
    return found[1].upper() + "+" + (f"{float(found[2]):g}" if found[2] else text[2:3].upper())


def write_result(score_half: int) -> str:
    """`B+3.5`, `W+1`, or `0` for a draw, by Black's half points minus White's with komi."""
    return f"{'B' if score_half > 0 else 'W'}+{abs(score_half) / 2:g}" if score_half else "0"


def parse_point(text: str, rows: int, cols: int) -> int:
    """The point that two letters name, the column first."""
    text = text.strip()
    if len(text) == 2 and all("a" <= letter <= "s" for letter in text):
        col, row = (ord(letter) - ord("a") for letter in text)
        if col < cols and row < rows:
            return row * cols + col
    raise SgfError(f"The point {_shown(text)} is not on a board of {cols} by {rows}.")


def parse_move(text: str, rows: int, cols: int) -> int:
    """The point of a move; an empty value and `tt` are the pass."""
    return rows * cols if text.strip() in ("", "tt") else parse_point(text, rows, cols)


def parse_area(text: str, rows: int, cols: int) -> set[int]:
    """The points that a value of a point list names: one, or a rectangle by its first and last corner (`aa:cb`)."""
    first, colon, last = text.partition(":")
    low = parse_point(first, rows, cols)
    high = parse_point(last, rows, cols) if colon else low
    if low // cols > high // cols or low % cols > high % cols:
        raise SgfError(f"The corners of {_shown(text)} are not in order.")
    return {
        row * cols + col for row in range(low // cols, high // cols + 1) for col in range(low % cols, high % cols + 1)
    }


def write_point(point: int, rows: int, cols: int) -> str:
    """Two letters, or nothing for the pass."""
    return "" if point == rows * cols else LETTERS[point % cols] + LETTERS[point // cols]


def vertex(point: int, rows: int, cols: int) -> str:
    """`C7`, or `pass`: the point as people and GTP name it."""
    return "pass" if point == rows * cols else f"{COLUMNS[point % cols]}{rows - point // cols}"


def parse_vertex(text: str, rows: int, cols: int) -> int:
    """The point, or the pass, that `vertex` names so, in either case of letters."""
    text = text.strip().upper()
    if text == "PASS":
        return rows * cols
    found = _VERTEX.fullmatch(text)
    if found is not None:
        col, row = COLUMNS.index(found[1]), rows - int(found[2])
        if col < cols and 0 <= row < rows:
            return row * cols + col
    raise SgfError(f"The move {_shown(text)} is not on a board of {cols} by {rows}.")


def _shown(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:40] + "...")
