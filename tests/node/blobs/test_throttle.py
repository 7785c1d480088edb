"""Limits in bytes a second, on the virtual clock."""

from pathlib import Path

import pytest
import trio
import trio.testing

from node.blobs.throttle import Throttle, parse_rate, parse_size
from protocol.blob import CHUNK_BYTES, blob_digest
from tests.node.blobs.swarm import distinct_blob, nodes


async def test_the_average_stays_at_the_rate(autojump_clock: trio.testing.MockClock) -> None:
    throttle = Throttle(1000 * 1024)
    started = trio.current_time()
    async with trio.open_nursery() as nursery:
        for _ in range(50):
            nursery.start_soon(throttle.take, 200 * 1024)
    assert trio.current_time() - started == pytest.approx(10 - 0.5 - 0.2)
    await trio.sleep(1000)
    started = trio.current_time()
    for _ in range(50):
        await throttle.take(200 * 1024)
    assert trio.current_time() - started == pytest.approx(10 - 0.5 - 0.2), "what was not used is not saved up"


async def test_no_limit_does_not_wait(autojump_clock: trio.testing.MockClock) -> None:
    throttle = Throttle()
    await throttle.take(1 << 40)
    assert trio.current_time() == throttle.wait_s() == 0


@pytest.mark.parametrize("limited", ["up", "down"])
async def test_a_fetch_keeps_to_the_limits(
    limited: str, tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    blob = distinct_blob(6)
    async with nodes(tmp_path, 2) as (mine, other):
        other.store.put(blob)
        throttle = Throttle(CHUNK_BYTES / 2)
        if limited == "up":
            other.service._up = throttle
        else:
            mine.service._down = throttle
        started = trio.current_time()
        assert await mine.service.fetch(blob_digest(blob), [other.key]) == blob
        assert trio.current_time() - started == pytest.approx(12 - 2 - 0.5, abs=0.3)


async def test_small_blobs_count_by_their_size(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    """A slow line is used for what comes; what waits for its turn is not given up."""
    blobs = [bytes([number]) * 4000 for number in range(20)]
    async with nodes(tmp_path, 2) as (mine, other):
        for blob in blobs:
            other.store.put(blob)
        mine.service._down = Throttle(2000)
        started = trio.current_time()
        async with trio.open_nursery() as nursery:
            for blob in blobs:
                nursery.start_soon(mine.service.fetch, blob_digest(blob), [other.key])
        assert trio.current_time() - started == pytest.approx(2 * len(blobs), abs=4)
        assert all(mine.store.has(blob_digest(blob)) for blob in blobs)


@pytest.mark.parametrize(
    ("text", "size"), [("1048576", 1 << 20), ("500k", 500 << 10), ("2M", 2 << 20), ("10G", 10 << 30), ("1g", 1 << 30)]
)
def test_sizes(text: str, size: int) -> None:
    assert parse_size(text) == parse_rate(text) == size


@pytest.mark.parametrize("text", ["", "0", "1.5M", "-1", "2MB", "2 M", "M", "9" * 20])
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(ValueError, match="is not a number of bytes"):
        parse_size(text)


def test_the_least_rate() -> None:
    assert parse_rate("1k") == 1024
    with pytest.raises(ValueError, match="the least"):
        parse_rate("1023")
