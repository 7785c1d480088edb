"""The rules of Go once more, slowly and straight from docs/spec/rules.md: sets of points, whole histories, no caches.

Written without looking at the engine's code, so that a mistake in one shows as a difference.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from native.errors import Reason
from native.rules import Colour, End, Ko, Rules, Scoring

Board = tuple[int, ...]
EMPTY, BLACK, WHITE = Colour.EMPTY, Colour.BLACK, Colour.WHITE


class Reference:
    """A game: every board there was, with who was to move on it, and what each move took."""

    def __init__(self, rules: Rules, stones: bytes | None = None, to_move: Colour = BLACK) -> None:
        self.rules = rules
        self.boards: list[tuple[Board, Colour]] = [(tuple(stones or bytes(rules.points)), to_move)]
        self.moves: list[int] = []
        self.taken: list[int] = []
        self.captured = {BLACK: 0, WHITE: 0}
        self.end = End.NONE
        self.near = [list(self._neighbours(p)) for p in range(rules.points)]

    def _neighbours(self, point: int) -> Iterator[int]:
        row, col = divmod(point, self.rules.cols)
        for r, c in ((row - 1, col), (row, col - 1), (row, col + 1), (row + 1, col)):
            if 0 <= r < self.rules.rows and 0 <= c < self.rules.cols:
                yield r * self.rules.cols + c

    @property
    def board(self) -> Board:
        return self.boards[-1][0]

    @property
    def to_move(self) -> Colour:
        return self.boards[-1][1]

    @property
    def hash(self) -> int:
        """The position hash of docs/spec/rules.md."""
        total, mask = 0, 2**64 - 1
        for point, colour in enumerate(self.board):
            if colour != EMPTY:
                row, col = divmod(point, self.rules.cols)
                z = (2 * ((row + 1) * (self.rules.cols + 1) + col) + colour) * 0x9E3779B97F4A7C15 & mask
                z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & mask
                z = (z ^ z >> 27) * 0x94D049BB133111EB & mask
                total ^= z ^ z >> 31
        return total

    def is_position(self) -> bool:
        """Whether every chain of the board as it is has a liberty."""
        return all(self._chain(list(self.board), p)[1] for p, at in enumerate(self.board) if at != EMPTY)

    # ---- playing ---------------------------------------------------------------------------------------------

    def spread(self, points: Iterable[int], colours: set[int]) -> set[int]:
        """Everything connected to `points` through points of these colours."""
        found = set(points)
        stack = list(found)
        while stack:
            for q in self.near[stack.pop()]:
                if q not in found and self.board[q] in colours:
                    found.add(q)
                    stack.append(q)
        return found

    def _chain(self, board: list[int], point: int) -> tuple[set[int], set[int]]:
        """Stones and liberties of the chain on `point`."""
        stones, liberties, stack = {point}, set[int](), [point]
        while stack:
            for q in self.near[stack.pop()]:
                if board[q] == EMPTY:
                    liberties.add(q)
                elif board[q] == board[point] and q not in stones:
                    stones.add(q)
                    stack.append(q)
        return stones, liberties

    def after(self, move: int, colour: Colour) -> tuple[Board, Colour, int] | Reason:
        """The board after a stone, whose stones came off and how many; or why the stone is illegal."""
        if self.board[move] != EMPTY:
            return Reason.OCCUPIED
        board = list(self.board)
        board[move] = colour
        lost, count = colour.other, 0
        for q in self.near[move]:
            if board[q] == colour.other:
                stones, liberties = self._chain(board, q)
                if not liberties:
                    count += len(stones)
                    for s in stones:
                        board[s] = EMPTY
        stones, liberties = self._chain(board, move)
        if not liberties:
            if len(stones) == 1 or not self.rules.suicide:
                return Reason.SUICIDE
            lost, count = colour, len(stones)
            for s in stones:
                board[s] = EMPTY
        return tuple(board), lost, count

    def check(self, move: int) -> Reason | None:
        """Why the side to move may not play `move`."""
        if self.end != End.NONE:
            return Reason.FINISHED
        return None if move == self.rules.points else self.ban(move)

    def ban(self, move: int) -> Reason | None:
        """The same for a stone, whether or not the game is over."""
        result = self.after(move, self.to_move)
        if isinstance(result, Reason):
            return result
        board, _, count = result
        if self.rules.ko == Ko.SIMPLE:
            retakes = len(self.moves) > 0 and board == self.boards[-2][0] and count == 1 and self.taken[-1] == 1
            return Reason.KO if retakes else None
        for seen, to_move in self.boards:
            if seen == board and (self.rules.ko == Ko.POSITIONAL or to_move == self.to_move.other):
                return Reason.SUPERKO
        return None

    def legal(self) -> bytes:
        return bytes(self.check(move) is None for move in range(self.rules.points + 1))

    def play(self, move: int) -> None:
        board, count = self.board, 0
        if move != self.rules.points:
            result = self.after(move, self.to_move)
            assert not isinstance(result, Reason)
            board, lost, count = result
            self.captured[lost] += count
        self.boards.append((board, self.to_move.other))
        self.moves.append(move)
        self.taken.append(count)
        self.end = self._find_end()

    def _find_end(self) -> End:
        if self.moves[-2:] == [self.rules.points] * 2:
            return End.PASSES
        stone_moved = bool(self.moves) and self.moves[-1] != self.rules.points
        if self.rules.settled_end and stone_moved and EMPTY not in self.pass_alive():
            return End.SETTLED
        if self.rules.move_cap and len(self.moves) >= self.rules.move_cap:
            return End.CAP
        return End.NONE

    # ---- counting --------------------------------------------------------------------------------------------

    def of(self, colour: int) -> set[int]:
        return {p for p, at in enumerate(self.board) if at == colour}

    def parts(self, points: set[int], colours: set[int]) -> list[set[int]]:
        """The connected parts of `points`, which have these colours."""
        left, parts = set(points), []
        while left:
            part = self.spread({min(left)}, colours)
            parts.append(part)
            left -= part
        return parts

    def border(self, points: set[int], colour: int) -> set[int]:
        return {q for p in points for q in self.near[p] if self.board[q] == colour}

    def pass_alive(self) -> list[int]:
        area, empty = [int(EMPTY)] * self.rules.points, self.of(EMPTY)
        for colour in (BLACK, WHITE):
            chains = self.parts(self.of(colour), {colour})
            regions = self.parts(empty | self.of(colour.other), {EMPTY, colour.other})

            def is_vital(region: set[int], chain: set[int]) -> bool:
                points = region if self.rules.suicide else region & empty
                return all(chain & set(self.near[p]) for p in points)

            while True:
                alive = [c for c in chains if sum(is_vital(r, c) for r in regions) >= 2]
                stones = set().union(*alive)
                sound = [r for r in regions if self.border(r, colour) <= stones]
                if len(alive) == len(chains) and len(sound) == len(regions):
                    break
                chains, regions = alive, sound
            for region in regions:
                inner = sum(not stones & set(self.near[p]) for p in region)
                if stones and (inner <= 1 or any(is_vital(region, c) for c in chains)):
                    stones = stones | region
            for p in stones:
                area[p] = colour
        return area

    def owner(self) -> list[int]:
        owner = list(self.board)
        dame = set[int]()
        for region in self.parts(self.of(EMPTY), {EMPTY}):
            touches = {colour for colour in (BLACK, WHITE) if self.border(region, colour)}
            if len(touches) == 2:
                dame |= region
            for p in region:
                owner[p] = touches.copy().pop() if len(touches) == 1 else EMPTY
        if self.rules.scoring == Scoring.TERRITORY:
            return self._without_seki(owner, dame)
        if self.rules.pass_alive:
            return [alive or own for alive, own in zip(self.pass_alive(), owner, strict=True)]
        return owner

    def _without_seki(self, owner: list[int], dame: set[int]) -> list[int]:
        """Groups join chains through the eyes they own; a group that touches dame keeps no eyes."""
        seki = {p for d in dame for p in self.near[d] if owner[p]}
        while True:
            more = {q for p in seki for q in self.near[p] if owner[q] == owner[p]} | seki
            if more == seki:
                break
            seki = more
        return [EMPTY if p in seki and self.board[p] == EMPTY else own for p, own in enumerate(owner)]

    def score_half(self) -> int:
        owner, balance = self.owner(), 0
        territory = self.rules.scoring == Scoring.TERRITORY
        for p, own in enumerate(owner):
            if not territory or self.board[p] == EMPTY:
                balance += (own == BLACK) - (own == WHITE)
        if territory:
            balance += self.captured[WHITE] - self.captured[BLACK]
        return 2 * balance - self.rules.komi_half

    # ---- features --------------------------------------------------------------------------------------------

    def features(self) -> bytes:
        """docs/spec/features.md, plane by plane."""
        points, own = range(self.rules.points), self.to_move
        alive = self.pass_alive()
        liberties = [len(self._chain(list(self.board), p)[1]) if self.board[p] else 0 for p in points]
        planes = [[True] * len(points), [self.board[p] == own for p in points]]
        planes.append([self.board[p] == own.other for p in points])
        for colour in (own, own.other):
            planes += [[self.board[p] == colour and liberties[p] == n for p in points] for n in (1, 2, 3)]
        planes.append([self.ban(p) in (Reason.KO, Reason.SUPERKO) for p in points])
        planes += [[p == move for p in points] for move in ([*self.moves[::-1], -1, -1, -1, -1, -1])[:5]]
        planes += [[alive[p] == colour for p in points] for colour in (own, own.other)]
        planes.append([self.moves[-1:] == [self.rules.points]] * len(points))
        komi = self.rules.komi_half * (1 if own == WHITE else -1)
        numbers = [64 + 2 * komi, math.floor(64 * math.sqrt(self.rules.points) / 19 + 0.5)]
        out = bytearray(64 * on for plane in planes for on in plane)
        for number in numbers:
            out += bytes([min(max(number, 0), 127)]) * len(points)
        return bytes(out)
