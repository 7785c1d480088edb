"""Names of positions, `thisHash` and `symHash` of an answer: stones, who is to move, and where a ko forbids to play.

They are digits as KataGo's are, and other ones: what it hashes with is its own.
"""

import hashlib
from typing import Final

from native.errors import Reason
from native.game import Game
from node.play.symmetry import SYMMETRIES, places

_KO: Final = 3
"""In the place of a stone, where a ko forbids the point."""


def position_hashes(game: Game) -> tuple[str, str]:
    """The name of the position, and the name that it shares with those that are it turned or mirrored."""
    rules, found = game.rules, bytearray(game.stones())
    legal = game.legal()
    for point, stone in enumerate(bytes(found)):
        if not stone and not legal[point] and game.check(point) in (Reason.KO, Reason.SUPERKO):
            found[point] = _KO
    head, stones = bytes((rules.rows, rules.cols, game.to_move)), bytes(found)
    own = _digits(head + stones)
    if rules.rows == rules.cols:
        return own, min(_digits(head + _turned(stones, symmetry, rules.rows)) for symmetry in SYMMETRIES)
    rows = [stones[at : at + rules.cols] for at in range(0, len(stones), rules.cols)]
    mirrored = [row[::-1] for row in rows]
    twins = (rows, rows[::-1], mirrored, mirrored[::-1])
    return own, min(_digits(head + b"".join(twin)) for twin in twins)


def _turned(stones: bytes, symmetry: int, size: int) -> bytes:
    return bytes(stones[place] for place in places(symmetry, size))


def _digits(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:32].upper()
