"""Chains that are caught in a ladder, as KataGo's inputs show them: `find_ladders`.

Rules of the search (KataGo's, `searchIsLadderCaptured`): the attacker plays on the chain's two liberties and has to leave it
one each time; the defender, in atari, extends or takes a neighbour that is in atari, and escapes with two liberties. Where
the attacker leaves a ko, the defender escapes. Suicide is not played. What costs more than MOST_NODES moves counts as an
escape, as there.
"""

from dataclasses import dataclass
from typing import Final

from native.rules import Colour
from node.exchange.katago.lattice import Lattice, each, lattice

MOST_NODES: Final = 25_000


@dataclass(frozen=True, slots=True)
class Ladders:
    """`caught`: stones of chains that cannot get out of atari, or be kept out of a ladder when the other player begins.
    `working`: colour of a chain with two liberties to the moves that begin such a ladder."""

    caught: frozenset[int]
    working: dict[int, frozenset[int]]


class _TooLong(Exception):
    pass


def find_ladders(stones: bytes, side: int, ko: int | None) -> Ladders:
    """The ladders on a board (a Colour a point); `ko`: the point where a simple ko may not be taken back now."""
    board = lattice(side)
    black, white = board.points(stones, Colour.BLACK), board.points(stones, Colour.WHITE)
    barred = 0 if ko is None else board.point(ko)
    caught, working = 0, {}
    for colour, own, other in ((Colour.BLACK, black, white), (Colour.WHITE, white, black)):
        left, moves = own, 0
        while left:
            point = left & -left
            chain = board.chain(own, point)
            left &= ~chain
            liberties = board.near(chain) & ~(own | other)
            if (count := liberties.bit_count()) > 2:
                continue
            if count == 1:
                caught |= chain if _Search(board).is_caught(own, other, chain) else 0
                continue
            found = 0
            for move in each(liberties & ~barred):
                if (board.near(liberties ^ move) & ~(own | other | move)).bit_count() > 2:
                    continue  # it extends to three liberties
                after = _play(board, move, other, own)
                if after is not None and _Search(board).is_caught(after[1], after[0], chain):
                    found |= move
            caught |= chain if found else 0
            moves |= found
        working[int(colour)] = frozenset(board.numbers(moves))
    return Ladders(frozenset(board.numbers(caught)), working)


def find_ko(before: bytes, after: bytes, side: int, move: int) -> int | None:
    """The point that a simple ko forbids after a move: where it took a single stone and is itself alone in atari there.
    A pass and a suicide leave none."""
    if move >= len(after) or not after[move]:
        return None
    taken = [point for point, stone in enumerate(before) if stone and not after[point]]
    if len(taken) != 1 or before[taken[0]] == after[move]:
        return None
    board = lattice(side)
    own, empty = board.points(after, after[move]), board.points(after, Colour.EMPTY)
    near = board.near(board.point(move))
    return taken[0] if not near & own and (near & empty).bit_count() == 1 else None


def _play(board: Lattice, move: int, own: int, other: int) -> tuple[int, int, int] | None:
    """The stones of both after a move on an empty point, its player's first, and the point of a ko; None for suicide."""
    own |= move
    taken, near = 0, board.near(move)
    empty = board.all & ~(own | other)
    for stone in each(near & other):
        if not (stone & taken or board.near(stone) & empty):
            chain = board.chain(other, stone)
            if not board.near(chain) & empty:
                taken |= chain
    if not taken:
        is_alive = near & empty or board.near(board.chain(own, move)) & empty
        return (own, other, 0) if is_alive else None
    other &= ~taken
    is_ko = taken.bit_count() == 1 and not near & own and (near & ~other).bit_count() == 1
    return own, other, taken if is_ko else 0


class _Search:
    """Whether one chain gets away; `own` are the stones of its colour, `chain` those of it as it is by then."""

    def __init__(self, board: Lattice) -> None:
        self._board = board
        self._left, self._deepest = MOST_NODES, board.all.bit_count() * 3 // 2

    def is_caught(self, own: int, other: int, chain: int) -> bool:
        """The chain is in atari and its owner to move; no ko hinders."""
        try:
            return self._defend(own, other, 0, chain, 0)
        except _TooLong:
            return False

    def _defend(self, own: int, other: int, ko: int, chain: int, depth: int) -> bool:
        board = self._board
        liberty = board.near(chain) & ~(own | other)
        if ko or liberty & (liberty - 1):
            return False
        longer = board.chain(own | liberty, liberty) if liberty else chain
        if (board.near(longer) & ~(own | other | liberty)).bit_count() >= 3:
            return False
        for move in each(liberty | self._takes(own, other, chain)):
            self._count()
            after = _play(board, move, own, other)
            if after is not None and not self._attack(*after, longer if move == liberty else chain, depth + 1):
                return False
        return True

    def _attack(self, own: int, other: int, ko: int, chain: int, depth: int) -> bool:
        board = self._board
        empty = board.all & ~(own | other)
        liberties = board.near(chain) & empty
        count = liberties.bit_count()
        if count <= 1 or depth >= self._deepest:
            return True
        if count >= 3:
            return False
        moves = [(move, (board.near(move) & empty).bit_count()) for move in each(liberties)]
        (one, first), (two, second) = moves
        if (
            not first
            and not second
            and self._is_double_ko(own, other, (one, two))
            and not self._takes(own, other, chain)
        ):
            return True
        if not board.near(one) & two:
            if first >= 3 and second >= 3:
                return False
            moves = [(move, room) for move, room in moves if room >= 3] or moves
        if len(moves) == 2 and second > first:
            moves.reverse()
        for move, _ in moves:
            if move == ko:
                continue
            self._count()
            after = _play(board, move, other, own)
            if after is not None and self._defend(after[1], after[0], after[2], chain, depth + 1):
                return True
        return False

    def _count(self) -> None:
        if not self._left:
            raise _TooLong
        self._left -= 1

    def _takes(self, own: int, other: int, chain: int) -> int:
        """Moves that take neighbours of the chain."""
        board, found = self._board, 0
        left, empty = board.near(chain) & other, board.all & ~(own | other)
        while left:
            stone = left & -left
            liberties = board.near(stone) & empty
            if liberties & (liberties - 1):
                left ^= stone
                continue
            neighbour = board.chain(other, stone)
            left &= ~neighbour
            liberties = board.near(neighbour) & empty
            if not liberties & (liberties - 1):
                found |= liberties
        return found

    def _is_double_ko(self, own: int, other: int, moves: tuple[int, int]) -> bool:
        """The attacker could take a single stone at either liberty, and connecting there gives at most two liberties."""
        board = self._board
        for move in moves:
            near = board.near(move)
            if near & ~own:
                return False
            chains = [board.chain(own, stone) for stone in each(near)]
            single = [chain for chain in chains if (board.near(chain) & ~(own | other)).bit_count() == 1]
            if len(single) != 1 or single[0].bit_count() != 1:
                return False
            joined = board.near(board.chain(own | move, move)) & ~(own | other | move)
            if joined.bit_count() > 2:
                return False
        return True
