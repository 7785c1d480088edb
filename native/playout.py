"""Light playouts: whole random games played in the engine, to measure the rules and to pin them (`native/src/playout.c`)."""

from __future__ import annotations

from dataclasses import dataclass

from native._engine import ffi, lib
from native.errors import EngineError, verify_status
from native.rules import Rules

MAX_PLAYOUTS = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Playouts:
    """What a number of games gave: `hash` (64 bits) goes over every move and final score, in order."""

    games: int
    moves: int
    black_wins: int
    hash: int


def play_playouts(rules: Rules, games: int, seed: bytes) -> Playouts:
    """Plays `games` random games (0 to MAX_PLAYOUTS) from the empty board to their end.

    Every move is drawn from the legal stones that do not fill an own one-point eye (a point next to own stones and the
    edge alone), each with the same chance; where there is none it is a pass. Game i is a function of rules, i and the
    first 8 of the seed's 32 bytes: Philox with that key and counters (block, 0, i, 4) gives words in order, and
    `word * count >> 32` is a place among the points that are left, in ascending order; a point that turns out illegal
    is taken out. `hash` starts as FNV-1a's offset and does FNV-1a's step with each move's number and, after a game,
    with its score in half points as u32. Other threads run
    meanwhile. Raises EngineError for numbers out of range.
    """
    if not 0 <= games <= MAX_PLAYOUTS or len(seed) != 32:
        raise EngineError(f"Playouts are 0 to {MAX_PLAYOUTS} games with a seed of 32 bytes.")
    result = ffi.new("go_playouts_result *")
    verify_status(lib.go_playouts(rules.to_c(), games, seed, result))
    return Playouts(games, int(result.moves), int(result.black_wins), int(result.hash))
