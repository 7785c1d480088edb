"""Chains that are caught in a ladder, as KataGo's inputs show them: `find_ladders`.

Rules of the search (KataGo's, `searchIsLadderCaptured`): the attacker plays on the chain's two liberties and has to leave it
one each time; the defender, in atari, extends or takes a neighbour that is in atari, and escapes with two liberties. Where
the attacker leaves a ko, the defender escapes. Suicide is not played. What costs more than MOST_NODES moves counts as an
escape; KataGo's own limit is 25,000.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from native.rules import Colour

MOST_NODES: Final = 5000


@dataclass(frozen=True, slots=True)
class Ladders:
    """`caught`: stones of chains that cannot get out of atari, or be kept out of a ladder when the other player begins.
    `working`: colour of a chain with two liberties to the moves that begin such a ladder."""

    caught: frozenset[int]
    working: dict[int, frozenset[int]]


class _TooLong(Exception):
    pass


@lru_cache
def _neighbours(side: int) -> tuple[tuple[int, ...], ...]:
    return tuple(
        tuple(
            row * side + col
            for row, col in ((r - 1, c), (r + 1, c), (r, c - 1), (r, c + 1))
            if 0 <= row < side and 0 <= col < side
        )
        for r in range(side)
        for c in range(side)
    )


def find_ladders(stones: bytes, side: int, ko: int | None) -> Ladders:
    """The ladders on a board (a Colour a point); `ko`: the point where a simple ko may not be taken back now."""
    near = _neighbours(side)
    seen: set[int] = set()
    caught: set[int] = set()
    working: dict[int, set[int]] = {Colour.BLACK: set(), Colour.WHITE: set()}
    for point, colour in enumerate(stones):
        if colour == Colour.EMPTY or point in seen:
            continue
        chain, liberties = chain_of(stones, near, point)
        seen |= chain
        if len(liberties) == 1:
            if _Search(near, point, colour).is_caught(stones):
                caught |= chain
        elif len(liberties) == 2:
            moves = set()
            for move in liberties:
                after = None if move == ko else _play(stones, near, move, 3 - colour)
                if after is not None and _Search(near, point, colour).is_caught(after[0]):
                    moves.add(move)
            if moves:
                caught |= chain
                working[colour] |= moves
    return Ladders(frozenset(caught), {colour: frozenset(moves) for colour, moves in working.items()})


def find_ko(before: bytes, after: bytes, side: int, move: int) -> int | None:
    """The point that a simple ko forbids after a move: where it took a single stone and is itself alone in atari there."""
    if move >= len(after):
        return None
    taken = [point for point, stone in enumerate(before) if stone and not after[point]]
    if len(taken) != 1 or before[taken[0]] == after[move]:
        return None
    chain, liberties = chain_of(after, _neighbours(side), move)
    return taken[0] if len(chain) == len(liberties) == 1 else None


def chain_of(stones: bytes | bytearray, near: tuple[tuple[int, ...], ...], point: int) -> tuple[set[int], set[int]]:
    """The stones of a chain, and its liberties."""
    colour, chain, liberties, waiting = stones[point], {point}, set(), [point]
    while waiting:
        for other in near[waiting.pop()]:
            if not stones[other]:
                liberties.add(other)
            elif stones[other] == colour and other not in chain:
                chain.add(other)
                waiting.append(other)
    return chain, liberties


def _play(stones: bytes, near: tuple[tuple[int, ...], ...], move: int, colour: int) -> tuple[bytes, int | None] | None:
    """The board after a move on an empty point, and the point of a ko; None for suicide."""
    board = bytearray(stones)
    board[move] = colour
    taken: set[int] = set()
    for other in near[move]:
        if board[other] == 3 - colour:
            chain, liberties = chain_of(board, near, other)
            if not liberties:
                taken |= chain
                for point in chain:
                    board[point] = 0
    chain, liberties = chain_of(board, near, move)
    if not liberties:
        return None
    ko = taken.pop() if len(taken) == len(chain) == len(liberties) == 1 else None
    return bytes(board), ko


class _Search:
    """Whether one chain of a colour gets away."""

    def __init__(self, near: tuple[tuple[int, ...], ...], point: int, colour: int) -> None:
        self._near, self._point, self._colour = near, point, colour
        self._left, self._deepest = MOST_NODES, len(near) * 3 // 2

    def is_caught(self, stones: bytes) -> bool:
        """The chain is in atari and its owner to move; no ko hinders."""
        try:
            return self._defend(stones, None, 0)
        except _TooLong:
            return False

    def _defend(self, stones: bytes, ko: int | None, depth: int) -> bool:
        chain, liberties = chain_of(stones, self._near, self._point)
        if len(liberties) >= 2 or ko is not None:
            return False
        moves = [*self._takes(stones, chain), *liberties]
        return all(
            self._attack(*after, depth + 1)
            for move in moves
            if (after := self._after(stones, move, self._colour)) is not None
        )

    def _attack(self, stones: bytes, ko: int | None, depth: int) -> bool:
        chain, liberties = chain_of(stones, self._near, self._point)
        if len(liberties) <= 1 or depth >= self._deepest:
            return True
        if len(liberties) >= 3:
            return False
        moves = sorted(liberties)
        free = {move: sum(not stones[other] for other in self._near[move]) for move in moves}
        if not any(free.values()) and self._is_double_ko(stones, moves) and not any(self._takes(stones, chain)):
            return True
        if moves[1] not in self._near[moves[0]]:
            wide = [move for move in moves if free[move] >= 3]
            if len(wide) == 2:
                return False
            moves = wide or moves
        moves.sort(key=lambda move: -free[move])
        return any(
            self._defend(*after, depth + 1)
            for move in moves
            if move != ko and (after := self._after(stones, move, 3 - self._colour)) is not None
        )

    def _after(self, stones: bytes, move: int, colour: int) -> tuple[bytes, int | None] | None:
        if not self._left:
            raise _TooLong
        self._left -= 1
        return _play(stones, self._near, move, colour)

    def _takes(self, stones: bytes, chain: set[int]) -> Iterator[int]:
        """Moves that take neighbours of the chain."""
        seen: set[int] = set()
        for point in chain:
            for other in self._near[point]:
                if stones[other] == 3 - self._colour and other not in seen:
                    neighbour, liberties = chain_of(stones, self._near, other)
                    seen |= neighbour
                    if len(liberties) == 1:
                        yield from liberties

    def _is_double_ko(self, stones: bytes, moves: list[int]) -> bool:
        """The attacker could take a single stone at either liberty, and connecting there gives at most two liberties."""
        for move in moves:
            around = self._near[move]
            if any(stones[other] != self._colour for other in around):
                return False
            single = [chain_of(stones, self._near, other) for other in around]
            if [len(chain) for chain, liberties in single if len(liberties) == 1] != [1]:
                return False
            after = _play(stones, self._near, move, self._colour)
            if after is not None and len(chain_of(after[0], self._near, move)[1]) > 2:
                return False
        return True
