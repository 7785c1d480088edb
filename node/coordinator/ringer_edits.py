"""What a dishonest contributor would change in one ply of a finished game: block in, block out, in form and rules as before.

Spec: `docs/spec/ringer.md` ("Making one"). Only a search finds these edits, and each leaves every other ply as its search
gave it.
"""

import struct
from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random
from typing import Final

from native.pool import MAX_OPENING_MOVES, Job
from protocol.game_block import HEADER_BYTES, KIND_FULL, GameBlock

Edit = Callable[[GameBlock, int, Random], bytes | None]
"""The block with absolute ply `ply` changed; None where that ply cannot be changed so."""

VALUE_STEPS: Final = (1 << 16, 1 << 21)
"""By how much a value is changed: 0.004 to 0.125, in 2^-24."""


class Columns:
    """Where a block's columns begin, and how many bytes each has a ply: kind, visits, policy target, value, score, trace."""

    def __init__(self, block: GameBlock) -> None:
        row = 2 * block.header.points
        self.widths = (1, row, row, 4, 4, 32)
        plies = block.header.plies
        self.starts = tuple(block.header.moves_end + plies * sum(self.widths[:n]) for n in range(len(self.widths)))
        self.visits, self.policy, self.value = self.starts[1:4]


def value(block: GameBlock, ply: int, rng: Random) -> bytes:
    """The root value moved towards the other side."""
    old = block.value(ply)
    new = old - rng.randint(*VALUE_STEPS) * (1 if old > 0 else -1)
    return _patched(block, Columns(block).value + 4 * _index(block, ply), struct.pack("<i", new))


def visits(block: GameBlock, ply: int, rng: Random) -> bytes | None:
    """Some visits of the most visited move given to another visited one."""
    counts = _shifted(block.visits(ply), rng)
    return None if counts is None else _with_row(block, Columns(block).visits, ply, counts)


def policy_target(block: GameBlock, ply: int, rng: Random) -> bytes | None:
    """Some of the policy target's largest share given to another move that has one."""
    if block.kinds[_index(block, ply)] != KIND_FULL:
        return None
    shares = _shifted(block.policy_target(ply), rng)
    return None if shares is None else _with_row(block, Columns(block).policy, ply, shares)


EDITS: Final[tuple[Edit, ...]] = (value, visits, policy_target)


def diverted(job: Job, block: GameBlock, ply: int, rng: Random) -> Job | None:
    """The rest of a game whose move at `ply` is another one that its search visited too, for the engine to play.

    None where there is no such move, or too many come before it.
    """
    moves = block.moves
    others = [move for move, count in enumerate(block.visits(ply)) if count and move != moves[ply]]
    if not others or not ply + 1 < min(MAX_OPENING_MOVES + 1, job.rules.move_cap):
        return None
    return replace(job, opening_moves=(*moves[:ply], rng.choice(others)))


def spliced(block: GameBlock, ply: int, rest: GameBlock) -> bytes:
    """A game up to the search of `ply`, then the move of `rest` there and all that follows: what `diverted` is for."""
    cut = _index(block, ply) + 1
    end = rest.header
    header = replace(block.header, end=end.end, result=end.result, score_half=end.score_half, moves=end.moves)
    ours, theirs = Columns(block), Columns(rest)
    parts = [header.encode(), rest.raw[HEADER_BYTES : end.moves_end]]
    for width, mine, its in zip(ours.widths, ours.starts, theirs.starts, strict=True):
        parts += [block.raw[mine : mine + width * cut], rest.raw[its : its + width * end.plies]]
    return b"".join(parts)


def _index(block: GameBlock, ply: int) -> int:
    return ply - block.header.opening_moves


def _shifted(row: Sequence[int], rng: Random) -> list[int] | None:
    """A row of numbers with part of the largest given to another that is not 0; None where there is no other."""
    most = max(range(len(row)), key=row.__getitem__)
    others = [place for place, number in enumerate(row) if number and place != most]
    if not others:
        return None
    shifted, part = list(row), rng.randint(1, max(1, row[most] // 2))
    shifted[most] -= part
    shifted[rng.choice(others)] += part
    return shifted


def _with_row(block: GameBlock, column: int, ply: int, row: Sequence[int]) -> bytes:
    return _patched(block, column + 2 * len(row) * _index(block, ply), struct.pack(f"<{len(row)}H", *row))


def _patched(block: GameBlock, at: int, data: bytes) -> bytes:
    return block.raw[:at] + data + block.raw[at + len(data) :]
