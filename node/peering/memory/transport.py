"""A node's place in a network in memory.

Spec: docs/spec/wire.md ("Frames"). Limits, errors and deadlines are those of `node.peering.libp2p.transport`.
"""

import logging
from collections import Counter, deque
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import trio

from node.peering.addresses import CIRCUIT
from node.peering.memory.stream import MemoryStream
from node.peering.transport import (
    DIAL_S,
    FIND_S,
    MAX_FOUND,
    MAX_PUBLICATION,
    OPEN_S,
    RESERVED_S,
    Accepts,
    Complain,
    Handler,
    Link,
    Listener,
    Misdeed,
    OnError,
    PeerGone,
    Refuse,
    Timeout,
    TooMuch,
    Unreachable,
    address_key,
    ignore,
    overlook,
    peer_id,
    refuse_nobody,
    short,
)
from node.peering.waits import Waits

if TYPE_CHECKING:
    from node.peering.memory.network import MemoryNetwork

log = logging.getLogger("gonode.net")

MAX_STREAMS_PER_PEER: Final = 64
_PENDING_PUBLICATIONS: Final = 256


class MemoryTransport:
    """One node's place in a MemoryNetwork (see `node.peering.transport.Transport`)."""

    def __init__(self, network: "MemoryNetwork", key: bytes, nursery: trio.Nursery) -> None:
        self.key = key
        self._network = network
        self._nursery = nursery
        self._handlers: dict[str, Handler] = {}
        self._topics: dict[str, trio.MemorySendChannel[tuple[bytes, bytes]]] = {}
        self._accepts: dict[str, Accepts] = {}
        self.waits = Waits()
        self.on_error: OnError = ignore
        self.refuse: Refuse = refuse_nobody
        self.complain: Complain = overlook
        self._streams: dict[bytes, list[MemoryStream]] = {}
        self._links: dict[bytes, Link] = {}
        self._faults: Counter[str] = Counter()
        self._is_relay = False
        self._relays: dict[bytes, float] = {}
        self._dialers: set[bytes] = set()

    def addresses(self) -> tuple[str, ...]:
        own = f"/p2p/{peer_id(self.key)}"
        relays = [f"/memory/1/p2p/{peer_id(relay)}{CIRCUIT}{own}" for relay in sorted(self.relays())]
        return f"/memory/1{own}", *relays

    def peers(self) -> tuple[bytes, ...]:
        return tuple(sorted(self._streams))

    def links(self) -> tuple[Link, ...]:
        return tuple(self._links[peer] for peer in self.peers())

    def faults(self) -> Mapping[str, int]:
        return self._faults

    async def dial(self, address: str) -> bytes:
        key = address_key(address)
        network = self._network
        relay_address, is_relayed, _ = address.partition(f"{CIRCUIT}/")
        with trio.move_on_after(DIAL_S):
            relay = await self.dial(relay_address) if is_relayed else None
            await network.wait_reach(self.key, key)
            await trio.sleep(network.delay(self.key, key) + network.delay(key, self.key))
            other = network.node(key)
            if other is None or key == self.key:
                raise Unreachable(f"Nobody answers at {address}.")
            if network.is_hidden(key) if relay is None else not other.has_place(relay):
                raise Unreachable(f"Nobody can be reached at {address}.")
            if self.refuse(key) or other.refuse(self.key):
                raise Unreachable(f"The connection with peer {short(key)} was refused.")
            self._connect(key, address)
            other._connect(self.key, None)
            if relay is None:
                other._dialers.add(self.key)
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
            if other.refuse(self.key):
                raise PeerGone(f"Peer {short(peer)} refused the stream.")
            handler = other._handlers.get(protocol)
            if handler is None:
                raise Unreachable(f"Peer {short(peer)} does not speak {protocol}.")
            theirs = other._require(self.key)
            mine[:] = [each for each in mine if not each.ended]
            theirs[:] = [each for each in theirs if not each.ended]
            if max(len(mine), len(theirs)) >= MAX_STREAMS_PER_PEER:
                other.complain(self.key, Misdeed.TOO_OFTEN)
                raise TooMuch(f"There are {MAX_STREAMS_PER_PEER} streams with peer {short(peer)} already.")
            stream, far = MemoryStream(network, self.key, peer), MemoryStream(network, peer, self.key)
            stream.join(far)
            mine.append(stream)
            theirs.append(far)
            other._nursery.start_soon(other._run_handler, handler, far, protocol)
            return stream
        raise Timeout(f"Peer {short(peer)} opened no stream for {protocol} within {OPEN_S:g} s.")

    def is_dialed(self) -> bool:
        return any(peer in self._dialers for peer in self._streams)

    def serve_relay(self) -> None:
        self._is_relay = True

    def relaying(self) -> tuple[frozenset[bytes], int]:
        near = [self._network.node(peer) for peer in self._streams]
        return frozenset(node.key for node in near if node is not None and node.has_place(self.key)), 0

    def relays(self) -> frozenset[bytes]:
        return frozenset(relay for relay in self._relays if self.has_place(relay))

    async def reserve(self, relay: bytes) -> None:
        await trio.sleep(self._network.delay(self.key, relay) + self._network.delay(relay, self.key))
        other = self._network.node(relay)
        if relay not in self._streams or other is None or not other._is_relay:
            raise Unreachable(f"Peer {short(relay)} does not relay.")
        self._relays[relay] = trio.current_time() + RESERVED_S

    def has_place(self, relay: bytes) -> bool:
        """Whether a relay has a place for this node now."""
        return relay in self._streams and self._relays.get(relay, 0.0) > trio.current_time()

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
        self._relays.pop(peer, None)
        if other is not None:
            other._streams.pop(self.key, None)
            other._relays.pop(self.key, None)

    def _connect(self, peer: bytes, address: str | None) -> None:
        if peer not in self._streams:
            self._streams[peer] = []
            self._links[peer] = Link(peer, address, trio.current_time(), self._network.hosts.get(peer, ""))

    def _require(self, peer: bytes) -> list[MemoryStream]:
        streams = self._streams.get(peer)
        if streams is None:
            raise PeerGone(f"Peer {short(peer)} is not connected.")
        return streams

    def _reached(self, topic: str, data: bytes) -> dict[bytes, int]:
        """The number of hops to each other node that takes a publication of this node, each of which is asked once."""
        found = {self.key: 0}
        taken: dict[bytes, int] = {}
        edge = deque(found)
        while edge:
            key = edge.popleft()
            node = self._network.node(key)
            if node is None or not (node is self or node._is_accepted(topic, self.key, data)):
                continue
            taken[key] = found[key]
            for peer in node.peers():
                if peer not in found and self._network.reaches(key, peer):
                    found[peer] = found[key] + 1
                    edge.append(peer)
        del taken[self.key]
        return taken

    def _is_accepted(self, topic: str, source: bytes, data: bytes) -> bool:
        try:
            return not self.refuse(source) and (topic not in self._accepts or self._accepts[topic](source, data))
        except Exception:
            return False

    async def _hear(self, topic: str, source: bytes, data: bytes, delay_s: float) -> None:
        await trio.sleep(delay_s)
        channel = self._topics.get(topic)
        if channel is not None:
            try:
                channel.send_nowait((source, data))
            except trio.WouldBlock:
                self._faults["publication dropped"] += 1

    async def _run_handler(self, handler: Handler, stream: MemoryStream, protocol: str) -> None:
        try:
            await handler(stream)
        except Exception as error:
            self._faults["handler"] += 1
            self.on_error(error)
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
                self.on_error(error)
                log.info("the handler of topic %s failed: %r", topic, error)
