"""A network of nodes in memory, with seeded loss, delay, cuts, partitions and uplinks.

A lost frame of a stream comes late, as over TCP; a lost publication does not come. Across a partition frames wait until it
heals, dials fail, and nothing is told. The draws of each directed pair of nodes come from their own generator.
"""

from collections import Counter
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from random import Random
from typing import Final

import trio

from node.peering.memory.transport import MemoryTransport
from protocol.ed25519 import SecretKey

_RESEND_S: Final = 0.2


class MemoryNetwork:
    """A network in one process.

    `delay_s` is the one-way delay and `jitter_s` the most added to it; `loss` is the chance that a frame has to be sent
    again or a publication is lost; `cut` the chance that sending a frame breaks its stream instead. `hosts` gives
    the addresses that nodes are seen to come from, where somebody asks.
    """

    def __init__(
        self, seed: int = 0, *, loss: float = 0.0, delay_s: float = 0.01, jitter_s: float = 0.0, cut: float = 0.0
    ) -> None:
        if not (0 <= loss < 1 and 0 <= cut < 1 and delay_s >= 0 and jitter_s >= 0):
            raise ValueError("loss and cut are chances below 1, delays are not negative")
        self.loss = loss
        self.cut = cut
        self.delay_s = delay_s
        self.jitter_s = jitter_s
        self._seed = seed
        self._nodes: dict[bytes, MemoryTransport] = {}
        self._groups: tuple[frozenset[bytes], ...] = ()
        self._hidden: set[bytes] = set()
        self._draws: dict[tuple[bytes, bytes], Random] = {}
        self._moved = trio.Event()
        self._up_bytes_s: dict[bytes, float] = {}
        self._up_free_s: dict[bytes, float] = {}
        self.sent_bytes: Counter[bytes] = Counter()
        self.providers: dict[bytes, dict[bytes, None]] = {}
        self.hosts: dict[bytes, str] = {}

    @asynccontextmanager
    async def open(self, secret: SecretKey) -> AsyncIterator[MemoryTransport]:
        """A node of this network for as long as the context lasts; at its end its peers see its streams end.

        An exception of the body leaves as it is, in no group.
        """
        key = secret.public
        if key in self._nodes:
            raise ValueError("a key can be in the network once")
        failure: Exception | None = None
        async with trio.open_nursery() as nursery:
            node = self._nodes[key] = MemoryTransport(self, key, nursery)
            try:
                yield node
            except Exception as error:
                failure = error
            finally:
                if self._nodes.get(key) is node:
                    self.kill(key)
                nursery.cancel_scope.cancel()
        if failure is not None:
            raise failure

    def kill(self, key: bytes) -> None:
        """Takes a node out at once, as a kill does: its streams end, and nothing that it still says arrives."""
        node = self._nodes.pop(key)
        for peer in node.peers():
            node.drop(peer)

    def partition(self, *groups: Collection[bytes]) -> None:
        """Lets nodes reach only those of their own group; nodes in no group make one of their own."""
        self._groups = tuple(frozenset(group) for group in groups)
        self._wake()

    def heal(self) -> None:
        """Ends the partition; what waited arrives."""
        self.partition()

    def hide(self, key: bytes) -> None:
        """Lets nobody dial a node but through a relay, as behind a NAT."""
        self._hidden.add(key)

    def is_hidden(self, key: bytes) -> bool:
        """Whether a node can only be reached through a relay."""
        return key in self._hidden

    def reaches(self, a: bytes, b: bytes) -> bool:
        """Whether frames pass between two nodes now."""
        return self._group(a) == self._group(b)

    def node(self, key: bytes) -> MemoryTransport | None:
        """The running node with this key."""
        return self._nodes.get(key)

    def draw(self, a: bytes, b: bytes) -> Random:
        """The generator of what goes from `a` to `b`."""
        draws = self._draws.get((a, b))
        if draws is None:
            draws = self._draws[a, b] = Random(f"{self._seed}/{a.hex()}/{b.hex()}")
        return draws

    def delay(self, a: bytes, b: bytes) -> float:
        """The time that the next frame from `a` takes to `b`, with its repetitions."""
        draws = self.draw(a, b)
        total = self.delay_s + self.jitter_s * draws.random()
        while draws.random() < self.loss:
            total += _RESEND_S
        return total

    def limit_up(self, key: bytes, bytes_s: float) -> None:
        """Gives a node an uplink of this width, which all its frames share, one after the other; without, it is endless."""
        self._up_bytes_s[key] = bytes_s

    def leaving(self, key: bytes, size: int) -> float:
        """When the last byte of a frame of `size` bytes, given to the uplink of `key` now, has left it."""
        self.sent_bytes[key] += size
        now = trio.current_time()
        width = self._up_bytes_s.get(key)
        if width is None:
            return now
        free = self._up_free_s[key] = max(now, self._up_free_s.get(key, now)) + size / width
        return free

    async def wait_reach(self, a: bytes, b: bytes) -> None:
        """Returns when frames pass between two nodes."""
        while not self.reaches(a, b):
            await self._moved.wait()

    def _group(self, key: bytes) -> int:
        return next((index for index, group in enumerate(self._groups) if key in group), -1)

    def _wake(self) -> None:
        self._moved.set()
        self._moved = trio.Event()
