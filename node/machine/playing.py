"""Self-play for measuring: games that depend on their number alone, so that any two settings can play the same ones."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from native.errors import EngineError
from native.network import Kernel, Network
from native.pool import Done, Job, Pool
from native.rules import Rules
from native.search import Player, SearchConfig

SELF_PLAY = SearchConfig(
    full_share_ppm=250_000,
    root_fpu_reduction_micro=0,
    noise_weight_ppm=250_000,
    noise_alpha_micro=10_830_000,
    root_temperature_micro=1_100_000,
    score_utility_micro=100_000,
    temperature_start_micro=750_000,
    temperature_end_micro=150_000,
    temperature_halflife=14,
)
"""A self-play search as runs have it: noise at the root of a quarter of the moves, a temperature that falls."""

KOMI_HALF = 15
WAIT_S = 0.25
"""How long one wait for a game lasts; between waits an interrupt is heard."""


@dataclass(frozen=True, slots=True)
class Played:
    """What games took: finished games, visits and evaluations in all, processor seconds of all threads, and time."""

    games: int
    plies: int
    visits: int
    evaluations: int
    cpu_s: float
    wall_s: float

    @property
    def evaluations_per_visit(self) -> float:
        """Network evaluations a visit: 1 less what the cache knew and what needs none."""
        return self.evaluations / max(1, self.visits)

    def search_us_per_visit(self, evaluation_s: float) -> float:
        """Microseconds of processor time a visit outside the network, when an evaluation takes so long."""
        return (self.cpu_s - self.evaluations * evaluation_s) / max(1, self.visits) * 1e6


def self_play_games(network: Network | None, size: int, visits: int) -> Callable[[int], Job]:
    """Games by number, with that many visits at every move; None plays by uniform evaluation."""
    rules = Rules(size, size, KOMI_HALF, pass_alive=True, settled_end=True, move_cap=3 * size * size)
    config = replace(SELF_PLAY, visits_full=visits, visits_fast=visits)
    player = Player(network, bytes(32))
    return lambda i: Job(i, i, rules, config, bytes(32), i.to_bytes(32, "little"), player, player)


def play(pool: Pool, jobs: Iterable[Job]) -> tuple[Played, list[Done]]:
    """Plays all of `jobs` in an idle pool to their ends; also the games, in the order of finishing."""
    clocks = time.process_time(), time.perf_counter()
    for job in jobs:
        pool.play(job)
    dones = _take_all(pool)
    for done in dones:
        _verify(done)
    return _played(dones, clocks), dones


def play_for(kernel: Kernel, threads: int, games: int, job_of: Callable[[int], Job], seconds: float) -> Played:
    """Plays games from number 0 on for so long, every place in flight taken all the time, then stops them."""
    dones: list[Done] = []
    places = threads * games
    with Pool(threads, kernel, games) as pool:
        clocks = time.process_time(), time.perf_counter()
        for number in range(2 * places):
            pool.play(job_of(number))
        while (left := clocks[1] + seconds - time.perf_counter()) > 0:
            done = pool.wait(min(left, WAIT_S))
            if done is not None:
                _verify(done)
                dones.append(done)
                pool.play(job_of(2 * places + len(dones)))
        pool.stop()
        dones += _take_all(pool)
        return _played(dones, clocks)


def replay(pool: Pool, games: Iterable[tuple[Job, bytes]]) -> Played:
    """Replays games in an idle pool, each up to the first ply that differs, that one included."""
    clocks = time.process_time(), time.perf_counter()
    for job, block in games:
        pool.replay(job, block)
    return _played(_take_all(pool), clocks)


def _take_all(pool: Pool) -> list[Done]:
    dones = []
    while pool.pending:
        done = pool.wait(WAIT_S)
        if done is not None:
            dones.append(done)
    return dones


def _verify(done: Done) -> None:
    if not done.is_ok:
        raise EngineError(f"A game for measuring did not end well: {done.sentence}", done.status)


def _played(dones: list[Done], clocks: tuple[float, float]) -> Played:
    return Played(
        games=sum(done.is_ok for done in dones),
        plies=sum(done.plies for done in dones),
        visits=sum(done.visits for done in dones),
        evaluations=sum(done.evaluations for done in dones),
        cpu_s=time.process_time() - clocks[0],
        wall_s=time.perf_counter() - clocks[1],
    )
