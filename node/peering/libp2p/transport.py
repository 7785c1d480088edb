"""The transport over TCP: py-libp2p with Noise, Yamux and GossipSub, restricted and hardened.

Spec: docs/spec/wire.md ("Connection"). Streams carry frames under their own deadlines and limits; a peer is its Ed25519
key, proven by the Noise handshake (nothing weaker is offered). The library is imported when a transport is opened.
"""

import logging
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

import trio

from node.peering.libp2p import hardening
from node.peering.libp2p.quota import Limits, Quota
from node.peering.transport import (
    DIAL_S,
    MAX_FRAME,
    MAX_PUBLICATION,
    OPEN_S,
    STALL_S,
    Accepts,
    CannotListen,
    Handler,
    Listener,
    PeerGone,
    Timeout,
    TooMuch,
    TransportError,
    Unreachable,
    address_key,
    id_key,
    peer_id,
    short,
)
from protocol.ed25519 import SecretKey

log = logging.getLogger("gonode.net")

MESHSUB: Final = ("/meshsub/1.2.0", "/meshsub/1.1.0", "/meshsub/1.0.0")
LINGER_S: Final = 10.0
"""How long a served stream waits for the other side's end before it is reset."""

_READ_BYTES: Final = 256 << 10
_PENDING_PUBLICATIONS: Final = 256
_MAX_RPC: Final = 256 << 10
_LENGTH_BYTES: Final = 4
_NAMES: Final = {"dns": trio.socket.AF_UNSPEC, "dns4": trio.socket.AF_INET, "dns6": trio.socket.AF_INET6}


class Libp2pStream:
    """Frames over one libp2p stream (see `node.peering.transport.Stream`)."""

    def __init__(self, stream: Any, peer: bytes) -> None:
        self.peer = peer
        self._stream = stream

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

    def __init__(self, secret: SecretKey, host: Any, pubsub: Any, nursery: trio.Nursery, counts: Counter[str]) -> None:
        self.key = secret.public
        self.host = host
        self.pubsub = pubsub
        self._nursery = nursery
        self._faults = counts

    def addresses(self) -> tuple[str, ...]:
        from libp2p.utils.address_validation import expand_wildcard_address

        plain = [each for address in self.host.get_transport_addrs() for each in expand_wildcard_address(address)]
        return tuple(f"{address}/p2p/{peer_id(self.key)}" for address in dict.fromkeys(map(str, plain)))

    def peers(self) -> tuple[bytes, ...]:
        network = self.host.get_network()
        linked = [peer for peer, links in network.connections.items() if any(not link.is_closed for link in links)]
        return tuple(sorted(key for key in map(_key_of, linked) if key is not None))

    def faults(self) -> Mapping[str, int]:
        return self._faults + hardening.faults

    async def dial(self, address: str) -> bytes:
        from libp2p.peer.peerinfo import info_from_p2p_addr
        from multiaddr import Multiaddr  # type: ignore[import-untyped]

        key = address_key(address)
        if key == self.key:
            raise Unreachable(f"{address} is this node itself.")
        try:
            place = Multiaddr(address)
            info_from_p2p_addr(place)
        except Exception as error:
            raise Unreachable(f"{address[:200]!r} is not an address that can be dialed.") from error
        with trio.move_on_after(DIAL_S):
            if key not in self.peers():
                await self._connect(place, key)
            return key
        raise Unreachable(f"Nobody answered at {address} within {DIAL_S:g} s.")

    async def _connect(self, place: Any, key: bytes) -> None:
        """Connects to the peer at a multiaddr, whose name (if it has one) is tried with each of its IP addresses."""
        from libp2p.peer.peerinfo import info_from_p2p_addr

        failure: Exception | None = None
        for plain in await _resolved(place):
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
            return Libp2pStream(stream, peer)
        raise Timeout(f"Peer {short(peer)} opened no stream for {protocol} within {OPEN_S:g} s.")

    def serve(self, protocol: str, handler: Handler) -> None:
        async def run(raw: Any) -> None:
            key = _key_of(raw.muxed_conn.peer_id)
            if key is None:
                await raw.reset()
                return
            stream = Libp2pStream(raw, key)
            try:
                await handler(stream)
            except Exception as error:
                self._faults["handler"] += 1
                log.info("the handler of %s for %s failed: %r", protocol, short(stream.peer), error)
                await stream.reset()
            else:
                await stream.finish()

        self.host.set_stream_handler(protocol, run)

    async def publish(self, topic: str, data: bytes) -> None:
        if len(data) > MAX_PUBLICATION:
            raise TooMuch(f"A publication of {len(data)} bytes is over the limit of {MAX_PUBLICATION}.")
        try:
            await self.pubsub.publish(topic, data)
        except Exception as error:
            raise TransportError(f"The publication on {topic} was not sent: {error}.") from error

    def subscribe(self, topic: str, handler: Listener, accepts: Accepts | None = None) -> None:
        if topic in self.pubsub.topic_validators:
            raise ValueError(f"the topic {topic} has its handler")

        async def is_worth(_forwarder: Any, message: Any) -> bool:
            source = id_key(message.from_id)
            if source is None or len(message.data) > MAX_PUBLICATION:
                return False
            return accepts is None or accepts(source, message.data)

        self.pubsub.set_topic_validator(topic, is_worth, True)
        self._nursery.start_soon(self._listen, topic, handler)

    async def provide(self, key: bytes) -> None:
        raise Unreachable("This node keeps no directory of peers.")

    async def find(self, key: bytes) -> tuple[str, ...]:
        raise Unreachable("This node keeps no directory of peers.")

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

    async def _listen(self, topic: str, handler: Listener) -> None:
        """Drains the library's short queue into a longer one at once; `handler` takes from that."""
        send, receive = trio.open_memory_channel[tuple[bytes, bytes]](_PENDING_PUBLICATIONS)
        self._nursery.start_soon(self._deliver, topic, receive, handler)
        subscription = await self.pubsub.subscribe(topic)
        async with send:
            while True:
                message = await subscription.get()
                source = id_key(message.from_id)
                if source is None or source == self.key:
                    continue
                try:
                    send.send_nowait((source, message.data))
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
                log.info("the handler of topic %s failed: %r", topic, error)


@asynccontextmanager
async def open_libp2p(
    secret: SecretKey, listen: Sequence[str] = ("/ip4/127.0.0.1/tcp/0",), *, limits: Limits | None = None
) -> AsyncIterator[Libp2pTransport]:
    """A node that listens at the multiaddrs `listen` (a `/p2p/<own id>` at their end is allowed) while in the context.

    Raises CannotListen for an address that is none or taken, TransportError for another version of libp2p.
    An exception of the body leaves as it is, in no group.
    """
    hardening.harden()
    places = [_listen_address(address, secret.public) for address in listen]
    counts: Counter[str] = Counter()
    ending = trio.Event()
    failure: Exception | None = None
    async with trio.open_nursery() as nursery:
        try:
            yield await nursery.start(_run, secret, places, limits or Limits(), counts, ending)
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
    """Runs a host until `ending`; shielded, for the library closes no connection once it is cancelled."""
    from libp2p.tools.anyio_service import background_trio_service

    host, pubsub, router = _build(secret, limits, counts)
    with trio.CancelScope(shield=True):
        async with (
            host.run(listen_addrs=places),
            background_trio_service(pubsub),
            background_trio_service(router),
            trio.open_nursery() as nursery,
        ):
            await pubsub.wait_until_ready()
            transport = Libp2pTransport(secret, host, pubsub, nursery, counts)
            if len(host.get_transport_addrs()) == len(places):
                task_status.started(transport)
                await ending.wait()
            nursery.cancel_scope.cancel()
            with trio.CancelScope(shield=True):
                await transport.disconnect_all()
    if not ending.is_set():
        raise CannotListen(f"This node cannot listen at {', '.join(map(str, places))}.")


def _build(secret: SecretKey, limits: Limits, counts: Counter[str]) -> tuple[Any, Any, Any]:
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

    from node.peering.libp2p.yamux import BoundedYamux

    keys = create_new_key_pair(secret.seed)
    noise = NoiseTransport(keys, noise_privkey=create_new_x25519_key_pair().private_key)
    quota: Any = Quota(limits, counts)
    host: Any = new_host(
        key_pair=keys,
        muxer_opt={TProtocol(YAMUX): BoundedYamux},
        sec_opt={NOISE: noise},
        resource_manager=quota,
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
        spam_protection_enabled=False,
        px_peers_count=0,
    )
    pubsub = Pubsub(host, router, strict_signing=True, max_inbound_rpc_size=_MAX_RPC)
    return host, pubsub, router


def _listen_address(address: str, own_key: bytes) -> Any:
    from multiaddr import Multiaddr

    plain = address.removesuffix(f"/p2p/{peer_id(own_key)}")
    try:
        place = Multiaddr(plain)
        names = [protocol.name for protocol in place.protocols()]
    except Exception as error:
        raise CannotListen(f"{address[:200]!r} is not an address to listen at.") from error
    if len(names) != 2 or names[0] not in ("ip4", "ip6") or names[1] != "tcp":
        raise CannotListen(f"{address[:200]!r} is not an address to listen at: /ip4/ADDRESS/tcp/PORT is.")
    return place


async def _resolved(place: Any) -> list[Any]:
    """A multiaddr with each IP address that its name has now; py-libp2p fails at those that begin with a name.

    Raises Unreachable when the name has none.
    """
    from multiaddr import Multiaddr

    kind, _, after = str(place)[1:].partition("/")
    name, _, rest = after.partition("/")
    if kind not in _NAMES:
        return [place]
    try:
        found = await trio.socket.getaddrinfo(name, None, _NAMES[kind], trio.socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise Unreachable(f"The name {name[:200]!r} leads to no address.") from error
    hosts = dict.fromkeys(str(address[0]) for *_, address in found)
    return [Multiaddr(f"/{'ip6' if ':' in host else 'ip4'}/{host}/{rest}") for host in hosts]


def _id_of(key: bytes) -> Any:
    from libp2p.peer.id import ID

    return ID.from_base58(peer_id(key))


def _key_of(peer: Any) -> bytes | None:
    """The Ed25519 key in a libp2p ID; None for one of another kind of key, which is no peer of this network."""
    return id_key(peer.to_bytes())
