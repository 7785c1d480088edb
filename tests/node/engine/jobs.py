"""Small games for tests of the engine's process, and what a pool in this process makes of them."""

from native.network import Kernel, Network
from native.pool import Done, Job, Pool
from native.rules import Rules
from native.search import Player, SearchConfig

CONFIG = SearchConfig(visits_full=24, visits_fast=8, full_share_ppm=500_000, temperature_start_micro=500_000)


def network(number: int) -> Network:
    """A small network of its own."""
    return Network.load(Network.first(bytes([number]) * 32, 1, 16))


def job(counter: int, net: Network | None = None, other: Network | None = None, cap: int = 30) -> Job:
    """A game on 7x7 of `net` against `other`, or against itself."""
    black, white = Player(net, bytes(32)), Player(other or net, bytes(32))
    rules = Rules(7, 7, 13, move_cap=cap)
    return Job(counter, counter, rules, CONFIG, bytes(32), counter.to_bytes(32, "big"), black, white, 1, (3, 20))


def played(jobs: list[Job], kernel: Kernel = Kernel.BEST) -> dict[int, Done]:
    """The games as a pool in this process plays them."""
    with Pool(1, kernel) as pool:
        for each in jobs:
            pool.play(each)
        done = [pool.wait(60) for _ in jobs]
    return {each.id: each for each in done if each is not None}
