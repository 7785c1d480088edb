"""Moves that a query forbids to the search, `avoidMoves` and `allowMoves`: `barred_of`.

A search here can be kept from moves at its root alone. So depths past the first move are warned of, and count as 1.
"""

from collections.abc import Callable
from typing import Any, Final

from native.rules import Colour
from node.analysis.errors import QueryError
from node.analysis.line import Table
from node.analysis.values import integer_of, player_of, points_of

_LIST: Final = "Must be a list of dicts with subfields 'player', 'moves', 'untilDepth'"
_ALLOW: Final = "allowMoves"
_AVOID: Final = "avoidMoves"


def barred_of(table: Table, rows: int, cols: int, warn: Callable[[str, str], None]) -> dict[Colour, frozenset[int]]:
    """The moves that each player may not make at the position itself; raises QueryError."""
    if _ALLOW in table and _AVOID in table:
        raise QueryError(_ALLOW, "Cannot specify both allowMoves and avoidMoves")
    field = _ALLOW if _ALLOW in table else _AVOID
    entries: Any = table.get(field, [])
    if not isinstance(entries, list):
        raise QueryError(field, _LIST)
    if field == _ALLOW and len(entries) > 2:
        raise QueryError(field, "Currently allowMoves only allows at most one entry per player")
    found: dict[Colour, frozenset[int]] = {}
    is_deep = False
    for entry in entries:
        if not isinstance(entry, dict) or not {"player", "moves", "untilDepth"} <= entry.keys():
            raise QueryError(field, _LIST)
        player = player_of(entry, "player")
        moves = frozenset(points_of(entry["moves"], "moves", rows, cols))
        is_deep |= integer_of(entry, "untilDepth", 1, 10**9, "Must be a positive integer") > 1
        if field == _AVOID:
            found[player] = found.get(player, frozenset()) | moves
        elif player in found:
            raise QueryError(field, "Cannot specify allowMoves more than once for the same player")
        else:
            found[player] = frozenset(range(rows * cols + 1)) - moves
    if is_deep:
        warn(field, "Moves are barred from the position itself alone: untilDepth counts as 1")
    return found
