"""Values of a query's fields: numbers, players, points, moves. Each reader raises QueryError in KataGo's own words."""

import re
from typing import Any, Final

from native.rules import Colour
from node.analysis.errors import QueryError
from node.analysis.line import MOST_SHOWN, Table
from node.exchange.errors import SgfError
from node.exchange.values import parse_vertex

_PLAYERS: Final = {"b": Colour.BLACK, "black": Colour.BLACK, "w": Colour.WHITE, "white": Colour.WHITE}
_PAIR: Final = re.compile(r"\(\s*([0-9]{1,2})\s*,\s*([0-9]{1,2})\s*\)")
_MOVES: Final = 'Must be an array of pairs of the form: ["b" or "w", GTP board vertex]'
_POINTS: Final = "Must be an array of GTP board vertices"

Move = tuple[Colour, int]


def integer_of(table: Table, field: str, least: int, most: int, sentence: str) -> int:
    """A whole number within bounds."""
    value = table.get(field)
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise QueryError(field, sentence)
    return value


def number_of(table: Table, field: str, least: float, most: float, sentence: str) -> float:
    """A number within bounds."""
    value = table.get(field)
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
        raise QueryError(field, sentence)
    return float(value)


def boolean_of(table: Table, field: str) -> bool:
    """True or false; false where the field is missing."""
    value = table.get(field, False)
    if not isinstance(value, bool):
        raise QueryError(field, "Must be a boolean")
    return value


def integers_of(value: Any, field: str, sentence: str) -> list[int]:
    """An array of whole numbers."""
    if not isinstance(value, list) or not all(isinstance(each, int) and not isinstance(each, bool) for each in value):
        raise QueryError(field, sentence)
    return value


def player_called(text: str) -> Colour | None:
    """`b`, `black`, `w` or `white`, in either case."""
    return _PLAYERS.get(text.lower())


def player_of(table: Table, field: str) -> Colour:
    """A player."""
    value = table.get(field)
    found = player_called(value) if isinstance(value, str) else None
    if found is None:
        raise QueryError(field, 'Must be "b" or "w"')
    return found


def points_of(value: Any, field: str, rows: int, cols: int) -> list[int]:
    """An array of points, the pass among them, as the engine counts them."""
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise QueryError(field, _POINTS)
    return [_point(each, field, rows, cols) for each in value]


def moves_of(value: Any, field: str, rows: int, cols: int, *, with_pass: bool) -> list[Move]:
    """An array of pairs of a player and a point."""
    if not isinstance(value, list):
        raise QueryError(field, _MOVES)
    found = []
    for each in value:
        if not isinstance(each, list) or len(each) != 2 or not all(isinstance(part, str) for part in each):
            raise QueryError(field, _MOVES)
        player = player_called(each[0])
        if player is None:
            raise QueryError(field, f"Could not parse player: {shown(each[0])}")
        point = _point(each[1], field, rows, cols)
        if point == rows * cols and not with_pass:
            raise QueryError(field, f"Could not parse board location: {shown(each[1])}")
        found.append((player, point))
    return found


def shown(text: str) -> str:
    """A text of the client's in a sentence."""
    return text if len(text) <= MOST_SHOWN else text[:MOST_SHOWN] + "..."


def _point(text: str, field: str, rows: int, cols: int) -> int:
    """A vertex, or `(X,Y)` from the top-left corner, or the pass."""
    pair = _PAIR.fullmatch(text.strip())
    if pair is not None:
        col, row = int(pair[1]), int(pair[2])
        if col < cols and row < rows:
            return row * cols + col
    else:
        try:
            return parse_vertex(text, rows, cols)
        except SgfError:
            pass
    raise QueryError(field, f"Could not parse board location: {shown(text)}")
