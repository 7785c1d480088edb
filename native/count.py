"""Exhaustive counts of small boards, which are known from elsewhere: tests of the rules as a whole."""

from __future__ import annotations

from native._engine import ffi, lib
from native.errors import verify_status
from native.game import Game


def count_sequences(game: Game, depth: int) -> int:
    """How many legal sequences of `depth` moves (0 to 64) go on from here, passes included, none after the end."""
    count = ffi.new("uint64_t *")
    verify_status(lib.go_count_sequences(game.handle, depth, count))
    return int(count[0])


def count_positions(rows: int, cols: int) -> int:
    """How many colourings of a board of at most 20 points leave each chain a liberty (for squares: Tromp's numbers)."""
    count = ffi.new("uint64_t *")
    verify_status(lib.go_count_positions(rows, cols, count))
    return int(count[0])
