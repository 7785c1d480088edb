"""The transport over TCP and WebSocket: py-libp2p with Noise, Yamux and GossipSub, restricted and hardened.

Spec: docs/spec/wire.md ("Connection"). Streams carry frames under their own deadlines and limits; a peer is its Ed25519
key, proven by the Noise handshake (nothing weaker is offered). The library is imported when a transport is opened.
"""

import logging
import os
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import trio

from node.peering.libp2p import hardening
from node.peering.libp2p.forgetting import forget_gone
from node.peering.libp2p.places import CIRCUIT, is_global, listen_place, reachable_places, resolved, split_circuit
from node.peering.libp2p.quota import Limits, Quota, RelayLimits
from node.peering.transport import (
    DIAL_S,
    MAX_FRAME,
    MAX_PUBLICATION,
    OPEN_S,
    STALL_S,
    Accepts,
    CannotListen,
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
    from node.peering.libp2p.directory import Directory

log = logging.getLogger("gonode.net")

MESHSUB: Final = ("/meshsub/1.2.0", "/meshsub/1.1.0", "/meshsub/1.0.0")
LINGER_S: Final = 10.0
"""How long a served stream waits for the other side's end before it is reset."""

RESTART_S: Final = 0.5
"""The first wait before a host that ended is started again; doubled each time in a row, up to LAST_RESTART_S."""

LAST_RESTART_S: Final = 30.0
WELL_AFTER_S: Final = 60.0
MOST_FAILURES: Final = 10
"""A transport whose host fails so often in a row gives up."""

_CLEAN_UP_S: Final = 5.0
_READ_BYTES: Final = 256 << 10
_PENDING_PUBLICATIONS: Final = 256
_KEPT_IDS: Final = 1024
_MAX_RPC: Final = 256 << 10
_LENGTH_BYTES: Final = 4


class Libp2pStream:
    """Frames over one libp2p stream (see `node.peering.transport.Stream`)."""

    def __init__(self, stream: Any, peer: bytes, complain: Complain = overlook) -> None:
        self.peer = peer
        self._stream = stream
        self._complain = complain

    async def send(self, frame: bytes) -> None:
        if len(frame) > MAX_FRAME:
            raise TooMuch(f"A frame of {len(frame)} bytes is over the limit of {MAX_FRAME}.")
        with trio.move_on_after(STALL_S):
            try:
                await self._stream.write(len(frame).to_bytes(_LENGTH_BYTES, "big") + frame)
            except Exception as error:
                raise self._gone(error) from error
            return
        raise Timeout(f"Peer {short(self.peer)} took no frame for {STALL_S:g} s.")

    async def receive(self, max_bytes: int = MAX_FRAME) -> bytes:
        with trio.move_on_after(STALL_S):
            length = int.from_bytes(await self._read(_LENGTH_BYTES), "big")
            if length > max_bytes:
                self._complain(self.peer, Misdeed.TOO_LONG)
                await self.reset()
                raise TooMuch(f"Peer {short(self.peer)} sent a frame of {length} bytes, over {max_bytes}.")
            return await self._read(length)
        raise Timeout(f"Peer {short(self.peer)} sent nothing for {STALL_S:g} s.")

    async def close(self) -> None:
        await self._end(self._stream.close)

    async def reset(self) -> None:
        """Ends both directions at once; what is on its way is lost. Never raises."""
        await self._end(self._stream.reset)

    async def finish(self) -> None:
        """Ends this direction, waits a while for the other one to end, and resets the stream if it does not."""
        await self.close()
        with trio.move_on_after(LINGER_S):
            try:
                while await self._stream.read(_READ_BYTES):
                    pass
            except Exception:
                return
        await self.reset()

    async def _end(self, how: Any) -> None:
        with trio.move_on_after(1, shield=True):
            try:
                await how()
            except Exception as error:
                log.debug("a stream with %s did not end cleanly: %r", short(self.peer), error)

    async def _read(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            try:
                part = await self._stream.read(min(size - len(data), _READ_BYTES))
            except Exception as error:
                raise self._gone(error) from error
            if not part:
                raise self._gone(None)
            data += part
        return bytes(data)

    def _gone(self, error: Exception | None) -> PeerGone:
        detail = f": {error}" if error is not None and str(error) else ""
        return PeerGone(f"The stream with peer {short(self.peer)} has ended{detail}.")


class Libp2pTransport:
    """One node's place among peers over TCP (see `node.peering.transport.Transport`)."""

    host: Any
    pubsub: Any
    quota: Quota

    def __init__(self, secret: SecretKey, nursery: trio.Nursery, counts: Counter[str]) -> None:
        self.key = secret.public
        self.waits = Waits()
        self.on_error: OnError = ignore
        self.refuse: Refuse = refuse_nobody
        self.complain: Complain = overlook
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
        return tuple(sorted(key for key in map(_key_of, linked) if key is not None))

    def links(self) -> tuple[Link, ...]:
        found = []
        for peer in self.peers():
            connections = self.host.get_network().connections.get(_id_of(peer), ())
            muxed = next((each.muxed_conn for each in connections if not each.is_closed), None)
            if muxed is not None:
                address = self._dialed.get(peer) if muxed.is_initiator else None
                found.append(Link(peer, address, getattr(muxed, "opened_s", trio.current_time())))
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
        return _key_of(peer) in self._dialing

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
        from node.peering.libp2p.circuit import is_circuit

        connections = [each for many in self.host.get_network().connections.values() for each in many]
        muxed = [each.muxed_conn for each in connections if not each.is_closed and not is_circuit(each.muxed_conn)]
        places = [(each.is_initiator, each.get_remote_address()) for each in muxed]
        scopes = [(dialed, is_global(place[0])) for dialed, place in places if place is not None]
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
        from node.peering.libp2p.relay import Relay
        from node.peering.libp2p.relayed import Relayed

        if self._relayed is None:
            self._relayed = Relayed(self.key, self._dialed.get, self._faults)
        if self._relayed.host is not self.host:
            self._relayed.attach(self.host)
        if self._relay_limits is not None:
            own = [place for place in self.addresses() if CIRCUIT not in place]
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
                stream = await self.host.new_stream(_id_of(peer), [protocol])
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
            key = _key_of(raw.muxed_conn.peer_id)
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

    def keep_directory(self, run: bytes, announced: Sequence[str] = ()) -> "Directory":
        """Takes part in the directory of `run` from now on, as a node at `announced`, if any, else where it listens."""
        from node.peering.libp2p.directory import Directory

        self._directory = Directory(self, run, self._faults, announced)
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
                await self.host.disconnect(_id_of(peer))
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


@asynccontextmanager
async def open_libp2p(
    secret: SecretKey,
    listen: Sequence[str] = ("/ip4/127.0.0.1/tcp/0",),
    *,
    run: bytes | None = None,
    announced: Sequence[str] = (),
    limits: Limits | None = None,
) -> AsyncIterator[Libp2pTransport]:
    """A node that listens at the multiaddrs `listen` (a `/p2p/<own id>` at their end is allowed) while in the context.

    With `run` it takes part in the directory of that run, where it tells `announced` addresses if there are any; without,
    `provide` and `find` raise Unreachable.
    Raises CannotListen for an address that is none or taken, TransportError for another version of libp2p.
    An exception of the body leaves as it is, in no group.
    """
    hardening.harden()
    places = [listen_place(address, secret.public) for address in dict.fromkeys(listen)]
    counts: Counter[str] = Counter()
    ending = trio.Event()
    failure: Exception | None = None
    async with trio.open_nursery() as nursery:
        try:
            transport = await nursery.start(_run, secret, places, limits or Limits(), counts, ending)
            if run is not None:
                transport.keep_directory(run, announced)
            yield transport
        except Exception as error:
            failure = error
        finally:
            ending.set()
    if failure is not None:
        raise failure


async def _run(
    secret: SecretKey,
    places: Sequence[Any],
    limits: Limits,
    counts: Counter[str],
    ending: trio.Event,
    task_status: trio.TaskStatus[Libp2pTransport],
) -> None:
    """Runs a host until `ending`, and another one in its place when it fails.

    Shielded, for the library closes no connection once it is cancelled.
    """
    with trio.CancelScope(shield=True):
        async with trio.open_nursery() as nursery:
            transport = Libp2pTransport(secret, nursery, counts)
            failures = 0
            failure: CannotListen | None = None
            while not ending.is_set():
                began = trio.current_time()
                try:
                    places = await _live(transport, secret, places, limits, counts, ending, task_status)
                except CannotListen as error:
                    failure = error
                    break
                if ending.is_set():
                    break
                counts["host ended"] += 1
                failures = 1 if trio.current_time() - began > WELL_AFTER_S else failures + 1
                if failures == MOST_FAILURES:
                    failure = CannotListen(f"This node's place among peers failed {failures} times in a row.")
                    break
                with trio.move_on_after(min(RESTART_S * 2 ** (failures - 1), LAST_RESTART_S)):
                    await ending.wait()
            nursery.cancel_scope.cancel()
    if failure is not None:
        raise failure


async def _live(
    transport: Libp2pTransport,
    secret: SecretKey,
    places: Sequence[Any],
    limits: Limits,
    counts: Counter[str],
    ending: trio.Event,
    task_status: trio.TaskStatus[Libp2pTransport],
) -> Sequence[Any]:
    """One life of the host, until `ending` or until a part of it fails; where it listened.

    Raises CannotListen when it is the first and cannot listen.
    """
    from libp2p.tools.anyio_service import background_trio_service

    is_first = not hasattr(transport, "host")
    transport.quota = Quota(
        limits, counts, lambda key: transport.refuse(key), lambda key, misdeed: transport.complain(key, misdeed)
    )
    host, pubsub, router = _build(secret, limits, transport.quota)
    is_listening = False
    with trio.CancelScope() as life:
        try:
            async with (
                host.run(listen_addrs=places),
                background_trio_service(pubsub),
                background_trio_service(router),
                trio.open_nursery() as nursery,
            ):
                await pubsub.wait_until_ready()
                found = host.get_transport_addrs()
                is_listening = len(found) == len(places)
                if is_listening:
                    places = found
                    transport.attach(host, pubsub, nursery)
                    nursery.start_soon(forget_gone, host, transport.is_dialing)
                    if is_first:
                        task_status.started(transport)
                    try:
                        await _until_one_ends(ending, [host.get_network(), pubsub, router])
                    finally:
                        life.deadline = trio.current_time() + _CLEAN_UP_S
                nursery.cancel_scope.cancel()
                with trio.CancelScope(shield=True):
                    await _close_listeners(host.get_network())
                    await transport.disconnect_all()
        except Exception as error:
            log.info("the host failed: %r", error)
    await _close_listeners(host.get_network())
    if is_first and not is_listening:
        raise CannotListen(f"This node cannot listen at {', '.join(map(str, places))}.")
    return places


async def _close_listeners(network: Any) -> None:
    """Frees the ports that a host listened at, which the library leaves bound when it is cancelled."""
    with trio.move_on_after(_CLEAN_UP_S):
        for listener in list(network.listeners.values()):
            try:
                await listener.close()
            except Exception as error:
                log.debug("a listener did not end cleanly: %r", error)


async def _until_one_ends(ending: trio.Event, services: Sequence[Any]) -> None:
    """Returns when a node is to end, or one of the library's services has."""
    async with trio.open_nursery() as nursery:

        async def wait(wait_end: Any) -> None:
            await wait_end()
            nursery.cancel_scope.cancel()

        nursery.start_soon(wait, ending.wait)
        for service in services:
            nursery.start_soon(wait, service.manager.wait_finished)


def _build(secret: SecretKey, limits: Limits, quota: Any) -> tuple[Any, Any, Any]:
    """The host, the pubsub and the router, not running yet."""
    from libp2p import new_host
    from libp2p.crypto.ed25519 import create_new_key_pair
    from libp2p.crypto.x25519 import create_new_key_pair as create_new_x25519_key_pair
    from libp2p.custom_types import TProtocol
    from libp2p.network.config import ConnectionConfig, RetryConfig
    from libp2p.pubsub.gossipsub import GossipSub
    from libp2p.pubsub.pubsub import Pubsub
    from libp2p.security.noise.transport import PROTOCOL_ID as NOISE
    from libp2p.security.noise.transport import Transport as NoiseTransport
    from libp2p.stream_muxer.yamux.yamux import PROTOCOL_ID as YAMUX
    from libp2p.transport.tcp.tcp import TCP

    from node.peering.libp2p.gossip_quota import bound_gossip
    from node.peering.libp2p.websocket import WebSocketTransport
    from node.peering.libp2p.yamux import BoundedYamux

    keys = create_new_key_pair(secret.seed)
    noise = NoiseTransport(keys, noise_privkey=create_new_x25519_key_pair().private_key)
    host: Any = new_host(
        key_pair=keys,
        muxer_opt={TProtocol(YAMUX): BoundedYamux},
        sec_opt={NOISE: noise},
        resource_manager=quota,
        transports=[TCP(), WebSocketTransport(quota)],
        connection_config=ConnectionConfig(
            max_connections=limits.connections,
            min_connections=0,
            low_watermark=0,
            high_watermark=limits.connections,
            max_connections_per_peer=2,
        ),
        disable_identify_address_discovery=True,
    )
    network = host.get_network()
    network.set_resource_manager(quota, enable_stream_semaphore=False)
    network.retry_config = RetryConfig(max_retries=0)
    hardening.harden_host(host)
    router = GossipSub(
        protocols=[TProtocol(name) for name in MESHSUB],
        degree=16,
        degree_low=12,
        degree_high=64,
        heartbeat_interval=1,
        adaptive_gossip_enabled=False,  # it makes that a minute where links are few
        spam_protection_enabled=False,
        px_peers_count=0,
    )
    pubsub = Pubsub(host, router, strict_signing=True, max_inbound_rpc_size=_MAX_RPC)
    bound_gossip(pubsub, quota)
    # The library counts from the seconds of the clock: what a host publishes that is started again would be taken for what
    # it published before.
    pubsub.counter = int.from_bytes(os.urandom(7))
    return host, pubsub, router


@lru_cache(_KEPT_IDS)
def _id_of(key: bytes) -> Any:
    from libp2p.peer.id import ID

    return ID.from_base58(peer_id(key))


def _key_of(peer: Any) -> bytes | None:
    """The Ed25519 key in a libp2p ID; None for one of another kind of key, which is no peer of this network."""
    return id_key(peer.to_bytes())
