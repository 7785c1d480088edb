"""Arguments of GTP commands: colours, vertices, numbers, komi. Each reader raises Failure with one sentence."""

import math
import re
from collections.abc import Sequence
from typing import Final

from native.rules import MAX_KOMI_HALF, Colour
from node.exchange.errors import SgfError
from node.exchange.values import parse_vertex
from node.gtp.errors import Failure

_COLOURS: Final = {"b": Colour.BLACK, "black": Colour.BLACK, "w": Colour.WHITE, "white": Colour.WHITE}
_WHOLE: Final = re.compile(r"-?[0-9]{1,10}")
_REAL: Final = re.compile(r"[+-]?(?:[0-9]{1,12}(?:\.[0-9]{0,12})?|\.[0-9]{1,12})")
MOST_SHOWN: Final = 40


def shown(text: str) -> str:
    """An argument in a sentence."""
    return repr(text if len(text) <= MOST_SHOWN else text[:MOST_SHOWN] + "...")


def argument(arguments: Sequence[str], number: int, what: str) -> str:
    """The argument with this number, from 0; `what` it is, for the sentence when it is missing."""
    if number >= len(arguments):
        raise Failure(f"An argument is missing: {what}.")
    return arguments[number]


def colour_of(text: str) -> Colour:
    """`b`, `black`, `w` or `white`, in either case."""
    colour = _COLOURS.get(text.lower())
    if colour is None:
        raise Failure(f"A colour is black or white, not {shown(text)}.")
    return colour


def is_colour(text: str) -> bool:
    """Whether `colour_of` reads it."""
    return text.lower() in _COLOURS


def move_of(text: str, rows: int, cols: int) -> int:
    """A vertex or `pass`, as the engine counts points."""
    try:
        return parse_vertex(text, rows, cols)
    except SgfError as error:
        raise Failure(str(error)) from None


def point_of(text: str, rows: int, cols: int) -> int:
    """A vertex that is not the pass."""
    point = move_of(text, rows, cols)
    if point == rows * cols:
        raise Failure("A stone goes to a point of the board, and a pass is none.")
    return point


def whole_of(text: str, what: str) -> int:
    """A whole number."""
    if not _WHOLE.fullmatch(text):
        raise Failure(f"{what} is a whole number, not {shown(text)}.")
    return int(text)


def seconds_of(text: str, what: str) -> float:
    """A number of seconds, not below 0."""
    if not _REAL.fullmatch(text) or float(text) < 0:
        raise Failure(f"{what} is a number that is not below 0, not {shown(text)}.")
    return float(text)


def limit_of(text: str, what: str) -> float | None:
    """A number of seconds that bounds something; None for one below 0, which bounds nothing."""
    if not _REAL.fullmatch(text):
        raise Failure(f"{what} is a number, not {shown(text)}.")
    return None if float(text) < 0 else float(text)


def komi_half_of(text: str) -> int:
    """Half points of komi."""
    if not _REAL.fullmatch(text):
        raise Failure(f"Komi is a number, not {shown(text)}.")
    half = 2 * float(text)
    if not half.is_integer() or abs(half) > MAX_KOMI_HALF:
        raise Failure(f"Komi is a whole or half number up to {math.floor(MAX_KOMI_HALF / 2)}, not {shown(text)}.")
    return int(half)


def komi_text(half: int) -> str:
    """Komi as people write it."""
    return f"{half / 2:g}" if half % 2 else str(half // 2)
