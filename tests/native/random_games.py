"""Random games played by the engine and by the slow reference at once: `python -m tests.native.random_games GAMES [FIRST]`.

Game number n is a function of n. After every move position hash, end, side to move and legal set are compared; here and
there and at the end score, owners, pass-alive area and input planes too. What the engine answered is accumulated, so that
equal hashes over many games mean equal answers on every machine.
"""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import random
import struct
import sys
import time
from collections.abc import Sequence
from itertools import product
from typing import TypeVar

from native.game import Game
from native.rules import Colour, End, Ko, Rules, Scoring
from tests.native.reference import Reference

KINDS = tuple(
    product(Ko, (False, True), ((Scoring.AREA, False), (Scoring.AREA, True), (Scoring.TERRITORY, False)), (False, True))
)
"""Every ko rule, suicide, scoring with or without pass-alive areas, and settled end."""
LARGE = 49
CHUNK = 50

T = TypeVar("T")


class Random:
    """Random choices made of `random.random` alone, whose sequence no Python version changes."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed).random

    def choice(self, items: Sequence[T]) -> T:
        return items[int(self.chance() * len(items))]

    def between(self, low: int, high: int) -> int:
        return low + int(self.chance() * (high - low + 1))


def random_size(rng: Random) -> tuple[int, int]:
    """Mostly small boards, where captures, ko and settled ends are frequent; now and then any of 1 to 19 both ways."""
    kind = rng.chance()
    if kind < 0.55:
        side = rng.choice((2, 3, 3, 4, 4, 5, 5, 6))
        return side, side
    if kind < 0.85:
        return rng.between(1, 6), rng.between(1, 6)
    if kind < 0.98:
        sides = rng.between(1, 19), rng.between(1, 3)
        return sides if rng.chance() < 0.5 else sides[::-1]
    return rng.between(1, 19), rng.between(1, 19)


def random_rules(rng: Random, number: int) -> Rules:
    """The rules of game `number`: each combination of KINDS in turn."""
    ko, suicide, (scoring, pass_alive), settled_end = KINDS[number % len(KINDS)]
    rows, cols = random_size(rng)
    cap = rng.choice((0, 0, 0, 3 * rows * cols, 5))
    return Rules(rows, cols, rng.between(-20, 20), ko, suicide, scoring, pass_alive, settled_end, cap)


def random_start(rng: Random, rules: Rules) -> tuple[bytes | None, Colour]:
    """The empty board, or one game in eight some stones that are a position."""
    if rng.chance() < 0.875:
        return None, Colour.BLACK
    stones = bytes(rng.choice((0, 0, 0, 1, 2)) for _ in range(rules.points))
    return (stones if Reference(rules, stones).is_position() else None), rng.choice((Colour.BLACK, Colour.WHITE))


def is_eye(reference: Reference, point: int) -> bool:
    """Whether all neighbours are stones of the side to move."""
    return all(reference.board[q] == reference.to_move for q in reference.near[point])


def random_move(rng: Random, reference: Reference, legal: bytes, keep_eyes: bool) -> int:
    """A legal move; passes are rare while there are others, so that games last."""
    moves = [m for m in range(len(legal) - 1) if legal[m] and not (keep_eyes and is_eye(reference, m))]
    return rng.choice(moves) if moves and rng.chance() < 0.97 else len(legal) - 1


def compare_all(game: Game, reference: Reference) -> bytes:
    """Everything that is slow to ask."""
    score, owner, alive, planes = game.score_half(), game.owner(), game.pass_alive(), game.features()
    assert score == reference.score_half()
    assert list(owner) == reference.owner()
    assert list(alive) == reference.pass_alive()
    assert planes == reference.features()
    return struct.pack("<i", score) + owner + alive + planes


def compare_moves(game: Game, reference: Reference, legal: bytes) -> None:
    """The legal set, and the reason of every move."""
    reasons = [reference.check(move) for move in range(game.pass_move + 1)]
    assert list(legal) == [reason is None for reason in reasons]
    assert [game.check(move) for move in range(game.pass_move + 1)] == reasons


def play_both(number: int) -> bytes:
    """Plays game `number` on both sides and returns the hash of the engine's answers. AssertionError: they differ."""
    rng = Random(number)
    rules = random_rules(rng, number)
    stones, to_move = random_start(rng, rules)
    game, reference, trail = Game(rules, stones, to_move), Reference(rules, stones, to_move), hashlib.sha256()
    keep_eyes, is_large = rng.chance() < 0.5, rules.points > LARGE
    for ply in range(3 * rules.points + 10):
        assert (game.hash, game.to_move, game.end) == (reference.hash, reference.to_move, reference.end), ply
        assert game.stones() == bytes(reference.board), ply
        legal = game.legal()
        compare_moves(game, reference, legal)
        if rng.chance() < (0.004 if is_large else 0.05) or game.end != End.NONE:
            trail.update(compare_all(game, reference))
        trail.update(struct.pack("<QBB", game.hash, game.to_move, game.end) + legal)
        if game.end != End.NONE:
            break
        move = random_move(rng, reference, legal, keep_eyes)
        game.play(move, rng.choice((Colour.EMPTY, game.to_move)))
        reference.play(move)
    assert {c: game.captured(c) for c in (Colour.BLACK, Colour.WHITE)} == reference.captured
    assert [move for _, move in game.moves] == reference.moves
    trail.update(compare_all(game, reference))
    return trail.digest()


def play_chunk(numbers: range) -> bytes:
    """The hash over the games of a chunk; AssertionError names the game that differs."""
    total = hashlib.sha256()
    for number in numbers:
        try:
            total.update(play_both(number))
        except AssertionError as error:
            raise AssertionError(f"The engine and the reference differ in game {number}.") from error
    return total.digest()


def main() -> None:
    """Plays the games in as many processes as there are cores and shows how far it is."""
    games, first = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    chunks = [range(at, min(at + CHUNK, first + games)) for at in range(first, first + games, CHUNK)]
    total, done, started, shown = hashlib.sha256(), 0, time.monotonic(), 0.0
    with multiprocessing.get_context("spawn").Pool(len(os.sched_getaffinity(0))) as pool:
        for chunk, digest in zip(chunks, pool.imap(play_chunk, chunks), strict=True):
            total.update(digest)
            done += len(chunk)
            now = time.monotonic() - started
            if now - shown > 10 or done == games:
                shown = now
                print(f"{done} of {games} games agree, {done / now:.0f} games/s", file=sys.stderr, flush=True)
    print(f"{games} games from {first} agree; hash {total.hexdigest()[:16]}")


if __name__ == "__main__":
    main()
