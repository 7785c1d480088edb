"""The transport over TCP and WebSocket, on a host of py-libp2p.

Spec: docs/spec/wire.md ("Connection"). A peer is its Ed25519 key, proven by the Noise handshake. `opening` makes one,
`host` its host, which may be another one later. The library is imported when a transport is opened.
"""

import logging
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

import trio

from node.peering.addresses import is_relayed, told_addresses
from node.peering.libp2p.ids import id_of, key_of
from node.peering.libp2p.mends import hardening
from node.peering.libp2p.places import reachable_places, resolved, split_circuit
from node.peering.libp2p.quota import Quota, RelayLimits
from node.peering.libp2p.scope import Scope, scope_of
from node.peering.libp2p.stream import Libp2pStream
from node.peering.transport import (
    DIAL_S,
    MAX_PUBLICATION,
    OPEN_S,
    Accepts,
    Complain,
    Handler,
    Link,
    Listener,
    OnError,
    PeerGone,
    Refuse,
    Timeout,
    TooMuch,
    TransportError,
    Unreachable,
    address_key,
    id_key,
    ignore,
    overlook,
    peer_id,
    refuse_nobody,
    short,
)
from node.peering.waits import Waits
from protocol.ed25519 import SecretKey

if TYPE_CHECKING:
    from node.peering.libp2p.kad.directory import Directory

log = logging.getLogger("gonode.net")

_PENDING_PUBLICATIONS: Final = 256


class Libp2pTransport:
    """One node's place among peers (see `node.peering.transport.Transport`).

    What it tells of itself in the directory and as a relay is `announced`, if there is any, else where it listens.
    """

    host: Any
    pubsub: Any
    quota: Quota

    def __init__(self, secret: SecretKey, nursery: trio.Nursery, counts: Counter[str]) -> None:
        self.key = secret.public
        self.waits = Waits()
        self.on_error: OnError = ignore
        self.refuse: Refuse = refuse_nobody
        self.complain: Complain = overlook
        self.announced: Sequence[str] = ()
        self._nursery = nursery
        self._life = nursery
        self._faults = counts
        self._handlers: dict[str, Any] = {}
        self._topics: dict[str, tuple[Any, trio.MemorySendChannel[tuple[bytes, bytes]]]] = {}
        self._dialed: dict[bytes, str] = {}
        self._dialing: dict[bytes, trio.Lock] = {}
        self._relayed: Any = None
        self._relay: Any = None
        self._relay_limits: RelayLimits | None = None
        self._directory: Directory | None = None

    def attach(self, host: Any, pubsub: Any, life: trio.Nursery) -> None:
        """Goes on with a host that has just begun: what was served and subscribed to before it is so again.

        `life` is the nursery of what ends with that host.
        """
        self.host, self.pubsub, self._life = host, pubsub, life
        for protocol, handler in self._handlers.items():
            host.set_stream_handler(protocol, handler)
        for topic in self._topics:
            self._join(topic)
        self._attach_relays()

    def addresses(self) -> tuple[str, ...]:
        plain = [*reachable_places(self.host.get_transport_addrs()), *self._relayed.addresses()]
        return tuple(f"{address}/p2p/{peer_id(self.key)}" for address in plain)

    def peers(self) -> tuple[bytes, ...]:
        network = self.host.get_network()
        linked = [peer for peer, links in network.connections.items() if any(not link.is_closed for link in links)]
        return tuple(sorted(key for key in map(key_of, linked) if key is not None))

    def links(self) -> tuple[Link, ...]:
        found = []
        for peer in self.peers():
            connections = self.host.get_network().connections.get(id_of(peer), ())
            muxed = next((each.muxed_conn for each in connections if not each.is_closed), None)
            if muxed is not None:
                address = self._dialed.get(peer) if muxed.is_initiator else None
                found.append(
                    Link(peer, address, getattr(muxed, "opened_s", trio.current_time()), getattr(muxed, "place", ""))
                )
        return tuple(found)

    def faults(self) -> Mapping[str, int]:
        return self._faults + hardening.faults

    async def dial(self, address: str) -> bytes:
        from libp2p.peer.peerinfo import info_from_p2p_addr
        from multiaddr import Multiaddr  # type: ignore[import-untyped]

        key = address_key(address)
        if key == self.key:
            raise Unreachable(f"{address} is this node itself.")
        if self.refuse(key):
            raise Unreachable(f"Peer {short(key)} is refused.")
        try:
            place = Multiaddr(address)
            info_from_p2p_addr(place)
        except Exception as error:
            raise Unreachable(f"{address[:200]!r} is not an address that can be dialed.") from error
        through = split_circuit(address)
        with trio.move_on_after(DIAL_S):
            relay = None if through is None or key in self.peers() else await self.dial(through)
            async with self._dialing_alone(key):
                if key not in self.peers():
                    if relay is None:
                        await self._connect(place, key)
                    else:
                        await self._relayed.connect(relay, key, address)
                    for gone in self._dialed.keys() - set(self.peers()):
                        del self._dialed[gone]
                    self._dialed[key] = address
            return key
        raise Unreachable(f"Nobody answered at {address} within {DIAL_S:g} s.")

    def is_dialing(self, peer: Any) -> bool:
        """Whether a connection to the peer with this libp2p id is being made."""
        return key_of(peer) in self._dialing

    @asynccontextmanager
    async def _dialing_alone(self, key: bytes) -> AsyncIterator[None]:
        """One task after the other dials a peer, the next one when it is connected or could not be."""
        lock = self._dialing.setdefault(key, trio.Lock())
        try:
            async with lock:
                yield
        finally:
            if not lock.locked() and not lock.statistics().tasks_waiting:
                self._dialing.pop(key, None)

    def is_dialed(self) -> bool:
        from node.peering.libp2p.relay.circuit import is_circuit

        connections = [each for many in self.host.get_network().connections.values() for each in many]
        muxed = [each.muxed_conn for each in connections if not each.is_closed and not is_circuit(each.muxed_conn)]
        places = [(each.is_initiator, each.get_remote_address()) for each in muxed]
        scopes = [(dialed, scope_of(place[0]) is Scope.WORLD) for dialed, place in places if place is not None]
        return any(not dialed and (far or (True, True) not in scopes) for dialed, far in scopes)

    def serve_relay(self, limits: RelayLimits | None = None) -> None:
        self._relay_limits = limits or RelayLimits()
        self._attach_relays()

    def relaying(self) -> tuple[frozenset[bytes], int]:
        return (frozenset(), 0) if self._relay is None else (self._relay.reserved, self._relay.circuits)

    def relays(self) -> frozenset[bytes]:
        return frozenset(self._relayed.relays())

    async def reserve(self, relay: bytes) -> None:
        with trio.move_on_after(OPEN_S):
            await self._relayed.reserve(relay)
            return
        raise Timeout(f"Peer {short(relay)} gave no reservation within {OPEN_S:g} s.")

    def _attach_relays(self) -> None:
        """Serves both sides of relaying with the host that runs now."""
        from node.peering.libp2p.relay.relay import Relay
        from node.peering.libp2p.relay.relayed import Relayed

        if self._relayed is None:
            self._relayed = Relayed(self.key, self._dialed.get, self._faults)
        if self._relayed.host is not self.host:
            self._relayed.attach(self.host)
        if self._relay_limits is not None:
            told = told_addresses(self.addresses(), self.announced, self.key)
            own = [place for place in told if not is_relayed(place)]
            self._relay = Relay(self.host, self._relay_limits, own, self._faults)

    async def _connect(self, place: Any, key: bytes) -> None:
        """Connects to the peer at a multiaddr, whose name (if it has one) is tried with each of its IP addresses."""
        from libp2p.peer.peerinfo import info_from_p2p_addr

        failure: Exception | None = None
        is_websocket = "/ws/" in str(place)  # which needs the name, and tries its addresses itself
        for plain in [place] if is_websocket else await resolved(place):
            info = info_from_p2p_addr(plain)
            self.host.get_network().unblock_peer(info.peer_id)  # a failed dial blocks a peer for 60 s
            self.host.get_peerstore().clear_addrs(info.peer_id)  # only the address given is tried
            try:
                await self.host.connect(info)
            except Exception as error:
                failure = error
            else:
                return
        raise Unreachable(f"No peer {short(key)} could be reached at {place}.") from failure

    async def open(self, peer: bytes, protocol: str) -> Libp2pStream:
        from libp2p.host.exceptions import StreamFailure

        if peer not in self.peers():
            raise PeerGone(f"Peer {short(peer)} is not connected.")
        with trio.move_on_after(OPEN_S):
            try:
                stream = await self.host.new_stream(id_of(peer), [protocol])
            except Exception as error:
                if isinstance(error, StreamFailure) and "not supported" in str(error.__cause__):
                    raise Unreachable(f"Peer {short(peer)} does not speak {protocol}.") from error
                if "limit exceeded" in str(error):
                    raise TooMuch(f"There are too many streams with peer {short(peer)} already.") from error
                raise PeerGone(f"Peer {short(peer)} opened no stream for {protocol}: {error}.") from error
            return Libp2pStream(stream, peer, self.complain)
        raise Timeout(f"Peer {short(peer)} opened no stream for {protocol} within {OPEN_S:g} s.")

    def serve(self, protocol: str, handler: Handler) -> None:
        async def run(raw: Any) -> None:
            key = key_of(raw.muxed_conn.peer_id)
            if key is None or self.refuse(key):
                await raw.reset()
                return
            stream = Libp2pStream(raw, key, self.complain)
            try:
                await handler(stream)
            except Exception as error:
                self._faults["handler"] += 1
                self.on_error(error)
                log.info("the handler of %s for %s failed: %r", protocol, short(stream.peer), error)
                await stream.reset()
            else:
                await stream.finish()

        self._handlers[protocol] = run
        self.host.set_stream_handler(protocol, run)

    async def publish(self, topic: str, data: bytes) -> None:
        if len(data) > MAX_PUBLICATION:
            raise TooMuch(f"A publication of {len(data)} bytes is over the limit of {MAX_PUBLICATION}.")
        with trio.move_on_after(OPEN_S):
            try:
                await self.pubsub.publish(topic, data)
            except Exception as error:
                raise TransportError(f"The publication on {topic} was not sent: {error}.") from error
            return
        raise Timeout(f"The publication on {topic} was not sent within {OPEN_S:g} s.")

    def subscribe(self, topic: str, handler: Listener, accepts: Accepts | None = None) -> None:
        if topic in self._topics:
            raise ValueError(f"the topic {topic} has its handler")

        async def is_worth(_forwarder: Any, message: Any) -> bool:
            source = id_key(message.from_id)
            if source is None or len(message.data) > MAX_PUBLICATION or self.refuse(source):
                return False
            if source != self.key and not self.quota.takes_publication(peer_id(source)):
                return False
            return accepts is None or accepts(source, message.data)

        send, receive = trio.open_memory_channel[tuple[bytes, bytes]](_PENDING_PUBLICATIONS)
        self._topics[topic] = is_worth, send
        self._nursery.start_soon(self._deliver, topic, receive, handler)
        self._join(topic)

    def _join(self, topic: str) -> None:
        """Subscribes to a topic with the host that runs now."""
        is_worth, send = self._topics[topic]
        self.pubsub.set_topic_validator(topic, is_worth, True)
        self._life.start_soon(self._listen, topic, send)

    def keep_directory(self, run: bytes) -> "Directory":
        """Takes part in the directory of `run` from now on."""
        from node.peering.libp2p.kad.directory import Directory

        self._directory = Directory(self, run, self._faults)
        self._handlers[self._directory.protocol] = self._directory.serve
        self.host.set_stream_handler(self._directory.protocol, self._directory.serve)
        self._nursery.start_soon(self._directory.run)
        return self._directory

    async def provide(self, key: bytes) -> None:
        if self._directory is None:
            raise Unreachable("This node keeps no directory of peers.")
        await self._directory.provide(key)

    async def find(self, key: bytes) -> tuple[str, ...]:
        if self._directory is None:
            raise Unreachable("This node keeps no directory of peers.")
        return await self._directory.find(key)

    async def disconnect_all(self) -> None:
        """Ends all connections; never raises."""
        async with trio.open_nursery() as nursery:
            for peer in self.peers():
                nursery.start_soon(self.disconnect, peer)

    async def disconnect(self, peer: bytes) -> None:
        with trio.move_on_after(2):
            try:
                await self.host.disconnect(id_of(peer))
            except Exception as error:
                log.debug("the connection with %s did not end cleanly: %r", short(peer), error)

    async def _listen(self, topic: str, queue: trio.MemorySendChannel[tuple[bytes, bytes]]) -> None:
        """Drains the library's short queue into a longer one at once, while its host lives; `_deliver` takes from that."""
        subscription = await self.pubsub.subscribe(topic)
        while True:
            message = await subscription.get()
            source = id_key(message.from_id)
            if source is None or source == self.key:
                continue
            try:
                queue.send_nowait((source, message.data))
            except trio.WouldBlock:
                self._faults["publication dropped"] += 1

    async def _deliver(
        self, topic: str, channel: trio.MemoryReceiveChannel[tuple[bytes, bytes]], handler: Listener
    ) -> None:
        async for source, data in channel:
            try:
                await handler(source, data)
            except Exception as error:
                self._faults["listener"] += 1
                self.on_error(error)
                log.info("the handler of topic %s failed: %r", topic, error)
