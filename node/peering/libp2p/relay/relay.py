"""Relays for peers that cannot be dialed: reservations, and circuits between two peers, all within limits.

Spec: docs/spec/swarm.md ("Relay"), the hop protocol of libp2p's circuit relay v2. A reservation is of the peer that asks,
over a direct connection, and ends with that connection. A circuit leads to a peer with a reservation only, carries bytes
that this node cannot read (Noise between the ends), and ends at its share of bytes or time, whereupon the ends dial again
and go on where they were. No task runs while nobody asks and nothing flows.
"""

import logging
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Final

import trio

from node.peering.libp2p.quota import RelayLimits
from node.peering.libp2p.relay.circuit import (
    HOP,
    MESSAGE_S,
    STOP,
    CircuitError,
    Status,
    direct_connection,
    drop,
    is_relayed,
    read_bytes,
    read_message,
    remote_key,
    write_message,
)
from node.peering.libp2p.scope import network_of
from node.peering.transport import RESERVED_S, id_key, short

log = logging.getLogger("gonode.net")

OPEN_STOP_S: Final = MESSAGE_S
"""The time in which the far end takes a circuit."""

_PART_BYTES: Final = 64 << 10
_BURST_S: Final = 0.25
_GOODBYE_S: Final = 2.0


class Relay:
    """Serves the hop protocol of `host`; `addresses` are this node's own, `unix_s` is only written into answers."""

    def __init__(
        self,
        host: Any,
        limits: RelayLimits,
        addresses: Sequence[str],
        faults: Counter[str],
        unix_s: Callable[[], float] = time.time,
    ) -> None:
        self._host = host
        self._limits = limits
        self._addresses = addresses
        self._faults = faults
        self._unix_s = unix_s
        self._reserved: dict[bytes, tuple[Any, float]] = {}
        self._circuits_to: Counter[bytes] = Counter()
        self._circuits_from: Counter[bytes] = Counter()
        self._free_at = 0.0
        host.set_stream_handler(HOP, self._serve)

    @property
    def reserved(self) -> frozenset[bytes]:
        """The peers whose reservations hold now."""
        self._forget_old()
        return frozenset(self._reserved)

    @property
    def circuits(self) -> int:
        """The circuits that are open now."""
        return self._circuits_to.total()

    async def _serve(self, stream: Any) -> None:
        from libp2p.relay.circuit_v2.pb.circuit_pb2 import HopMessage

        source = remote_key(stream)
        try:
            if source is None or is_relayed(stream):
                await self._answer(stream, Status.PERMISSION_DENIED)
                return
            try:
                message: Any = await read_message(stream, HopMessage)
            except CircuitError:
                self._faults["relay message"] += 1
                await self._answer(stream, Status.MALFORMED_MESSAGE)
                return
            if message.HasField("type") and message.type == HopMessage.RESERVE:
                await self._reserve(stream, source)
            elif message.type == HopMessage.CONNECT:
                await self._connect(stream, source, message.peer.id)
            else:
                await self._answer(stream, Status.UNEXPECTED_MESSAGE)
        except CircuitError as error:
            log.debug("%s: %s", short(source or b""), error)
        finally:
            await drop(stream)

    async def _reserve(self, stream: Any, peer: bytes) -> None:
        from libp2p.relay.circuit_v2.pb.circuit_pb2 import Reservation
        from multiaddr import Multiaddr  # type: ignore[import-untyped]

        connection = direct_connection(self._host, stream.muxed_conn.peer_id)
        self._forget_old()
        if connection is None or not self._has_place(peer, connection):
            self._faults["reservation refused"] += 1
            await self._answer(stream, Status.RESERVATION_REFUSED)
            return
        self._reserved[peer] = connection, trio.current_time() + RESERVED_S
        reservation = Reservation(
            expire=int(self._unix_s() + RESERVED_S),
            addrs=[Multiaddr(address).to_bytes() for address in self._addresses],
        )
        await self._answer(stream, Status.OK, reservation=reservation, limit=self._limit())

    def _has_place(self, peer: bytes, connection: Any) -> bool:
        if peer in self._reserved:
            return True
        address = _address_of(connection)
        near = sum(_address_of(held) == address for held, _ in self._reserved.values())
        return len(self._reserved) < self._limits.reservations and near < self._limits.reservations_per_address

    def _forget_old(self) -> None:
        now = trio.current_time()
        for peer, (connection, until) in list(self._reserved.items()):
            if connection.is_closed or until < now:
                del self._reserved[peer]

    async def _connect(self, stream: Any, source: bytes, target_id: bytes) -> None:
        """Opens a circuit from `source` to the peer with this id and carries its bytes until it ends."""
        from libp2p.peer.id import ID

        target = id_key(target_id)
        self._forget_old()
        if target is None or target == source or target not in self._reserved:
            await self._answer(stream, Status.NO_RESERVATION)
            return
        limits = self._limits
        if (
            self.circuits >= limits.circuits
            or self._circuits_to[target] >= limits.circuits_to_peer
            or self._circuits_from[source] >= limits.circuits_from_peer
        ):
            self._faults["circuit refused"] += 1
            await self._answer(stream, Status.RESOURCE_LIMIT_EXCEEDED)
            return
        self._circuits_to[target] += 1
        self._circuits_from[source] += 1
        try:
            far = await self._open_stop(ID(target_id), stream.muxed_conn.peer_id)
            if far is not None:
                try:
                    await self._answer(stream, Status.OK, limit=self._limit())
                    await self._carry(stream, far)
                finally:
                    await drop(far)
        finally:
            _decrement(self._circuits_to, target)
            _decrement(self._circuits_from, source)
        if far is None:
            await self._answer(stream, Status.CONNECTION_FAILED)

    async def _open_stop(self, target: Any, source: Any) -> Any:
        """A stream on which the target took the circuit; None when it did not."""
        from libp2p.relay.circuit_v2.pb.circuit_pb2 import PeerId, StopMessage

        far = None
        try:
            with trio.fail_after(OPEN_STOP_S):
                far = await self._host.new_stream(target, [STOP])
                request = StopMessage(type=StopMessage.CONNECT, peer=PeerId(id=source.to_bytes()), limit=self._limit())
                await write_message(far, request)
                answer: Any = await read_message(far, StopMessage)
                if answer.type == StopMessage.STATUS and answer.status == Status.OK:
                    taken, far = far, None
                    return taken
        except Exception as error:
            log.debug("no circuit to %s: %r", target, error)
        finally:
            if far is not None:
                await drop(far)
        return None

    async def _carry(self, source: Any, target: Any) -> None:
        """Carries bytes both ways until both ends have ended theirs, one fails, or the circuit has had its share."""
        for stream in (source, target):
            stream.muxed_stream.grows = False
        left = [self._limits.circuit_bytes]

        async def pass_on(one: Any, other: Any) -> None:
            try:
                while data := await read_bytes(one, _PART_BYTES):
                    left[0] -= len(data)
                    if left[0] < 0:
                        break
                    await self._pace(len(data))
                    await other.write(data)
                else:
                    await other.close_write()
                    return
            except Exception as error:
                log.debug("a circuit ends: %r", error)
            nursery.cancel_scope.cancel()

        with trio.move_on_after(self._limits.circuit_s):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(pass_on, source, target)
                nursery.start_soon(pass_on, target, source)

    async def _pace(self, size: int) -> None:
        """Waits for room in the flow of all circuits together."""
        now = trio.current_time()
        self._free_at = max(self._free_at, now) + size / self._limits.bytes_s
        if self._free_at - now > _BURST_S:
            await trio.sleep_until(self._free_at - _BURST_S)

    def _limit(self) -> Any:
        from libp2p.relay.circuit_v2.pb.circuit_pb2 import Limit

        return Limit(duration=self._limits.circuit_s, data=self._limits.circuit_bytes)

    async def _answer(self, stream: Any, status: Status, **fields: Any) -> None:
        """Sends a status, and for one that refuses waits until the asker has ended the stream, or a moment."""
        from libp2p.relay.circuit_v2.pb.circuit_pb2 import HopMessage

        code: Any = int(status)
        await write_message(stream, HopMessage(type=HopMessage.STATUS, status=code, **fields))
        if status != Status.OK or "reservation" in fields:
            await stream.close_write()
            with trio.move_on_after(_GOODBYE_S):
                await read_bytes(stream, 1)


def _address_of(connection: Any) -> str:
    """What counts as one address."""
    remote = connection.muxed_conn.get_remote_address()
    return "" if remote is None else network_of(remote[0])


def _decrement(counts: Counter[bytes], key: bytes) -> None:
    counts[key] -= 1
    if counts[key] <= 0:
        del counts[key]
