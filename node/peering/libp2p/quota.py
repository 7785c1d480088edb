"""How much one peer or one address may take of this node: connections and streams.

Spec: docs/spec/swarm.md ("Hardening"). py-libp2p asks a "resource manager" before it accepts a connection or a stream;
this is one, with the few methods it calls. Left alone, it took 2,505 idle streams and 235 identities from one address.
"""

from collections import Counter
from dataclasses import dataclass
from types import SimpleNamespace

from node.peering.libp2p.places import network_of


@dataclass(frozen=True, slots=True)
class Limits:
    """The most streams of one peer, inbound connections of one address (IPv6: of one /64), and connections."""

    streams_per_peer: int = 64
    connections_per_address: int = 32
    connections: int = 256


@dataclass(frozen=True, slots=True)
class RelayLimits:
    """The most that a relay gives: to a peer or an address, and in all.

    A circuit's bytes count in both directions; `bytes_s` is the flow of all circuits together.
    """

    reservations: int = 128
    reservations_per_address: int = 8
    circuits: int = 64
    circuits_to_peer: int = 16
    circuits_from_peer: int = 4
    circuit_bytes: int = 256 << 20
    circuit_s: int = 1800
    bytes_s: int = 8 << 20


class Admission:
    """A place taken by one connection, given back by `close`."""

    def __init__(self, quota: "Quota", address: str | None) -> None:
        self._quota = quota
        self._address = address
        self._open = True

    def close(self) -> None:
        """Gives the place back, once."""
        if self._open:
            self._open = False
            self._quota.leave(self._address)


class Quota:
    """Counts what is taken and refuses what is over `limits`; counts refusals in `faults`."""

    graceful_degradation = None
    connection_lifecycle = None

    def __init__(self, limits: Limits, faults: Counter[str]) -> None:
        self.limits = SimpleNamespace(max_streams=2**31, max_connections=limits.connections)
        self._limits = limits
        self._faults = faults
        self._streams: Counter[str] = Counter()
        self._addresses: Counter[str] = Counter()

    def open_connection(
        self, peer_id: object = None, endpoint_ip: str | None = None, direction: str = ""
    ) -> Admission | None:
        """A place for a connection, or None when its address has all it may have."""
        address = network_of(endpoint_ip) if endpoint_ip and direction == "inbound" else None
        if address is not None:
            if self._addresses[address] >= self._limits.connections_per_address:
                self._faults["connection refused"] += 1
                return None
            self._addresses[address] += 1
        return Admission(self, address)

    def leave(self, address: str | None) -> None:
        """Takes back a place."""
        if address is not None:
            _decrement(self._addresses, address)

    def acquire_stream(self, peer_id: str, direction: object) -> bool:
        """Whether `peer_id` may have one more stream, which then counts."""
        if self._streams[peer_id] >= self._limits.streams_per_peer:
            self._faults["stream refused"] += 1
            return False
        self._streams[peer_id] += 1
        return True

    def release_stream(self, peer_id: str, direction: object) -> None:
        """Takes back a stream."""
        _decrement(self._streams, peer_id)


def _decrement(counts: Counter[str], name: str) -> None:
    counts[name] -= 1
    if counts[name] <= 0:
        del counts[name]
