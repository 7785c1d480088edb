"""Feeds mutated bytes to all that reads the network in `node/`: `python -m tests.fuzz.fuzz_network SECONDS [SEED]`.

Messages, packets, WebSockets, circuits and addresses (`network_readers`), answers of peers (`network_answers`), requests to
every service and what is gossiped (`network_services`). Nothing but a reader's named errors may escape, soon and within
bounded memory; what is read must be what an encoder gives. One seed gives one sequence of inputs. A failure prints
reader, seed and number, and the file in which the input lies.
"""

import logging
import random
import resource
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import trio
import trio.testing

from node.peering.memory.network import MemoryNetwork
from tests.fuzz.command import run_command
from tests.fuzz.network_answers import answer_readers
from tests.fuzz.network_readers import message_readers
from tests.fuzz.network_services import service_readers
from tests.fuzz.network_world import example_run
from tests.fuzz.reader import Reader
from tests.node.keys import secret
from tests.vectors.record_examples import CONTRIBUTOR

MOST_CPU_S: Final = 2.0
"""The most time of the processor for one input."""

MOST_BYTES: Final = 128 << 20
"""The most memory that one input may add to the most that was ever used."""

ROUND_S: Final = 1.0
"""The time on the virtual clock between two rounds, in which quotas fill again."""

_PEAK_UNIT: Final = 1 if sys.platform == "darwin" else 1024


@asynccontextmanager
async def open_readers(path: Path) -> AsyncIterator[list[Reader]]:
    """Every reader; files lie below `path`."""
    network = MemoryNetwork()
    world = example_run()
    async with (
        network.open(secret(1)) as coordinator,
        network.open(secret(2)) as verifier,
        network.open(secret(3)) as teller,
        network.open(CONTRIBUTOR) as asker,
    ):
        await asker.dial(teller.addresses()[0])
        yield [
            *message_readers(coordinator),
            *answer_readers(world, asker, teller, path / "asker"),
            *service_readers(world, coordinator, verifier, path),
        ]


async def judge(reader: Reader, data: bytes) -> bool:
    """Whether a reader took `data`; raises what should not have escaped."""
    cpu_s, peak = time.process_time(), _peak_bytes()
    try:
        is_taken = await reader.take(data)
    except reader.errors as error:
        text = str(error)
        if not text or "\n" in text:
            raise AssertionError("an error without a plain sentence") from error
        is_taken = False
    if time.process_time() - cpu_s > MOST_CPU_S:
        raise AssertionError(f"it took {time.process_time() - cpu_s:.1f} s")
    if _peak_bytes() - peak > MOST_BYTES:
        raise AssertionError(f"it took {_peak_bytes() - peak} bytes")
    return is_taken


def _peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _PEAK_UNIT


async def _fuzz(seconds: float, seed: int) -> Counter[str]:
    rng = random.Random(seed)
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        async with open_readers(Path(folder)) as readers:
            turn, end = 0, time.monotonic() + seconds
            while time.monotonic() < end:
                for reader in readers:
                    if turn % reader.every == 0:
                        other = rng.choice(rng.choice(readers).seeds)
                        data = reader.change(rng, rng.choice(reader.seeds), other)
                        counts[reader.name] += 1
                        try:
                            await judge(reader, data)
                        except Exception:
                            _tell(reader.name, seed, counts.total(), data)
                            raise
                turn += 1
                await trio.sleep(ROUND_S)
    return counts


def _tell(name: str, seed: int, number: int, data: bytes) -> None:
    path = Path(tempfile.gettempdir()) / f"fuzz_network-{name}-{seed}-{number}"
    path.write_bytes(data)
    print(f"{name} failed; seed {seed}; input {number}, in {path}", file=sys.stderr)


def fuzz(seconds: float, seed: int) -> Counter[str]:
    """Runs for `seconds`; returns the number of inputs each reader was given. Raises what should not have escaped."""
    log = logging.getLogger("gonode.net")
    level = log.level
    log.setLevel(logging.CRITICAL)
    try:
        return trio.run(_fuzz, seconds, seed, clock=trio.testing.MockClock(autojump_threshold=0))
    finally:
        log.setLevel(level)


if __name__ == "__main__":
    run_command("fuzz_network", fuzz)
