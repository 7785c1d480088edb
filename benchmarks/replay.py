"""What a replayed move of 100 visits costs a verifier, b6c96 on 9x9: `python -m benchmarks.replay [--quick] [--json]`.

`ms/ply` is over whole games, by one thread and kernel. `ms first` is a single move, the first one of a game that turns out
to be another's: nothing of it is in a cache, so it is the dearest. Kernels take turns; times are processor time.
"""

from collections.abc import Callable
from statistics import median

from benchmarks._games import VISITS, nine_by_nine
from benchmarks._run import Row, Summary, arguments, rounds, show_all
from native.network import Kernel, Network
from native.pool import Job, Pool
from node.machine.playing import play, replay, self_play_games

SIZE = 9


def first_moves(network: Network, kernels: list[Kernel], seconds: float) -> list[list[float]]:
    """Milliseconds of single moves, a list a kernel."""
    job_of = self_play_games(network, SIZE, VISITS)
    strangers = self_play_games(None, SIZE, 2)

    def work(kernel: Kernel) -> Callable[[], float]:
        numbers = iter(range(10**9))

        def one() -> float:
            number = next(numbers)
            with Pool(1, kernel) as pool:
                _, games = play(pool, [strangers(number)])
                replayed = replay(pool, [(job_of(number), games[0].block)])
            return replayed.cpu_s * 1e3

        return one

    return rounds([work(kernel) for kernel in kernels], seconds)


def whole_games(games: list[tuple[Job, bytes]], kernels: list[Kernel], seconds: float) -> dict[Kernel, list[float]]:
    """Milliseconds a move over whole games."""

    def work(kernel: Kernel) -> Callable[[], float]:
        def one() -> float:
            with Pool(1, kernel) as pool:
                replayed = replay(pool, games)
            if replayed.games != len(games):
                raise SystemExit("A replay differs from what was played.")
            return replayed.cpu_s / replayed.plies * 1e3

        return one

    return dict(zip(kernels, rounds([work(kernel) for kernel in kernels], seconds, least=1), strict=True))


def main() -> None:
    """Measures and prints, fastest kernel first; the quick form replays whole games with the fast kernels only."""
    given = arguments(__doc__)
    network, name = nine_by_nine()
    kernels = [given.kernel] if given.kernel != Kernel.BEST else list(reversed(Kernel.available()))
    job = self_play_games(network, SIZE, VISITS)(0)
    with Pool(1, Kernel.BEST) as pool:
        _, played = play(pool, [job])
    first = first_moves(network, kernels, 6.0 if given.quick else 30.0)
    slow = {Kernel.SCALAR} if given.quick and len(kernels) > 1 else set()
    fast = [kernel for kernel in kernels if kernel not in slow]
    whole = whole_games([(job, played[0].block)], fast, 10.0 if given.quick else 60.0)
    rows: list[Row] = []
    for kernel, found in zip(kernels, first, strict=True):
        one = Summary.of(found)
        per_ply = median(whole[kernel]) if kernel in whole else "-"
        rows.append({"kernel": kernel.encode(), "ms/ply": per_ply, "ms first": one.median, "spread": one.spread})
    show_all({f"replay of a move, {name}": rows}, given.json)


if __name__ == "__main__":
    main()
