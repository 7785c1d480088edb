"""`gonode bench` without its command line: measures the network, finds threads and games in flight, plays and replays.

Every part has a share of the time that is given and stops when it is over, so that the slowest kernel ends in time too; one
move is replayed whatever it takes.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from time import perf_counter

from native.network import Kernel, Network
from native.pool import Pool
from node.machine.evaluating import NetworkSpeed, evaluation_s, measure_network
from node.machine.playing import Played, play, play_for, replay, self_play_games
from node.machine.settings import Choice, Subject, find_settings

Say = Callable[[str], None]

BATCH = 8
"""Positions at once when the network alone is measured."""

NETWORK_SHARE, SETTINGS_SHARE, PLAY_SHARE, REPLAY_SHARE = 0.1, 0.45, 0.35, 0.1

ALONE_S = 0.3
"""How long the network is timed before and after self-play."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is measured: a network by its name, its board, visits a move, kernel; threads to choose from; about how long."""

    name: str
    network: Network
    size: int
    visits: int
    kernel: Kernel
    threads: Sequence[int]
    games: Sequence[int]
    seconds: float


@dataclass(frozen=True, slots=True)
class Report:
    """What was found."""

    plan: Plan
    speed: NetworkSpeed
    choice: Choice
    played: Played
    search_us_per_visit: float
    replay_ms_per_ply: float

    @property
    def visits_per_cpu_s(self) -> float:
        """Visits of self-play a processor second; `plan.visits` of them are a position."""
        return self.played.visits / self.played.cpu_s

    @property
    def core_share(self) -> float:
        """The share of the time that each thread of self-play had a core; far below 1 when others use the machine."""
        return self.played.cpu_s / (self.played.wall_s * self.choice.threads)

    def to_json(self) -> dict[str, str | int | float]:
        """The object of `gonode bench --json`; rates of the network and milliseconds of a replay are one core's."""
        return {
            "kernel": self.plan.kernel.encode(),
            "net": self.plan.name,
            "size": self.plan.size,
            "threads": self.choice.threads,
            "games": self.choice.games,
            "evals_per_s": round(self.speed.evaluations_per_s, 1),
            "gmac_per_s": round(self.speed.gmac_per_s, 2),
            "peak_gmac_per_s": round(self.speed.peak_gmac_per_s, 2),
            "selfplay_positions_per_cpu_s": round(self.visits_per_cpu_s / self.plan.visits, 2),
            "visits_per_cpu_s": round(self.visits_per_cpu_s, 1),
            "evals_per_visit": round(self.played.evaluations_per_visit, 4),
            "search_us_per_visit": round(self.search_us_per_visit, 2),
            "replay_ms_per_ply": round(self.replay_ms_per_ply, 2),
        }


def measure(plan: Plan, say: Say) -> Report:
    """Measures; `say` hears what is being done."""
    say("the network")
    speed = measure_network(plan.network, plan.size, plan.kernel, BATCH, NETWORK_SHARE * plan.seconds)
    subject = Subject(plan.network, plan.size, plan.visits, plan.kernel)
    choice = find_settings(subject, plan.threads, plan.games, SETTINGS_SHARE * plan.seconds, say)
    say(f"self-play, threads: {choice.threads}, games in flight on each: {choice.games}")
    played, search_us = _self_play(plan, choice)
    say("replay")
    return Report(plan, speed, choice, played, search_us, _replay_ms(plan))


def _self_play(plan: Plan, choice: Choice) -> tuple[Played, float]:
    """Games for a time, and the search's share: what is left of it by the time of an evaluation before and after."""

    def alone() -> float:
        return evaluation_s(plan.network, plan.size, plan.kernel, choice.games, choice.threads, ALONE_S)

    job_of = self_play_games(plan.network, plan.size, plan.visits)
    before = alone()
    played = play_for(plan.kernel, choice.threads, choice.games, job_of, PLAY_SHARE * plan.seconds)
    return played, played.search_us_per_visit((before + alone()) / 2)


def _replay_ms(plan: Plan) -> float:
    """Processor milliseconds of one replayed move: the median of first moves of games that are not the network's.

    Each replay searches its first move, finds that it differs, and ends: the dearest move, nothing of it in a cache.
    """
    strangers = self_play_games(None, plan.size, 2)
    job_of = self_play_games(plan.network, plan.size, plan.visits)
    spent: list[float] = []
    until = perf_counter() + REPLAY_SHARE * plan.seconds
    with Pool(1, plan.kernel) as pool:
        while not spent or perf_counter() < until:
            _, games = play(pool, [strangers(len(spent))])
            spent.append(replay(pool, [(job_of(len(spent)), games[0].block)]).cpu_s)
    return median(spent) * 1e3
