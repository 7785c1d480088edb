"""What the benchmarks of games share: boards with networks, their self-play jobs, and whole games with what they took."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks._run import LEAST_ROUNDS, Summary
from native.network import Kernel, Network
from native.pool import Done, Job, Pool
from native.search import Player
from node.machine.evaluating import Evaluations
from node.machine.playing import Played, play, self_play_games

VISITS = 100
TRAINED = Path(__file__).parent / "networks" / "b6c96-9x9.net"
"""The trained network for 9x9; `benchmarks/networks/README.md` says how it was made."""


@dataclass(frozen=True, slots=True)
class Subject:
    """What is measured: a board size and a first network `b{blocks}c{channels}`, or uniform evaluation."""

    size: int
    blocks: int
    channels: int

    @property
    def name(self) -> str:
        """As it is printed."""
        return f"{self.size}x{self.size} " + (f"b{self.blocks}c{self.channels}" if self.blocks else "uniform")

    def network(self) -> Network | None:
        """Its network."""
        return first_network(self.blocks, self.channels) if self.blocks else None

    def jobs(self, player: Player) -> Callable[[int], Job]:
        """Self-play games by counter."""
        return self_play_games(player.network, self.size, VISITS)


SUBJECTS = (Subject(7, 0, 0), Subject(7, 4, 32), Subject(9, 4, 32), Subject(9, 6, 96))


def first_network(blocks: int, channels: int) -> Network:
    """A network that is not trained."""
    return Network.load(Network.first(bytes(32), blocks, channels))


def nine_by_nine() -> tuple[Network, str]:
    """The b6c96 with which 9x9 is measured, and what it is: the trained one of this checkout, or a first network."""
    if TRAINED.is_file():
        return Network.load(TRAINED.read_bytes()), f"b6c96 trained ({TRAINED.name})"
    return first_network(6, 96), "b6c96 first (not trained)"


def play_for(seconds: float, job_of: Callable[[int], Job], kernel: Kernel) -> list[Done]:
    """Whole games by one thread, one after another, for about `seconds`; at least one."""
    dones: list[Done] = []
    until = time.perf_counter() + seconds
    with Pool(1, kernel) as pool:
        while not dones or time.perf_counter() < until:
            dones += play(pool, [job_of(len(dones))])[1]
    return dones


@dataclass(frozen=True, slots=True)
class Game:
    """A whole game by one thread, and the processor seconds of one evaluation, from right before and right after it."""

    played: Played
    evaluation_s: float

    @property
    def search_us_per_visit(self) -> float:
        """Microseconds a visit outside the network."""
        return self.played.search_us_per_visit(self.evaluation_s)


def games_and_evaluations(
    network: Network | None, size: int, kernel: Kernel, seconds: float, least: int = LEAST_ROUNDS
) -> list[Game]:
    """Whole self-play games by one thread, taking turns with evaluations alone, for about `seconds`."""
    job_of = self_play_games(network, size, VISITS)
    alone = Evaluations(network, size, kernel, 1) if network is not None else None
    slice_s = min(0.1, seconds / 20)
    games: list[Game] = []
    until = time.perf_counter() + seconds
    with Pool(1, kernel) as pool:
        before = alone.seconds(slice_s) if alone else 0.0
        while len(games) < least or time.perf_counter() < until:
            played, _ = play(pool, [job_of(len(games))])
            after = alone.seconds(slice_s) if alone else 0.0
            games.append(Game(played, (before + after) / 2))
            before = after
    return games


def game_numbers(games: Sequence[Game]) -> dict[str, float]:
    """The columns of a row about such games: medians over the games, and evaluations a visit of them all."""
    speed = Summary.of(game.played.plies / game.played.cpu_s for game in games)
    visits = sum(game.played.visits for game in games)
    return {
        "games": len(games),
        "positions/cpu s": speed.median,
        "spread": speed.spread,
        "visits/cpu s": median(game.played.visits / game.played.cpu_s for game in games),
        "evaluations/visit": sum(game.played.evaluations for game in games) / visits,
        "us/evaluation": median(game.evaluation_s for game in games) * 1e6,
        "us/visit outside": median(game.search_us_per_visit for game in games),
    }
