"""The first two moves of a game as one number, the same for all eight turns and reflections of the board.

Only games without an opening have one: an opening's position need not be symmetric, and what follows it depends on which
opening the seed drew.
"""

from protocol.game_block import GameBlock
from protocol.openings import image


def first_moves_class(first: int, second: int, size: int) -> int:
    """The least `first * (size * size + 1) + second` among the eight images; a pass (size * size) is its own image."""
    area = size * size

    def turned(move: int, symmetry: int) -> int:
        return move if move == area else image(move, size, symmetry)

    return min(turned(first, k) * (area + 1) + turned(second, k) for k in range(8))


def first_moves(game: GameBlock) -> int | None:
    """The class of a game's first two moves, a second one that it does not have as a pass; None after an opening."""
    if game.header.opening_moves:
        return None
    first, second, *_ = (*game.moves, game.header.size**2)
    return first_moves_class(first, second, game.header.size)
