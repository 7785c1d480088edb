"""How fast the exact network evaluates here, against the same kernel's multiply in registers alone.

All times are processor time of the thread that computes, so that other load on the machine counts little; each number is
the median of short rounds in which what is compared takes turns.
"""

import random
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from statistics import median

from native.game import FEATURE_PLANES
from native.network import Evaluator, Kernel, Network

LEAST_ROUNDS = 3
SLICE_S = 0.02
"""What is timed at once takes about so long: long against the clock's steps, short against what disturbs it."""


@dataclass(frozen=True, slots=True)
class NetworkSpeed:
    """One core: evaluations a second, and billions of multiply-adds a second in the network and at the kernel's peak."""

    evaluations_per_s: float
    gmac_per_s: float
    peak_gmac_per_s: float
    of_peak: float


class Evaluations:
    """Evaluations of one batch of random positions, over and over, by one thread."""

    def __init__(self, network: Network, size: int, kernel: Kernel, batch: int) -> None:
        self._evaluator = Evaluator(network, kernel)
        self._size = size
        self._batch = batch
        self._planes = bytes(random.Random(1).choices((0, 64), (4, 1), k=FEATURE_PLANES * size * size * batch))

    def seconds(self, least_s: float) -> float:
        """Processor seconds of one evaluation, over calls that take at least so long together."""
        started, calls = time.thread_time(), 0
        while (spent := time.thread_time() - started) < least_s or calls == 0:
            self._evaluator.run_raw(self._size, self._size, self._planes)
            calls += 1
        return spent / (calls * self._batch)


def peak_rate(kernel: Kernel, least_s: float = SLICE_S) -> float:
    """Multiply-adds a second of the kernel's loop in registers, over at least so long."""
    started, done, steps = time.thread_time(), 0, 10_000
    while (spent := time.thread_time() - started) < least_s or done == 0:
        done += kernel.peak(steps)
        steps *= 2
    return done / spent


def measure_network(network: Network, size: int, kernel: Kernel, batch: int, seconds: float) -> NetworkSpeed:
    """The speed of one core with batches of `batch` positions, over about `seconds` and at least three rounds."""
    evaluations = Evaluations(network, size, kernel, batch)
    macs = network.macs(size, size)
    evaluations.seconds(0)  # the first call makes its memory
    peaks: list[float] = []
    rates: list[float] = []
    until = time.perf_counter() + seconds
    while len(rates) < LEAST_ROUNDS or time.perf_counter() < until:
        peaks.append(peak_rate(kernel))
        rates.append(1 / evaluations.seconds(SLICE_S))
    rate, peak = median(rates), median(peaks)
    of_peak = median(rate * macs / peak for rate, peak in zip(rates, peaks, strict=True))
    return NetworkSpeed(rate, rate * macs / 1e9, peak / 1e9, of_peak)


def evaluation_s(network: Network, size: int, kernel: Kernel, batch: int, threads: int, least_s: float) -> float:
    """Processor seconds of one evaluation while `threads` threads evaluate at once: the median over the threads."""

    def seconds(_: int) -> float:
        return Evaluations(network, size, kernel, batch).seconds(least_s)

    with ThreadPoolExecutor(threads) as executor:
        return median(executor.map(seconds, range(threads)))
