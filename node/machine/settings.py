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
    """What was chosen, and everything that was tried, in the order of trying; nothing where there was no choice."""

    threads: int
    games: int
    tried: tuple[Setting, ...]

    @property
    def why(self) -> list[str]:
        """A sentence for threads and one for games in flight; none for what was not compared."""
        least = min((each.games for each in self.tried), default=1)
        threads = thread_rates([each for each in self.tried if each.games == least])
        games = {each.games: each.per_cpu_s for each in self.tried if each.threads == self.threads}
        return [
            *_comparison("thread", "threads", self.threads, threads),
            *_comparison("game in flight", "games in flight", self.games, games),
        ]


def _comparison(one: str, many: str, chosen: int, rates: dict[int, float]) -> list[str]:
    if len(rates) < 2:
        return []
    others = [
        f"{n} {'gives' if n == 1 else 'give'} {rates[n] / rates[chosen]:.2f}" for n in sorted(rates) if n != chosen
    ]
    return [f"{chosen} {one if chosen == 1 else many}: {', '.join(others)} times as much"]


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
    tried: list[Setting] = []
    if len(threads) > 1:
        tried += compare(subject, [(count, games[0]) for count in threads], slice_s, say)
        best_threads = smallest_enough(thread_rates(tried))
    if len(games) > 1:
        compared = compare(subject, [(best_threads, count) for count in games], slice_s, say)
        best_games = smallest_enough({each.games: each.per_cpu_s for each in compared})
        # Within a comparison rounds took turns, so its rates belong together: they replace that of the first one.
        tried = [each for each in tried if each.threads != best_threads] + compared
    return Choice(best_threads, best_games, tuple(tried))


def thread_rates(settings: Sequence[Setting]) -> dict[int, float]:
    """What numbers of threads are compared by: evaluations a second, with a core each when others use the machine.

    Others do when not even the fewest threads had cores; a limit on this process would have left them theirs.
    """
    fewest = min(settings, key=lambda each: each.threads, default=None)
    is_busy = fewest is not None and fewest.core_share < BUSY
    return {each.threads: each.per_cpu_s * each.threads if is_busy else each.per_s for each in settings}


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
