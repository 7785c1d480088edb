"""The threads and games in flight that play fastest here.

All settings play self-play games for equal times, taking turns, and are compared by network evaluations, which unlike
positions depend little on how far the games have come. First threads, from one a core downwards by halves, by evaluations a
second; when others use the machine, by what they would be if each thread had a core. Then games in flight on each thread, by
evaluations a processor second, since they change what a thread's work costs and not how much of a core it has. The least of
what is about as fast as the best is chosen: threads and games cost memory, and others use this machine too.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

from native.network import Kernel, Network
from node.machine.playing import Played, play_for, self_play_games

Say = Callable[[str], None]

GAMES = (1, 2, 4, 8)
"""Games in flight that are tried, upwards."""

ROUNDS = 3
ENOUGH = 0.97
"""A smaller setting that reaches so much of the best rate is chosen."""


BUSY = 0.9
"""Threads that have a core for less than this share of the time are not alone on the machine."""

TOO_BUSY = 0.8
"""What is found while threads have a core for less than this share of the time replaces nothing that is remembered."""


@dataclass(frozen=True, slots=True)
class Subject:
    """What plays while settings are compared."""

    network: Network
    size: int
    visits: int
    kernel: Kernel


@dataclass(frozen=True, slots=True)
class Setting:
    """Threads, games in flight on each, and evaluations with them, a second and a processor second (medians of rounds)."""

    threads: int
    games: int
    per_s: float
    per_cpu_s: float

    @property
    def core_share(self) -> float:
        """The share of the time that each thread had a core."""
        return self.per_s / (self.per_cpu_s * self.threads)


@dataclass(frozen=True, slots=True)
class Choice:
    """What was chosen, and the two comparisons that led there, each empty where there was no choice.

    Within a comparison rounds took turns, so its rates belong together; one setting may be in both.
    """

    threads: int
    games: int
    by_threads: tuple[Setting, ...]
    by_games: tuple[Setting, ...]

    @property
    def tried(self) -> tuple[Setting, ...]:
        """Everything that was tried, in the order of trying."""
        return self.by_threads + self.by_games

    @property
    def why(self) -> list[str]:
        """A sentence for threads and one for games in flight, each with what it compares by; none for no comparison."""
        threads, games = thread_rates(self.by_threads), {each.games: each.per_cpu_s for each in self.by_games}
        measure = "if each thread had a core" if is_busy(self.by_threads) else "a second"
        return [
            *_comparison("thread", "threads", self.threads, threads, measure),
            *_comparison("game in flight", "games in flight", self.games, games, "a processor second"),
        ]


def _comparison(one: str, many: str, chosen: int, rates: dict[int, float], measure: str) -> list[str]:
    if len(rates) < 2:
        return []
    others = [
        f"{n} {'gives' if n == 1 else 'give'} {rates[n] / rates[chosen]:.2f}" for n in sorted(rates) if n != chosen
    ]
    return [f"{chosen} {one if chosen == 1 else many}: {', '.join(others)} times as much {measure}"]


def thread_counts(cores: int) -> list[int]:
    """The numbers of threads to try: one a core, then by halves down to one."""
    counts = [cores]
    while counts[-1] > 1:
        counts.append(counts[-1] // 2)
    return counts


def find_settings(subject: Subject, threads: Sequence[int], games: Sequence[int], seconds: float, say: Say) -> Choice:
    """Chooses among `threads` and `games` (neither empty, games upwards) within about `seconds`."""
    slices = len(threads) * (len(threads) > 1) + len(games) * (len(games) > 1)
    slice_s = seconds / (ROUNDS * max(1, slices))
    best_threads, best_games = threads[0], games[0]
    by_threads: list[Setting] = []
    by_games: list[Setting] = []
    if len(threads) > 1:
        by_threads = compare(subject, [(count, games[0]) for count in threads], slice_s, say)
        best_threads = smallest_enough(thread_rates(by_threads))
    if len(games) > 1:
        by_games = compare(subject, [(best_threads, count) for count in games], slice_s, say)
        best_games = smallest_enough({each.games: each.per_cpu_s for each in by_games})
    return Choice(best_threads, best_games, tuple(by_threads), tuple(by_games))


def is_busy(settings: Sequence[Setting]) -> bool:
    """Others use the machine: not even the fewest threads had cores; a limit on this process would have left them theirs."""
    fewest = min(settings, key=lambda each: each.threads, default=None)
    return fewest is not None and fewest.core_share < BUSY


def thread_rates(settings: Sequence[Setting]) -> dict[int, float]:
    """What numbers of threads are compared by: evaluations a second, with a core each when others use the machine."""
    busy = is_busy(settings)
    return {each.threads: each.per_cpu_s * each.threads if busy else each.per_s for each in settings}


def smallest_enough(rates: dict[int, float]) -> int:
    """The smallest number whose rate is about that of the fastest."""
    fastest = max(rates.values())
    return min(number for number, rate in rates.items() if rate >= ENOUGH * fastest)


def compare(subject: Subject, pairs: Sequence[tuple[int, int]], slice_s: float, say: Say) -> list[Setting]:
    """Rates of pairs (threads, games in flight), each played for `slice_s` in each of three rounds."""
    job_of = self_play_games(subject.network, subject.size, subject.visits)
    rounds: dict[tuple[int, int], list[Played]] = {pair: [] for pair in pairs}
    for _ in range(ROUNDS):
        for threads, games in pairs:
            say(f"threads: {threads}, games in flight on each: {games}")
            rounds[threads, games].append(play_for(subject.kernel, threads, games, job_of, slice_s))
    return [
        Setting(
            threads,
            games,
            per_s=median(played.evaluations / played.wall_s for played in found),
            per_cpu_s=median(played.evaluations / played.cpu_s for played in found),
        )
        for (threads, games), found in rounds.items()
    ]
