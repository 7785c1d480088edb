"""A limit in bytes a second: whoever moves bytes waits for its turn, so that the average stays at the rate.

Bytes are taken in the order of asking; what was asked for last waits for all before it. On trio's clock.
"""

import math
import re
from typing import Final

import trio

LEAST_RATE: Final = 1 << 10
"""The lowest rate that a node takes, in bytes a second."""

_RATE = re.compile(r"([1-9][0-9]{0,11})([kKmMgG]?)")
_UNITS: Final = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


class Throttle:
    """Lets `bytes_s` bytes a second through, or any number when it is None; `burst_s` seconds' worth at once."""

    def __init__(self, bytes_s: float | None = None, burst_s: float = 0.5) -> None:
        if bytes_s is not None and bytes_s < LEAST_RATE:
            raise ValueError(f"a rate is at least {LEAST_RATE} bytes a second")
        self.bytes_s = bytes_s
        self._burst_s = burst_s
        self._free_s = -math.inf

    def wait_s(self) -> float:
        """How long the next byte has to wait now."""
        if self.bytes_s is None:
            return 0.0
        return max(0.0, self._free_s - trio.current_time())

    def spend(self, size: int) -> float:
        """Counts `size` bytes that go now or in their turn, which comes in so many seconds."""
        if self.bytes_s is None:
            return 0.0
        now = trio.current_time()
        start = max(now - self._burst_s, self._free_s)
        self._free_s = start + size / self.bytes_s
        return max(0.0, start - now)

    async def take(self, size: int) -> None:
        """Returns when it is the turn of `size` bytes; they count also if the caller does not wait for it."""
        await trio.sleep(self.spend(size))

    async def ready(self) -> None:
        """Returns when bytes that are counted then need not wait, unless others are counted first."""
        while self.wait_s() > 0:
            await trio.sleep(self.wait_s())


def parse_size(text: str) -> int:
    """A number of bytes such as `500k`, `2M`, `10G` or `1048576`, in units of 1,024; raises ValueError, one sentence."""
    found = _RATE.fullmatch(text)
    if found is None:
        raise ValueError(f"{text[:40]!r} is not a number of bytes such as 500k, 2M or 10G.")
    return int(found[1]) * _UNITS[found[2].lower()]


def parse_rate(text: str) -> int:
    """Bytes a second as `parse_size` reads them; raises ValueError, one sentence, below LEAST_RATE too."""
    rate = parse_size(text)
    if rate < LEAST_RATE:
        raise ValueError(f"{text} is less than 1k bytes a second, which is the least.")
    return rate
