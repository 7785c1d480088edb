"""Edits that a dishonest contributor makes to its games before it signs them: block bytes in, block bytes out.

Each keeps the block's form, so that only the check that it is meant for can find it.
"""

import struct
from collections.abc import Callable
from dataclasses import replace

from native.game import Game
from native.rules import Rules
from protocol.game_block import GameBlock

Edit = Callable[[list[bytes]], list[bytes]]


def of_game(number: int, change: Callable[[GameBlock], bytes]) -> Edit:
    """Changes one game of the batch."""

    def edit(blocks: list[bytes]) -> list[bytes]:
        made = list(blocks)
        made[number] = change(GameBlock.parse(made[number]))
        return made

    return edit


def patched(block: GameBlock, at: int, data: bytes) -> bytes:
    """The block with `data` at offset `at`."""
    return block.raw[:at] + data + block.raw[at + len(data) :]


def header(**changes: int) -> Callable[[GameBlock], bytes]:
    """Changes the game's header."""
    return lambda block: replace(block.header, **changes).encode() + block.raw[24:]


class Columns:
    """Offsets of a block's columns."""

    def __init__(self, block: GameBlock) -> None:
        head = block.header
        self.width = 2 * head.points
        self.kind = head.moves_end
        self.visits = self.kind + head.plies
        self.policy = self.visits + self.width * head.plies
        self.value = self.policy + self.width * head.plies
        self.score = self.value + 4 * head.plies
        self.trace = self.score + 4 * head.plies


def value(index: int, delta: int = 1000) -> Callable[[GameBlock], bytes]:
    """Changes the root value of searched ply `index`."""

    def change(block: GameBlock) -> bytes:
        at = Columns(block).value + 4 * index
        old = struct.unpack_from("<i", block.raw, at)[0]
        return patched(block, at, struct.pack("<i", old + (delta if old < 0 else -delta)))

    return change


def score(index: int) -> Callable[[GameBlock], bytes]:
    """Changes the root score of searched ply `index`."""

    def change(block: GameBlock) -> bytes:
        at = Columns(block).score + 4 * index
        old = struct.unpack_from("<i", block.raw, at)[0]
        return patched(block, at, struct.pack("<i", old + 1))

    return change


def trace(index: int) -> Callable[[GameBlock], bytes]:
    """Changes the trace hash of searched ply `index`."""

    def change(block: GameBlock) -> bytes:
        at = Columns(block).trace + 32 * index
        return patched(block, at, bytes([block.raw[at] ^ 1]))

    return change


def more_visits(index: int) -> Callable[[GameBlock], bytes]:
    """Adds one visit to the most visited move: the sum no longer fits."""

    def change(block: GameBlock) -> bytes:
        counts = list(block.visits(block.header.opening_moves + index))
        counts[counts.index(max(counts))] += 1
        return patched(
            block, Columns(block).visits + Columns(block).width * index, struct.pack(f"<{len(counts)}H", *counts)
        )

    return change


def moved_visits(index: int) -> Callable[[GameBlock], bytes]:
    """Moves a visit from the most visited move to another visited one: the sum still fits."""

    def change(block: GameBlock) -> bytes:
        counts = list(block.visits(block.header.opening_moves + index))
        order = sorted((count, move) for move, count in enumerate(counts) if count)
        counts[order[-1][1]] -= 1
        counts[order[0][1]] += 1
        return patched(
            block, Columns(block).visits + Columns(block).width * index, struct.pack(f"<{len(counts)}H", *counts)
        )

    return change


def visits_on_occupied(index: int) -> Callable[[GameBlock], bytes]:
    """Moves a visit to a point with a stone."""

    def change(block: GameBlock) -> bytes:
        ply = block.header.opening_moves + index
        game = Game(Rules(block.header.size, block.header.size, block.header.komi_half))
        for move in block.moves[:ply]:
            game.play(move)
        counts = list(block.visits(ply))
        counts[counts.index(max(counts))] -= 1
        counts[next(point for point, stone in enumerate(game.stones()) if stone)] += 1
        return patched(
            block, Columns(block).visits + Columns(block).width * index, struct.pack(f"<{len(counts)}H", *counts)
        )

    return change


def policy_target(index: int) -> Callable[[GameBlock], bytes]:
    """Adds one to the largest share of a policy target: its sum no longer fits."""

    def change(block: GameBlock) -> bytes:
        shares = list(block.policy_target(block.header.opening_moves + index))
        place = shares.index(max(shares))
        shares[place] += 1 if shares[place] < 65535 else -1
        return patched(
            block, Columns(block).policy + Columns(block).width * index, struct.pack(f"<{len(shares)}H", *shares)
        )

    return change


def move(index: int, to: int | None = None) -> Callable[[GameBlock], bytes]:
    """Changes the move of searched ply `index`: to the point before it was played on (illegal), or to `to`."""

    def change(block: GameBlock) -> bytes:
        ply = block.header.opening_moves + index
        new = block.moves[ply - 1] if to is None else to
        return patched(block, 24 + 2 * ply, struct.pack("<H", new))

    return change
