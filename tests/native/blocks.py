"""Game blocks for tests, built from docs/spec/batch.md's layout alone: legal records without any search."""

from __future__ import annotations

import struct

from native.game import Game
from native.rules import End, Rules

TARGET_SUM = 65535


def game_block(
    rules: Rules,
    moves: list[int],
    *,
    opening_moves: int = 0,
    score_half: int | None = None,
    end: End | None = None,
    kinds: bytes | None = None,
) -> bytes:
    """A block of `moves`. Score and end are the true ones unless given; each ply has visits and, when full (the
    default), a policy target on the move played and on the pass."""
    game = Game(rules)
    width, plies = rules.points + 1, len(moves) - opening_moves
    kinds = bytes([1]) * plies if kinds is None else kinds
    visits, targets = [0] * (plies * width), [0] * (plies * width)
    for ply, move in enumerate(moves):
        row = (ply - opening_moves) * width
        if row >= 0:
            visits[row + move] = 7 + ply
            if kinds[ply - opening_moves]:
                targets[row + move] += 40000
                targets[row + rules.points] += TARGET_SUM - 40000
        if game.end == End.NONE and game.check(move) is None:
            game.play(move)
    score = game.score_half() if score_half is None else score_half
    header = struct.pack(
        "<QBBBBhHiHH",
        5,
        rules.rows,
        game.end if end is None else end,
        1 if score > 0 else 2 if score < 0 else 0,
        opening_moves,
        rules.komi_half,
        0,
        score,
        len(moves),
        0,
    )
    columns = struct.pack(f"<{len(moves)}H", *moves) + kinds
    columns += struct.pack(f"<{2 * plies * width}H", *visits, *targets)
    values = [1000 * ply - 500 for ply in range(plies)]
    columns += struct.pack(f"<{2 * plies}i", *values, *range(plies))
    return header + columns + bytes(32 * plies)
