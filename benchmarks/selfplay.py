"""Self-play with b6c96 on 9x9, 100 visits at every move: `python -m benchmarks.selfplay [--quick] [--json]`.

Whole games by one thread give positions and visits a processor second, evaluations a visit and the search's cost a visit.
Then threads and games in flight take turns in short rounds, compared by evaluations a second. The network is the trained one
of `benchmarks/networks/`, where it is there.
"""

from collections.abc import Callable
from statistics import median

from benchmarks._games import VISITS, game_numbers, games_and_evaluations, nine_by_nine
from benchmarks._run import Row, Summary, arguments, rounds, show_all
from native.network import Kernel, Network
from node.machine.playing import Played, play_for, self_play_games

SIZE = 9
THREADS = (1, 2)
GAMES = (1, 8)


def compare_settings(network: Network, kernel: Kernel, slice_s: float, seconds: float) -> list[Row]:
    """One row for each number of threads and of games in flight."""
    settings = [(threads, games) for games in GAMES for threads in THREADS]
    job_of = self_play_games(network, SIZE, VISITS)

    def playing(threads: int, games: int) -> Callable[[], Played]:
        return lambda: play_for(kernel, threads, games, job_of, slice_s)

    results = rounds([playing(*setting) for setting in settings], seconds)
    rates = [[played.evaluations / played.wall_s for played in found] for found in results]
    by_setting = dict(zip(settings, rates, strict=True))
    rows: list[Row] = []
    for at, ((threads, games), found) in enumerate(by_setting.items()):
        rate = Summary.of(found)
        one = by_setting[1, games]
        rows.append(
            {
                "games in flight": games,
                "threads": threads,
                "evaluations/s": rate.median,
                "spread": rate.spread,
                "evaluations/cpu s": median(played.evaluations / played.cpu_s for played in results[at]),
                "to one thread": median(mine / theirs for mine, theirs in zip(found, one, strict=True)),
            }
        )
    return rows


def main() -> None:
    """Measures and prints."""
    given = arguments(__doc__)
    kernel = Kernel.best() if given.kernel == Kernel.BEST else given.kernel
    network, name = nine_by_nine()
    games = games_and_evaluations(network, SIZE, kernel, 12.0 if given.quick else 60.0)
    slice_s, seconds = (1.5, 18.0) if given.quick else (4.0, 96.0)
    show_all(
        {
            f"whole games, one thread, {name}": [{"kernel": kernel.encode(), **game_numbers(games)}],
            f"threads and games in flight, {name}": compare_settings(network, kernel, slice_s, seconds),
        },
        given.json,
    )


if __name__ == "__main__":
    main()
