"""One game's block of a batch, with its header and the records of its searched plies.

Spec: docs/spec/batch.md ("Game block", "Ply record"). Fixed-width little-endian columns with one encoding; the engine
writes the same bytes (`native/src/block.h`). What is checked here is form; rules and replays are for others.
"""

import struct
from dataclasses import dataclass
from typing import Final, Self

from protocol.errors import NotCanonical, ParseError

MAX_BOARD: Final = 19
KIND_FAST: Final = 0
KIND_FULL: Final = 1
END_PASSES: Final = 1
END_SETTLED: Final = 2
END_CAP: Final = 3
DRAW: Final = 0
BLACK_WINS: Final = 1
WHITE_WINS: Final = 2
VALUE_ONE: Final = 1 << 24
"""The value of a sure win."""
SCORE_ONE: Final = 1 << 12
"""The score of one point."""
_HEADER: Final = struct.Struct("<QBBBBhHiHH")
HEADER_BYTES: Final = _HEADER.size
_TRACE_BYTES: Final = 32


@dataclass(frozen=True, slots=True)
class GameHeader:
    """The fixed part of a game: 24 bytes.

    `end` is END_*, `result` DRAW, BLACK_WINS or WHITE_WINS; `score_half` is black minus white in half points, komi
    included; `moves` counts all moves, the `opening_moves` from opening number `opening` among them.
    """

    counter: int
    size: int
    end: int
    result: int
    opening_moves: int
    komi_half: int
    opening: int
    score_half: int
    moves: int

    def __post_init__(self) -> None:
        if not 1 <= self.size <= MAX_BOARD:
            raise ParseError(f"A game has board size {self.size}; it has to be 1 to {MAX_BOARD}.")
        if not END_PASSES <= self.end <= END_CAP:
            raise ParseError(f"A game has the unknown end reason {self.end}.")
        if not DRAW <= self.result <= WHITE_WINS:
            raise ParseError(f"A game has the unknown result {self.result}.")
        if not self.opening_moves < self.moves:
            raise ParseError("A game has no searched move.")

    @classmethod
    def parse(cls, data: bytes | memoryview) -> Self:
        """The header in the first 24 bytes of `data`; raises ParseError or NotCanonical."""
        if len(data) < _HEADER.size:
            raise ParseError("A game block is cut short in its header.")
        *fields, zero = _HEADER.unpack_from(data)
        if zero != 0:
            raise NotCanonical("The last two bytes of a game's header are not zero.")
        return cls(*fields)

    def encode(self) -> bytes:
        """The 24 bytes; raises ParseError when a number does not fit its column."""
        try:
            return _HEADER.pack(
                self.counter,
                self.size,
                self.end,
                self.result,
                self.opening_moves,
                self.komi_half,
                self.opening,
                self.score_half,
                self.moves,
                0,
            )
        except struct.error as error:
            raise ParseError("A number of a game's header does not fit its column.") from error

    @property
    def plies(self) -> int:
        """The number of searched plies."""
        return self.moves - self.opening_moves

    @property
    def outcome(self) -> str:
        """Who won by how much, as SGF writes it: `B+3.5`, `W+1`, or `0`."""
        return "0" if self.result == DRAW else f"{'.BW'[self.result]}+{abs(self.score_half) / 2:g}"

    @property
    def points(self) -> int:
        """The number of different moves, the pass included."""
        return self.size * self.size + 1

    @property
    def moves_end(self) -> int:
        """The offset of the first column in the game's block: the length of header and moves."""
        return _HEADER.size + 2 * self.moves

    @property
    def block_bytes(self) -> int:
        """The length of the game's whole block."""
        return self.moves_end + self.plies * (1 + 4 * self.points + 4 + 4 + _TRACE_BYTES)


@dataclass(frozen=True, slots=True)
class PlyRecord:
    """One searched ply, as a proof shows it: absolute ply, move, kind, visits and policy target a point (the pass
    last), root value in 2^-24, root score in 2^-12 points, and SHA-256 of the trace digest D."""

    ply: int
    move: int
    kind: int
    visits: tuple[int, ...]
    policy_target: tuple[int, ...]
    value: int
    score: int
    trace_hash: bytes

    @classmethod
    def parse(cls, data: bytes, size: int) -> Self:
        """The record of a ply on a board of `size`; raises ParseError."""
        points = size * size + 1
        layout = struct.Struct(f"<HHB{points}H{points}Hii{_TRACE_BYTES}s")
        if len(data) != layout.size:
            raise ParseError(f"A ply record of size {size} has {layout.size} bytes, not {len(data)}.")
        ply, move, kind, *rest = layout.unpack(data)
        if move >= points or kind > KIND_FULL:
            raise ParseError(f"Ply {ply} has an unknown move or kind of search.")
        return cls(ply, move, kind, tuple(rest[:points]), tuple(rest[points : 2 * points]), *rest[2 * points :])


class GameBlock:
    """One game's block; columns are read when asked for. `ply` counts from the first move, the opening's included."""

    __slots__ = ("_kind", "_policy", "_score", "_trace", "_value", "_visits", "header", "raw")

    def __init__(self, header: GameHeader, raw: bytes) -> None:
        """Takes a block of exactly `header.block_bytes` bytes that starts with `header`; use `parse` for foreign ones."""
        self.header = header
        self.raw = raw
        plies, row = header.plies, 2 * header.points * header.plies
        self._kind = header.moves_end
        self._visits = self._kind + plies
        self._policy = self._visits + row
        self._value = self._policy + row
        self._score = self._value + 4 * plies
        self._trace = self._score + 4 * plies

    @classmethod
    def parse(cls, data: bytes | memoryview) -> "GameBlock":
        """The block at the start of `data`, whatever follows; raises ParseError or NotCanonical."""
        header = GameHeader.parse(data)
        raw = bytes(data[: header.block_bytes])
        if len(raw) < header.block_bytes:
            raise ParseError(f"The block of game {header.counter} is cut short.")
        block = cls(header, raw)
        if max(block.moves) >= header.points:
            raise ParseError(f"Game {header.counter} has a move outside its board.")
        if max(block.kinds) > KIND_FULL:
            raise ParseError(f"Game {header.counter} has an unknown kind of search.")
        return block

    @property
    def moves(self) -> tuple[int, ...]:
        """All moves, the opening's included: row * size + column, or size * size for a pass."""
        return struct.unpack_from(f"<{self.header.moves}H", self.raw, _HEADER.size)

    @property
    def kinds(self) -> bytes:
        """KIND_FAST or KIND_FULL of each searched ply."""
        return self.raw[self._kind : self._visits]

    @property
    def plies(self) -> range:
        """The searched plies."""
        return range(self.header.opening_moves, self.header.moves)

    def visits(self, ply: int) -> tuple[int, ...]:
        """The root children's visits at `ply`, one a move, the pass last."""
        return self._row(self._visits, ply)

    def policy_target(self, ply: int) -> tuple[int, ...]:
        """The policy target at `ply` in 1/65535, one a move, the pass last; all 0 on a fast ply."""
        return self._row(self._policy, ply)

    def value(self, ply: int) -> int:
        """The mean root value at `ply` from the side to move, in 2^-24."""
        return self._i32(self._value, ply)

    def score(self, ply: int) -> int:
        """The mean root score at `ply` from the side to move, in 2^-12 points."""
        return self._i32(self._score, ply)

    def trace_hash(self, ply: int) -> bytes:
        """SHA-256 of the trace digest D of `ply`."""
        at = self._trace + _TRACE_BYTES * self._index(ply)
        return self.raw[at : at + _TRACE_BYTES]

    def record(self, ply: int) -> bytes:
        """The bytes of the ply's record: the leaf for proofs (`PlyRecord` reads it)."""
        return self._record(self._index(ply))

    def _record(self, index: int) -> bytes:
        raw, width = self.raw, 2 * self.header.points
        ply = self.header.opening_moves + index
        move = _HEADER.size + 2 * ply
        visits, policy = self._visits + width * index, self._policy + width * index
        value, score, trace = self._value + 4 * index, self._score + 4 * index, self._trace + _TRACE_BYTES * index
        return b"".join(
            (
                ply.to_bytes(2, "little"),
                raw[move : move + 2],
                raw[self._kind + index : self._kind + index + 1],
                raw[visits : visits + width],
                raw[policy : policy + width],
                raw[value : value + 4],
                raw[score : score + 4],
                raw[trace : trace + _TRACE_BYTES],
            )
        )

    def records(self) -> tuple[bytes, ...]:
        """The records of all searched plies, in order."""
        return tuple(self._record(index) for index in range(self.header.plies))

    def _index(self, ply: int) -> int:
        if ply not in self.plies:
            raise IndexError(f"game {self.header.counter} has no searched ply {ply}")
        return ply - self.header.opening_moves

    def _row(self, column: int, ply: int) -> tuple[int, ...]:
        points = self.header.points
        return struct.unpack_from(f"<{points}H", self.raw, column + 2 * points * self._index(ply))

    def _i32(self, column: int, ply: int) -> int:
        at = column + 4 * self._index(ply)
        return int.from_bytes(self.raw[at : at + 4], "little", signed=True)
