"""Transports in memory, on trio's clock: the network of simulations, with seeded loss, delay, cuts and partitions.

Spec: docs/spec/wire.md ("Frames"). Limits, errors and deadlines are those of `node.peering.libp2p.transport`. A lost
frame of a stream comes late, as over TCP; a lost publication does not come. Across a partition frames wait until it heals,
dials fail, and nothing is told. The draws of each directed pair of nodes come from their own generator.
"""

import logging
import math
from collections import Counter, deque
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from random import Random
from typing import Final

import trio

from node.peering.transport import (
    DIAL_S,
    FIND_S,
    MAX_FOUND,
    MAX_FRAME,
    MAX_PUBLICATION,
    OPEN_S,
    STALL_S,
    Accepts,
    Handler,
    Listener,
    PeerGone,
    Timeout,
    TooMuch,
    Unreachable,
    address_key,
    peer_id,
    short,
)
from protocol.ed25519 import SecretKey

log = logging.getLogger("gonode.net")

MAX_STREAMS_PER_PEER: Final = 64
_WINDOW: Final = 16
_RESEND_S: Final = 0.2
_PENDING_PUBLICATIONS: Final = 256


class MemoryNetwork:
    """A network in one process.

    `delay_s` is the one-way delay and `jitter_s` the most added to it; `loss` is the chance that a frame has to be sent
    again or a publication is lost; `cut` the chance that sending a frame breaks its stream instead.
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
        self._draws: dict[tuple[bytes, bytes], Random] = {}
        self._moved = trio.Event()
        self._up_bytes_s: dict[bytes, float] = {}
        self._up_free_s: dict[bytes, float] = {}
        self.sent_bytes: Counter[bytes] = Counter()
        self.providers: dict[bytes, dict[bytes, None]] = {}

    @asynccontextmanager
    async def open(self, secret: SecretKey) -> AsyncIterator["MemoryTransport"]:
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

    def reaches(self, a: bytes, b: bytes) -> bool:
        """Whether frames pass between two nodes now."""
        return self._group(a) == self._group(b)

    def node(self, key: bytes) -> "MemoryTransport | None":
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


class MemoryStream:
    """One end of a stream in memory (see `node.peering.transport.Stream`)."""

    def __init__(self, network: MemoryNetwork, key: bytes, peer: bytes) -> None:
        self.peer = peer
        self._key = key
        self._network = network
        self._frames: deque[tuple[float, bytes]] = deque()
        self._arrived = trio.Event()
        self._taken = trio.Event()
        self._ended_at = math.inf
        self._other: MemoryStream = self
        self._receiving = trio.Lock()

    def join(self, other: "MemoryStream") -> None:
        """Makes two ends one stream."""
        self._other, other._other = other, self

    @property
    def ended(self) -> bool:
        """Whether either side ended the stream."""
        return self._ended_at < math.inf

    async def send(self, frame: bytes) -> None:
        if len(frame) > MAX_FRAME:
            raise TooMuch(f"A frame of {len(frame)} bytes is over the limit of {MAX_FRAME}.")
        await trio.lowlevel.checkpoint()
        network, other = self._network, self._other
        if network.draw(self._key, self.peer).random() < network.cut:
            self.reset()
        with trio.move_on_after(STALL_S):
            while len(other._frames) >= _WINDOW and not self.ended:
                await other._taken.wait()
            if self.ended:
                raise PeerGone(f"The stream with peer {short(self.peer)} has ended.")
            leaves = network.leaving(self._key, len(frame))
            other._frames.append((leaves + network.delay(self._key, self.peer), bytes(frame)))
            other._wake()
            return
        raise Timeout(f"Peer {short(self.peer)} took no frame for {STALL_S:g} s.")

    async def receive(self, max_bytes: int = MAX_FRAME) -> bytes:
        await trio.lowlevel.checkpoint()
        with trio.move_on_after(STALL_S):
            async with self._receiving:
                while not self._is_next_here():
                    if self._frames:
                        await self._network.wait_reach(self._key, self.peer)
                        await trio.sleep_until(self._frames[0][0])
                    elif self.ended:
                        raise PeerGone(f"The stream with peer {short(self.peer)} has ended.")
                    else:
                        await self._arrived.wait()
                _, frame = self._frames.popleft()
                self._taken.set()
                self._taken = trio.Event()
                if len(frame) > max_bytes:
                    self.reset()
                    raise TooMuch(f"Peer {short(self.peer)} sent a frame of {len(frame)} bytes, over {max_bytes}.")
                return frame
        raise Timeout(f"Peer {short(self.peer)} sent nothing for {STALL_S:g} s.")

    async def close(self) -> None:
        self.end()

    def end(self) -> None:
        """Ends both directions; frames on their way still arrive at the other side."""
        self._frames.clear()
        for side in (self, self._other):
            side._ended_at = min(side._ended_at, trio.current_time())
            side._wake()

    def reset(self) -> None:
        """Ends both directions and loses what is on its way."""
        self._other._frames.clear()
        self.end()

    def _is_next_here(self) -> bool:
        here = self._network.reaches(self._key, self.peer)
        return here and bool(self._frames) and self._frames[0][0] <= trio.current_time()

    def _wake(self) -> None:
        self._arrived.set()
        self._arrived = trio.Event()
        self._taken.set()
        self._taken = trio.Event()


class MemoryTransport:
    """One node's place in a MemoryNetwork (see `node.peering.transport.Transport`)."""

    def __init__(self, network: MemoryNetwork, key: bytes, nursery: trio.Nursery) -> None:
        self.key = key
        self._network = network
        self._nursery = nursery
        self._handlers: dict[str, Handler] = {}
        self._topics: dict[str, trio.MemorySendChannel[tuple[bytes, bytes]]] = {}
        self._accepts: dict[str, Accepts] = {}
        self._streams: dict[bytes, list[MemoryStream]] = {}
        self._faults: Counter[str] = Counter()

    def addresses(self) -> tuple[str, ...]:
        return (f"/memory/1/p2p/{peer_id(self.key)}",)

    def peers(self) -> tuple[bytes, ...]:
        return tuple(sorted(self._streams))

    def faults(self) -> Mapping[str, int]:
        return self._faults

    async def dial(self, address: str) -> bytes:
        key = address_key(address)
        network = self._network
        with trio.move_on_after(DIAL_S):
            await network.wait_reach(self.key, key)
            await trio.sleep(network.delay(self.key, key) + network.delay(key, self.key))
            other = network.node(key)
            if other is None or key == self.key:
                raise Unreachable(f"Nobody answers at {address}.")
            self._streams.setdefault(key, [])
            other._streams.setdefault(self.key, [])
            return key
        raise Unreachable(f"Nobody answered at {address} within {DIAL_S:g} s.")

    async def open(self, peer: bytes, protocol: str) -> MemoryStream:
        network = self._network
        with trio.move_on_after(OPEN_S):
            self._require(peer)
            await network.wait_reach(self.key, peer)
            await trio.sleep(network.delay(self.key, peer) + network.delay(peer, self.key))
            mine = self._require(peer)
            other = network.node(peer)
            if other is None:
                raise PeerGone(f"Peer {short(peer)} has gone.")
            handler = other._handlers.get(protocol)
            if handler is None:
                raise Unreachable(f"Peer {short(peer)} does not speak {protocol}.")
            theirs = other._require(self.key)
            mine[:] = [each for each in mine if not each.ended]
            theirs[:] = [each for each in theirs if not each.ended]
            if max(len(mine), len(theirs)) >= MAX_STREAMS_PER_PEER:
                raise TooMuch(f"There are {MAX_STREAMS_PER_PEER} streams with peer {short(peer)} already.")
            stream, far = MemoryStream(network, self.key, peer), MemoryStream(network, peer, self.key)
            stream.join(far)
            mine.append(stream)
            theirs.append(far)
            other._nursery.start_soon(other._run_handler, handler, far, protocol)
            return stream
        raise Timeout(f"Peer {short(peer)} opened no stream for {protocol} within {OPEN_S:g} s.")

    def serve(self, protocol: str, handler: Handler) -> None:
        self._handlers[protocol] = handler

    async def publish(self, topic: str, data: bytes) -> None:
        if len(data) > MAX_PUBLICATION:
            raise TooMuch(f"A publication of {len(data)} bytes is over the limit of {MAX_PUBLICATION}.")
        await trio.lowlevel.checkpoint()
        self._network.sent_bytes[self.key] += len(data)
        for key, hops in self._reached(topic, data).items():
            draws = self._network.draw(self.key, key)
            node = self._network.node(key)
            if node is not None and draws.random() >= self._network.loss:
                delay = sum(self._network.delay(self.key, key) for _ in range(hops))
                node._nursery.start_soon(node._hear, topic, self.key, data, delay)

    def subscribe(self, topic: str, handler: Listener, accepts: Accepts | None = None) -> None:
        if topic in self._topics:
            raise ValueError(f"the topic {topic} has its handler")
        if accepts is not None:
            self._accepts[topic] = accepts
        send, receive = trio.open_memory_channel[tuple[bytes, bytes]](_PENDING_PUBLICATIONS)
        self._topics[topic] = send
        self._nursery.start_soon(self._run_listener, topic, receive, handler)

    async def provide(self, key: bytes) -> None:
        await self._ask_around()
        self._network.providers.setdefault(key, {})[self.key] = None

    async def find(self, key: bytes) -> tuple[str, ...]:
        await self._ask_around()
        near = [peer for peer in self._network.providers.get(key, {}) if self._network.reaches(self.key, peer)]
        nodes = [self._network.node(peer) for peer in near if peer != self.key]
        return tuple(address for node in nodes if node is not None for address in node.addresses())[:MAX_FOUND]

    async def _ask_around(self) -> None:
        """Takes as long as asking a peer takes, or fails as it does when there is none."""
        peer = next((peer for peer in self.peers() if self._network.reaches(self.key, peer)), None)
        if peer is None:
            await trio.sleep(FIND_S)
            raise Unreachable("No peer that keeps the directory is connected.")
        await trio.sleep(self._network.delay(self.key, peer) + self._network.delay(peer, self.key))

    async def disconnect(self, peer: bytes) -> None:
        self.drop(peer)

    def drop(self, peer: bytes) -> None:
        """Ends the connection to `peer` on both sides."""
        other = self._network.node(peer)
        for stream in self._streams.pop(peer, []):
            stream.reset()
        if other is not None:
            other._streams.pop(self.key, None)

    def _require(self, peer: bytes) -> list[MemoryStream]:
        streams = self._streams.get(peer)
        if streams is None:
            raise PeerGone(f"Peer {short(peer)} is not connected.")
        return streams

    def _reached(self, topic: str, data: bytes) -> dict[bytes, int]:
        """The number of hops to each other node that a publication of this node passes to."""
        found = {self.key: 0}
        edge = deque(found)
        while edge:
            key = edge.popleft()
            node = self._network.node(key)
            for peer in node.peers() if node is not None and self._passes(node, topic, data) else ():
                if peer not in found and self._network.reaches(key, peer):
                    found[peer] = found[key] + 1
                    edge.append(peer)
        del found[self.key]
        return found

    def _passes(self, node: "MemoryTransport", topic: str, data: bytes) -> bool:
        """Whether `node` passes on a publication of this node."""
        return node is self or node._is_accepted(topic, self.key, data)

    def _is_accepted(self, topic: str, source: bytes, data: bytes) -> bool:
        try:
            return topic not in self._accepts or self._accepts[topic](source, data)
        except Exception:
            return False

    async def _hear(self, topic: str, source: bytes, data: bytes, delay_s: float) -> None:
        await trio.sleep(delay_s)
        channel = self._topics.get(topic)
        if channel is not None and self._is_accepted(topic, source, data):
            try:
                channel.send_nowait((source, data))
            except trio.WouldBlock:
                self._faults["publication dropped"] += 1

    async def _run_handler(self, handler: Handler, stream: MemoryStream, protocol: str) -> None:
        try:
            await handler(stream)
        except Exception as error:
            self._faults["handler"] += 1
            log.info("the handler of %s for %s failed: %r", protocol, short(stream.peer), error)
            stream.reset()
        else:
            stream.end()

    async def _run_listener(
        self, topic: str, channel: trio.MemoryReceiveChannel[tuple[bytes, bytes]], handler: Listener
    ) -> None:
        async for source, data in channel:
            try:
                await handler(source, data)
            except Exception as error:
                self._faults["listener"] += 1
                log.info("the handler of topic %s failed: %r", topic, error)
