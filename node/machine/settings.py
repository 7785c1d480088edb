"""The threads and games in flight that play fastest here.

All settings play self-play games for equal times, taking turns, and are compared by network evaluations a second, which
unlike positions depend little on how far the games have come. First threads, from one a core downwards by halves, then games
in flight on each thread; the least of what is about as fast as the best is chosen, since threads and games cost memory and
others use this machine too.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

from native.network import Kernel, Network
from node.machine.playing import play_for, self_play_games

Say = Callable[[str], None]

GAMES = (1, 2, 4, 8)
"""Games in flight that are tried, upwards."""

ROUNDS = 3
ENOUGH = 0.97
"""A smaller setting that reaches so much of the best rate is chosen."""


@dataclass(frozen=True, slots=True)
class Subject:
    """What plays while settings are compared."""

    network: Network
    size: int
    visits: int
    kernel: Kernel


@dataclass(frozen=True, slots=True)
class Setting:
    """Threads, games in flight on each, and evaluations a second with them (the median of rounds)."""

    threads: int
    games: int
    evaluations_per_s: float


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
        threads = {each.threads: each.evaluations_per_s for each in self.tried if each.games == least}
        games = {each.games: each.evaluations_per_s for each in self.tried if each.threads == self.threads}
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
        best_threads = smallest_enough(tried).threads
    if len(games) > 1:
        compared = compare(subject, [(best_threads, count) for count in games], slice_s, say)
        best_games = smallest_enough(compared).games
        # Within a comparison rounds took turns, so its rates belong together: they replace that of the first one.
        tried = [each for each in tried if each.threads != best_threads] + compared
    return Choice(best_threads, best_games, tuple(tried))


def smallest_enough(settings: Sequence[Setting]) -> Setting:
    """The setting of the fewest threads and games among those that are about as fast as the fastest."""
    fastest = max(each.evaluations_per_s for each in settings)
    enough = [each for each in settings if each.evaluations_per_s >= ENOUGH * fastest]
    return min(enough, key=lambda each: (each.threads, each.games))


def compare(subject: Subject, pairs: Sequence[tuple[int, int]], slice_s: float, say: Say) -> list[Setting]:
    """Rates of pairs (threads, games in flight), each played for `slice_s` in each of three rounds."""
    job_of = self_play_games(subject.network, subject.size, subject.visits)
    rates: dict[tuple[int, int], list[float]] = {pair: [] for pair in pairs}
    for _ in range(ROUNDS):
        for threads, games in pairs:
            say(f"threads: {threads}, games in flight on each: {games}")
            played = play_for(subject.kernel, threads, games, job_of, slice_s)
            rates[threads, games].append(played.evaluations / played.wall_s)
    return [Setting(threads, games, median(each)) for (threads, games), each in rates.items()]
