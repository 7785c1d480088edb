"""The public node without a role: which networks it fetches, and what it says meanwhile."""

from random import Random
from types import SimpleNamespace
from typing import Any

import trio
import trio.testing

from node.events import silent
from node.peering.transport import Unreachable
from node.relay import AGAIN_S, KEPT_RELEASES, PublicRelay
from node.role_status import Relaying
from node.services import Services
from node.status import Queue


class World:
    """A member of which a relay uses little; `gone` blobs cannot be fetched."""

    def __init__(self, releases: int) -> None:
        self.releases = [
            SimpleNamespace(number=number, network_blob=bytes([number]) * 32, network_len=number)
            for number in range(releases + 1)
        ]
        self.kept: list[bytes] = []
        self.asked: list[bytes] = []
        self.gone: set[bytes] = set()
        self.told: list[str] = []
        self.blobs = self
        self.services = Services(silent, Random(1))
        self.blob_store = SimpleNamespace(has=self.kept.__contains__)
        self.transport = SimpleNamespace(peers=tuple, relaying=lambda: (frozenset({b"x"}), 3))

    async def fetch(self, blob: bytes, peers: Any, length: int, timeout_s: float) -> bytes:
        await trio.sleep(1)
        self.asked.append(blob)
        if blob in self.gone:
            raise Unreachable("nobody has it")
        assert length == blob[0]
        self.kept.append(blob)
        return b""

    def events(self, event: str, text: str, **values: Any) -> None:
        self.told.append(event)

    async def change_within(self, seconds: float) -> None:
        await trio.sleep(seconds)

    def jitter(self, seconds: float) -> float:
        return seconds

    def unix_s(self, since_s: float | None) -> int | None:
        return None if since_s is None else int(since_s)


async def test_the_newest_networks_are_fetched_newest_first(autojump_clock: trio.testing.MockClock) -> None:
    world = World(KEPT_RELEASES + 2)
    role = PublicRelay(world)  # type: ignore[arg-type]
    assert role.queues[0].length == KEPT_RELEASES
    async with trio.open_nursery() as nursery:
        nursery.start_soon(role.run)
        await trio.sleep(10)
        newest = [release.network_blob for release in world.releases[-KEPT_RELEASES:]]
        assert world.kept == newest[::-1]
        assert world.told == ["network"] * KEPT_RELEASES
        assert role.status() == Relaying(KEPT_RELEASES, 1, 3)
        assert role.queues == [Queue("network", 0)]
        role.drain()


async def test_what_nobody_has_is_waited_for(autojump_clock: trio.testing.MockClock) -> None:
    world = World(1)
    world.gone.add(world.releases[1].network_blob)
    role = PublicRelay(world)  # type: ignore[arg-type]
    async with trio.open_nursery() as nursery:
        nursery.start_soon(role.run)
        await trio.sleep(10 * AGAIN_S)
        assert 8 <= len(world.asked) <= 10
        (queue,) = role.queues
        assert (queue.length, queue.since_unix_s is not None) == (1, True)
        assert world.releases[1].network_blob.hex()[:16] in (queue.waiting_for or "")
        world.gone.clear()
        await trio.sleep(2 * AGAIN_S)
        assert role.networks == 1
        role.drain()


async def test_a_failure_does_not_end_it(autojump_clock: trio.testing.MockClock) -> None:
    world = World(1)
    world.releases[1].network_len = 7  # which is not what the blob has
    role = PublicRelay(world)  # type: ignore[arg-type]
    async with trio.open_nursery() as nursery:
        nursery.start_soon(role.run)
        await trio.sleep(30)
        (service,) = world.services.status()
        assert (service.name, service.restarts > 2, world.kept) == ("networks", True, [])
        world.releases[1].network_len = 1
        await trio.sleep(100)
        assert len(world.kept) == 1
        role.drain()


async def test_release_0_has_no_network_to_fetch(autojump_clock: trio.testing.MockClock) -> None:
    world = World(0)
    role = PublicRelay(world)  # type: ignore[arg-type]
    async with trio.open_nursery() as nursery:
        nursery.start_soon(role.run)
        await trio.sleep(100)
        assert world.asked == []
        role.drain()
