"""What a network is worth: evaluations a visit of its self-play, and games against the 9x9 first network of b6c96.

`python -m benchmarks.networks.check FILE [--games N] [--match N] [--visits V]`.
"""

import argparse
import hashlib
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from native.network import Kernel, Network
from native.pool import Done, Job, Pool
from native.rules import Rules
from native.search import Player, SearchConfig
from node.machine.playing import SELF_PLAY
from protocol.game_block import GameBlock
from protocol.openings import two_move_openings

SIZE = 9
RULES = Rules(SIZE, SIZE, 15, pass_alive=True, settled_end=True, move_cap=3 * SIZE * SIZE)
PLAIN = replace(SELF_PLAY, noise_weight_ppm=0, root_temperature_micro=1_000_000)
STRENGTH = SearchConfig(score_utility_micro=100_000)


def seed(number: int) -> bytes:
    """Of game `number`."""
    return hashlib.sha256(f"check {number}".encode()).digest()


def run(jobs: Iterable[Job]) -> list[Done]:
    """Plays all, in the order given."""
    with Pool(1, Kernel.BEST) as pool:
        for job in jobs:
            pool.play(job)
        dones = []
        while pool.pending:
            done = pool.wait(600.0)
            if done is None or not done.is_ok:
                raise SystemExit("A game did not end well.")
            dones.append(done)
    return sorted(dones, key=lambda done: done.id)


def self_play(player: Player, config: SearchConfig, games: int) -> str:
    """Evaluations a visit and plies a game."""
    dones = run(Job(i, i, RULES, config, bytes(32), seed(i), player, player) for i in range(games))
    visits, plies = sum(done.visits for done in dones), sum(done.plies for done in dones)
    lengths = sorted(done.plies for done in dones)
    return (
        f"{sum(done.evaluations for done in dones) / visits:.3f} evaluations a visit, {plies / games:.1f} plies a game "
        f"({lengths[0]} to {lengths[-1]})"
    )


def match(player: Player, other: Player, games: int, visits: int) -> int:
    """Games that `player` wins of pairs with colours exchanged, from openings of two moves."""
    openings = two_move_openings(SIZE)
    config = replace(STRENGTH, visits_full=visits, visits_fast=visits)
    jobs = []
    for number in range(games):
        opening = openings[(number // 2) * 7 % len(openings)]
        sides = (player, other) if number % 2 == 0 else (other, player)
        jobs.append(Job(number, number, RULES, config, bytes(32), seed(number // 2), *sides, 0, tuple(opening.moves)))
    return sum(_black_won(done.block) == (done.id % 2 == 0) for done in run(jobs))


def _black_won(block: bytes) -> bool:
    return GameBlock.parse(block).header.score_half > 0


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--games", type=int, default=10)
    parser.add_argument("--match", type=int, default=0)
    parser.add_argument("--visits", type=int, default=32)
    given = parser.parse_args()
    file = given.file.read_bytes()
    network = Network.load(file)
    player = Player(network, hashlib.sha256(file).digest())
    print(network.architecture.encode(), hashlib.sha256(file).hexdigest())
    if given.games:
        print("self-play config:", self_play(player, SELF_PLAY, given.games), flush=True)
        print("without noise:   ", self_play(player, PLAIN, given.games), flush=True)
    if given.match:
        first = Player(Network.load(Network.first(bytes(32), 6, 96)), bytes(32))
        won = match(player, first, given.match, given.visits)
        print(f"won {won} of {given.match} at {given.visits} visits against the first network")


if __name__ == "__main__":
    main()
