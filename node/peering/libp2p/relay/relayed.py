"""A node's own use of relays: reservations that it holds, circuits that it opens, and those that it takes.

Spec: docs/spec/swarm.md ("Relay"), the stop protocol of libp2p's circuit relay v2. The ends prove their keys to each
other by Noise inside the circuit, so a relay can break a connection but neither read it nor stand in for a peer. A
circuit is taken only from a relay at which this node has reserved.
"""

import logging
from collections import Counter
from collections.abc import Callable
from typing import Any, Final

import trio

from node.peering.addresses import CIRCUIT
from node.peering.libp2p.ids import id_of
from node.peering.libp2p.relay.circuit import (
    HOP,
    STOP,
    CircuitError,
    CircuitStream,
    Status,
    direct_connection,
    drop,
    is_relayed,
    read_message,
    remote_key,
    write_message,
)
from node.peering.transport import (
    RESERVED_S,
    TransportError,
    Unreachable,
    address_key,
    id_key,
    peer_id,
    short,
)

log = logging.getLogger("gonode.net")

MAX_TAKEN: Final = 32
"""The circuits that this node takes at a time."""

MAX_RELAY_ADDRESSES: Final = 2
"""The addresses of one relay that are told."""

_MAX_ADDRESS: Final = 120


class Relayed:
    """Reservations and circuits of the node `key`; `dialed` says at which address it dialed a peer."""

    def __init__(self, key: bytes, dialed: Callable[[bytes], str | None], faults: Counter[str]) -> None:
        self._key = key
        self._dialed = dialed
        self._faults = faults
        self.host: Any = None
        self._reserved: dict[bytes, tuple[Any, float, tuple[str, ...]]] = {}
        self._taken = 0

    def attach(self, host: Any) -> None:
        """Goes on with a host that has just begun, without reservations."""
        self.host = host
        self._reserved.clear()
        host.set_stream_handler(STOP, self._serve)

    def addresses(self) -> list[str]:
        """The circuit addresses at which this node can be reached now, without its own `/p2p/<id>`."""
        return [f"{address}{CIRCUIT}" for told in self.relays().values() for address in told]

    def relays(self) -> dict[bytes, tuple[str, ...]]:
        """The peers that relay for this node now, and where they can be dialed."""
        now = trio.current_time()
        for relay, (connection, until, _) in list(self._reserved.items()):
            if connection.is_closed or until < now:
                del self._reserved[relay]
        return {relay: told for relay, (_, _, told) in self._reserved.items()}

    async def reserve(self, relay: bytes) -> None:
        """Asks a peer to relay, or to go on; raises Unreachable when it does not."""
        from libp2p.relay.circuit_v2.pb.circuit_pb2 import HopMessage

        stream, connection = await self._open_hop(relay)
        try:
            await write_message(stream, HopMessage(type=HopMessage.RESERVE))
            answer: Any = await read_message(stream, HopMessage)
        except CircuitError as error:
            raise Unreachable(f"Peer {short(relay)} does not relay: {error}.") from error
        finally:
            await drop(stream)
        _require_ok(answer, relay)
        told = self._relay_addresses(relay, answer.reservation.addrs)
        if not told:
            raise Unreachable(f"Peer {short(relay)} relays, but tells no address at which it can be dialed.")
        self._reserved[relay] = connection, trio.current_time() + RESERVED_S, told

    async def connect(self, relay: bytes, peer: bytes, address: str) -> None:
        """Opens a circuit through a connected relay to `peer`; raises Unreachable, for another identity too."""
        from libp2p.connection_types import ConnectionType
        from libp2p.network.connection.raw_connection import RawConnection
        from libp2p.relay.circuit_v2.pb.circuit_pb2 import HopMessage, PeerId
        from multiaddr import Multiaddr  # type: ignore[import-untyped]

        stream, _ = await self._open_hop(relay)
        target = id_of(peer)
        is_open = False
        try:
            await write_message(stream, HopMessage(type=HopMessage.CONNECT, peer=PeerId(id=target.to_bytes())))
            _require_ok(await read_message(stream, HopMessage), relay)
            raw = RawConnection(CircuitStream(stream), True, ConnectionType.RELAYED, [Multiaddr(address)])
            await self.host.get_network().upgrade_outbound_raw_conn(raw, target)
            is_open = True
        except TransportError:
            raise
        except Exception as error:
            raise Unreachable(f"No peer {short(peer)} could be reached through {short(relay)}.") from error
        finally:
            if not is_open:
                await drop(stream)

    async def _open_hop(self, relay: bytes) -> tuple[Any, Any]:
        connection = direct_connection(self.host, id_of(relay))
        if connection is None:
            raise Unreachable(f"Peer {short(relay)} is not connected directly, so it cannot relay.")
        try:
            return await self.host.new_stream(id_of(relay), [HOP]), connection
        except Exception as error:
            raise Unreachable(f"Peer {short(relay)} does not relay.") from error

    def _relay_addresses(self, relay: bytes, told: Any) -> tuple[str, ...]:
        """Where a relay can be dialed: as this node dialed it, then as it says itself."""
        from multiaddr import Multiaddr

        found = [self._dialed(relay)]
        for data in list(told)[:16]:
            try:
                found.append(str(Multiaddr(bytes(data))))
            except Exception as error:
                log.debug("%s told an address that is none: %r", short(relay), error)
        usable = [address for address in found if address is not None and _is_plain(address, relay)]
        return tuple(dict.fromkeys(usable))[:MAX_RELAY_ADDRESSES]

    async def _serve(self, stream: Any) -> None:
        """Takes a circuit that a relay offers, and keeps it while it lasts."""
        from libp2p.relay.circuit_v2.pb.circuit_pb2 import StopMessage

        self._taken += 1
        try:
            request: Any = await read_message(stream, StopMessage)
            source = id_key(request.peer.id)
            if not request.HasField("type") or request.type != StopMessage.CONNECT or source is None:
                await _answer(stream, Status.MALFORMED_MESSAGE)
            elif is_relayed(stream) or remote_key(stream) not in self._reserved:
                await _answer(stream, Status.PERMISSION_DENIED)
            elif self._taken > MAX_TAKEN:
                self._faults["circuit refused"] += 1
                await _answer(stream, Status.RESOURCE_LIMIT_EXCEEDED)
            else:
                await _answer(stream, Status.OK)
                await self._take(stream, source)
        except CircuitError as error:
            self._faults["relay message"] += 1
            log.debug("no circuit from %s: %s", short(remote_key(stream) or b""), error)
        finally:
            self._taken -= 1
            await drop(stream)

    async def _take(self, stream: Any, source: bytes) -> None:
        from libp2p.connection_types import ConnectionType
        from libp2p.network.connection.raw_connection import RawConnection
        from multiaddr import Multiaddr

        place = Multiaddr(f"/p2p/{stream.muxed_conn.peer_id}{CIRCUIT}/p2p/{peer_id(source)}")
        raw = RawConnection(CircuitStream(stream), False, ConnectionType.RELAYED, [place])
        try:
            muxed = await self.host.get_network().upgrade_inbound_raw_conn(raw, place)
        except Exception as error:
            log.debug("a circuit brought no connection: %r", error)
            return
        try:
            if id_key(muxed.peer_id.to_bytes()) != source:
                self._faults["relay lied"] += 1
                return
            await muxed.event_closed.wait()
        finally:
            with trio.move_on_after(1, shield=True):
                await muxed.close()


def _require_ok(answer: Any, relay: bytes) -> None:
    from libp2p.relay.circuit_v2.pb.circuit_pb2 import HopMessage

    if answer.type != HopMessage.STATUS or answer.status != Status.OK:
        known = (
            Status(answer.status).name.lower().replace("_", " ") if answer.status in set(Status) else "nothing known"
        )
        raise Unreachable(f"Peer {short(relay)} does not relay: it says {known}.")


async def _answer(stream: Any, status: Status) -> None:
    from libp2p.relay.circuit_v2.pb.circuit_pb2 import StopMessage

    code: Any = int(status)
    await write_message(stream, StopMessage(type=StopMessage.STATUS, status=code))
    if status != Status.OK:
        await stream.close_write()


def _is_plain(address: str, relay: bytes) -> bool:
    """Whether an address is the relay's own, in no circuit and of sane length."""
    try:
        return len(address) <= _MAX_ADDRESS and CIRCUIT not in address and address_key(address) == relay
    except TransportError:
        return False
