"""One game: a board with its history under given rules (docs/spec/rules.md, docs/spec/features.md).

Points are row-major from the top-left corner, `row * cols + col`; the pass is `rows * cols`. A Game is not safe to
use from two threads at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from native._engine import ffi, lib
from native.errors import REASONS, EngineError, Reason, verify_status
from native.rules import Colour, End, Rules

if TYPE_CHECKING:
    from native._engine import CData

    _Fill: TypeAlias = Callable[[CData, CData, int], int]

FEATURE_PLANES: int = lib.GO_FEATURE_PLANES


class Game:
    """A position, how it came about, and what may be played next."""

    __slots__ = ("_handle", "rules")

    def __init__(self, rules: Rules, stones: bytes | None = None, to_move: Colour = Colour.BLACK) -> None:
        """Starts on the empty board, or on `stones` (a Colour a point) with `to_move` to move.

        Raises EngineError when a chain of `stones` has no liberty, or its length is not that of the board.
        """
        out = ffi.new("go_game **")
        verify_status(lib.go_game_new(rules.to_c(), out))
        self.rules = rules
        self._handle = ffi.gc(out[0], lib.go_game_free)
        if stones is not None:
            if lib.go_game_setup(self._handle, bytes(stones), len(stones), int(to_move)) != lib.GO_OK:
                raise EngineError("The setup is not a position of this board in which every chain has a liberty.")
        elif to_move != Colour.BLACK:
            verify_status(lib.go_game_setup(self._handle, bytes(rules.points), rules.points, int(to_move)))

    @property
    def handle(self) -> CData:
        """The engine's `go_game *`, for other modules of `native`; valid while this object lives."""
        return self._handle

    def copy(self) -> Game:
        """An independent game with the same history."""
        out = ffi.new("go_game **")
        verify_status(lib.go_game_copy(self._handle, out))
        twin = object.__new__(Game)
        twin.rules = self.rules
        twin._handle = ffi.gc(out[0], lib.go_game_free)
        return twin

    def clear(self) -> None:
        """Goes back to the empty board, black to move."""
        lib.go_game_clear(self._handle)

    # ---- moves -----------------------------------------------------------------------------------------------

    @property
    def pass_move(self) -> int:
        """The number of the pass."""
        return self.rules.points

    def play(self, move: int, colour: Colour = Colour.EMPTY) -> None:
        """Plays for `colour` (EMPTY: whoever is to move). IllegalMove, or EngineError for a number off the board,
        leaves the game as it was."""
        self._verify_move(move)
        verify_status(lib.go_game_play(self._handle, move, int(colour)))

    def check(self, move: int, colour: Colour = Colour.EMPTY) -> Reason | None:
        """Why `move` is illegal, or None. The colour that is not to move is judged by occupation, suicide and ko."""
        self._verify_move(move)
        status = lib.go_game_check(self._handle, move, int(colour))
        if status in REASONS:
            return REASONS[status]
        verify_status(status)
        return None

    def legal(self) -> bytes:
        """1 for each legal move of the side to move, the pass last; all 0 when the game is over."""
        return self._bytes(lib.go_game_legal, self.rules.points + 1)

    @property
    def moves(self) -> list[tuple[Colour, int]]:
        """All moves played, with who played them."""
        move, colour = ffi.new("int32_t *"), ffi.new("int32_t *")
        played: list[tuple[Colour, int]] = []
        for ply in range(self.num_moves):
            verify_status(lib.go_game_move_at(self._handle, ply, move, colour))
            played.append((Colour(colour[0]), int(move[0])))
        return played

    @property
    def num_moves(self) -> int:
        """How many moves were played."""
        return lib.go_game_moves(self._handle)

    # ---- position --------------------------------------------------------------------------------------------

    def stones(self) -> bytes:
        """A Colour a point."""
        return self._bytes(lib.go_game_stones, self.rules.points)

    @property
    def to_move(self) -> Colour:
        """Who plays next, also after the end."""
        return Colour(lib.go_game_to_move(self._handle))

    @property
    def end(self) -> End:
        """How the game ended, NONE while it goes on."""
        return End(lib.go_game_end(self._handle))

    @property
    def hash(self) -> int:
        """64 bits of the stones alone (Zobrist); equal boards of one size have equal hashes."""
        return lib.go_game_hash(self._handle)

    def captured(self, colour: Colour) -> int:
        """Stones of `colour` taken off so far, suicides included."""
        return lib.go_game_captured(self._handle, int(colour))

    # ---- what it is worth ------------------------------------------------------------------------------------

    def score_half(self) -> int:
        """Black minus white in half points with komi, of the position as it stands."""
        score = ffi.new("int32_t *")
        verify_status(lib.go_game_score(self._handle, score, ffi.NULL, 0))
        return int(score[0])

    def owner(self) -> bytes:
        """The Colour that each point counts for, EMPTY for none."""
        score = ffi.new("int32_t *")
        return self._bytes(lambda game, out, size: lib.go_game_score(game, score, out, size), self.rules.points)

    def pass_alive(self) -> bytes:
        """The Colour whose pass-alive area (Benson) holds each point, else EMPTY."""
        return self._bytes(lib.go_game_pass_alive, self.rules.points)

    def features(self) -> bytes:
        """Input planes of the side to move, u8 in 0..127, shape [FEATURE_PLANES][rows][cols]."""
        return self._bytes(lib.go_game_features, FEATURE_PLANES * self.rules.points)

    def _bytes(self, fill: _Fill, size: int) -> bytes:
        out = bytearray(size)
        verify_status(fill(self._handle, ffi.from_buffer("uint8_t[]", out), size))
        return bytes(out)

    def _verify_move(self, move: int) -> None:
        if not 0 <= move <= self.rules.points:
            raise EngineError(f"Move {move} is not on the board.")
