"""How much one peer or one address may take of this node: connections, streams and publications.

Spec: docs/spec/swarm.md ("Hardening"). py-libp2p asks a "resource manager" before it accepts a connection or a stream;
this is one, with the few methods it calls. Left alone, it took 2,505 idle streams and 235 identities from one address. It
also says who is refused altogether, and tells what peers overran.
"""

from collections import Counter
from contextvars import ContextVar
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, Final

import trio

from node.peering.libp2p.scope import network_of
from node.peering.pace import Pace
from node.peering.transport import MAX_CONNECTIONS, Complain, Misdeed, Refuse, id_key, peer_key


@dataclass(frozen=True, slots=True)
class Limits:
    """The most streams of one peer, inbound connections of one address (IPv6: of one /64), and connections.

    Then, a second and at once: streams that one peer opens, connections that one address opens, publications that one peer
    passes on and that one publisher makes, bytes of gossip of one peer. `handshakes` may be under way.
    """

    streams_per_peer: int = 64
    connections_per_address: int = 32
    connections: int = MAX_CONNECTIONS
    streams_opened: tuple[float, float] = (100, 400)
    connections_opened: tuple[float, float] = (5, 64)
    publications_passed: tuple[float, float] = (100, 400)
    publications_made: tuple[float, float] = (10, 60)
    gossip_bytes: tuple[float, float] = (512 << 10, 2 << 20)
    handshakes: int = 64


@dataclass(frozen=True, slots=True)
class RelayLimits:
    """The most that a relay gives: to a peer or an address, and in all.

    A circuit's bytes count in both directions; `bytes_s` is the flow of all circuits together.
    """

    reservations: int = 64
    reservations_per_address: int = 8
    circuits: int = 64
    circuits_to_peer: int = 16
    circuits_from_peer: int = 4
    circuit_bytes: int = 256 << 20
    circuit_s: int = 1800
    bytes_s: int = 8 << 20


handshake: Final[ContextVar[trio.CancelScope | None]] = ContextVar("handshake", default=None)
"""The scope in which the current task shakes hands with who connected; cancelling it ends that."""


class Admission:
    """A place taken by one connection, given back by `close`; `peer` is None for one of another kind of key."""

    def __init__(self, quota: "Quota", address: str | None, peer: bytes | None) -> None:
        self.address = address
        self._quota = quota
        self._peer = peer
        self._open = True
        self._handshake = handshake.get()

    def overrun(self) -> None:
        """Tells that the peer sent more than its window."""
        if self._peer is not None:
            self._quota.complain(self._peer, Misdeed.OVERRUN)

    def abandon(self) -> None:
        """Ends the handshake for which this place is."""
        self.close()
        if self._handshake is not None:
            self._handshake.cancel()

    def close(self) -> None:
        """Gives the place back, once."""
        if self._open:
            self._open = False
            self._quota.leave(self)


class Quota:
    """Counts what is taken and refuses what is over `limits`, and peers that `refuse` names; counts refusals in `faults`.

    `complain` is told of peers that ask for too much.
    """

    graceful_degradation = None
    connection_lifecycle = None

    def __init__(self, limits: Limits, faults: Counter[str], refuse: Refuse, complain: Complain) -> None:
        self.limits = SimpleNamespace(max_streams=2**31, max_connections=limits.connections)
        self._limits = limits
        self._faults = faults
        self._streams: Counter[str] = Counter()
        self._addresses: Counter[str] = Counter()
        self._handshakes: dict[Admission, None] = {}
        self._refuse = refuse
        self.complain = complain
        self._streams_opened = Pace(*limits.streams_opened)
        self._connections_opened = Pace(*limits.connections_opened)
        self._publications_passed = Pace(*limits.publications_passed)
        self._publications_made = Pace(*limits.publications_made)
        self._gossip_bytes = Pace(*limits.gossip_bytes)

    def open_connection(
        self, peer_id: Any = None, endpoint_ip: str | None = None, direction: str = ""
    ) -> Admission | None:
        """A place for a connection, or None when its address has all it may have, or its peer is refused.

        An inbound connection asks twice: before the handshake, without a peer, and after it, when it has its first place
        still, so that the quotas of its address count the first time.
        """
        address = network_of(endpoint_ip) if endpoint_ip and direction == "inbound" else None
        peer = None if peer_id is None else id_key(peer_id.to_bytes())
        is_early = peer_id is None and direction == "inbound"
        if peer is not None and self._refuse(peer):
            self._faults["peer refused"] += 1
            return None
        if is_early and not self._admits(address):
            self._faults["connection refused"] += 1
            return None
        if address is not None:
            self._addresses[address] += 1
        admission = Admission(self, address, peer)
        if is_early:
            self._handshakes[admission] = None
        return admission

    def _admits(self, address: str | None) -> bool:
        """Whether a handshake may begin."""
        if address is not None and not (
            self._addresses[address] < self._limits.connections_per_address and self._connections_opened.take(address)
        ):
            return False
        return len(self._handshakes) < self._limits.handshakes or self._ends_handshake(address)

    def _ends_handshake(self, newcomer: str | None) -> bool:
        """Ends the oldest handshake of the address with most of them, if that has more than the newcomer's."""
        under_way = Counter(admission.address for admission in self._handshakes)
        most = max(under_way.values(), default=0)
        if most <= under_way[newcomer]:
            return False
        next(each for each in self._handshakes if under_way[each.address] == most).abandon()
        self._faults["handshake ended"] += 1
        return True

    def leave(self, admission: Admission) -> None:
        """Takes back a place."""
        self._handshakes.pop(admission, None)
        if admission.address is not None:
            _decrement(self._addresses, admission.address)

    def acquire_stream(self, peer_id: str, direction: object) -> bool:
        """Whether `peer_id` may have one more stream, which then counts."""
        is_theirs = getattr(direction, "name", "") == "INBOUND"
        if self._streams[peer_id] >= self._limits.streams_per_peer or (
            is_theirs and not self._streams_opened.take(peer_id)
        ):
            self._faults["stream refused"] += 1
            if is_theirs:
                self.complain(peer_key(peer_id), Misdeed.TOO_OFTEN)
            return False
        self._streams[peer_id] += 1
        return True

    def release_stream(self, peer_id: str, direction: object) -> None:
        """Takes back a stream."""
        _decrement(self._streams, peer_id)

    def passes_publication(self, forwarder: str) -> bool:
        """Whether one more publication that comes from `forwarder`, whoever made it, is looked at."""
        return self._counted(self._publications_passed.take(forwarder))

    def takes_publication(self, source: str) -> bool:
        """Whether one more publication made by `source` is taken and passed on."""
        return self._counted(self._publications_made.take(source))

    def gossip_wait_s(self, peer_id: str, size: int) -> float:
        """How long to read nothing more of a peer's gossip, of which `size` bytes were read now."""
        return self._gossip_bytes.of(peer_id).wait_s(size)

    def _counted(self, is_taken: bool) -> bool:
        self._faults["publication refused"] += not is_taken
        return is_taken


def _decrement(counts: Counter[str], name: str) -> None:
    counts[name] -= 1
    if counts[name] <= 0:
        del counts[name]
