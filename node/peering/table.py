"""Which peers a node knows, at which addresses, and how these fared.

Spec: docs/spec/swarm.md ("Links"). Kept on disk; the wall clock is only written down, waits are on trio's clock. One
address of a peer is tried at a time, the direct one first; a failed one waits longer each time. What strangers say of
third parties never pushes out an address at which somebody was.
"""

import ipaddress
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from random import Random
from typing import Final

import trio

from node.disk.store import PeerRecord, Store
from node.peering.addresses import detour, is_relayed
from node.peering.transport import TransportError, address_key

MAX_KNOWN: Final = 1000
MAX_OWN: Final = 8
"""The most addresses of one peer."""

MAX_OF_HOST: Final = 64
"""The most addresses of one host (IPv6: of a /64): peers behind one NAT, or a lie about a third party."""

MAX_ADDRESS: Final = 256
_MOST_SCORE: Final = 20
_GIVE_UP: Final = 12
_TOLD_OF_ONE: Final = 2
_SEEN_AGAIN_S: Final = 600
_PLACE_REMEMBERED_S: Final = 600

Usable = Callable[[bytes], bool]
"""Whether a peer comes into question."""


class PeerTable:
    """Addresses of peers, kept in `store`; `now_unix_s` is the wall clock, `rng` draws waits and who is tried or told."""

    def __init__(self, store: Store, own_key: bytes, now_unix_s: Callable[[], float], rng: Random) -> None:
        self.rng = rng
        self._store = store
        self._own_key = own_key
        self._now_unix_s = now_unix_s
        self._known = {peer.address: peer for peer in store.peers()}
        self._of_peer = Counter(peer.key for peer in self._known.values())
        self._of_host = Counter(_host(address) for address in self._known)
        self._not_before: dict[str, float] = {}
        self._places: dict[str, tuple[int, float]] = {}
        self._early: Counter[str] = Counter()
        self._fixed: set[str] = set()
        self._fixed_keys: set[bytes] = set()

    # ---- what is known

    def learn(self, addresses: Iterable[str], fixed: bool = False, seen: bool = False) -> None:
        """Adds addresses to try; unusable ones are passed over.

        `fixed` ones (a ticket's) are never forgotten; `seen` ones are by the peer itself, which is connected now.
        """
        now = int(self._now_unix_s())
        changed: list[PeerRecord] = []
        for address in dict.fromkeys(addresses):
            known = self._known.get(address) or self._read(address)
            if known is None:
                continue
            if fixed:
                self._fixed.add(address)
                self._fixed_keys.add(known.key)
            if seen and abs(now - known.last_seen_unix_s) >= _SEEN_AGAIN_S:
                known = replace(known, last_seen_unix_s=now)
            if known != self._known.get(address):
                changed.append(known)
        if changed:
            with self._store.transaction():
                for peer in changed:
                    if peer.address in self._known or peer.address in self._fixed or self._makes_room(peer, seen):
                        self._keep(peer)

    def addresses_of(self, key: bytes) -> list[str]:
        """The known addresses of a peer, the best first."""
        known = [peer for peer in self._known.values() if peer.key == key]
        return [peer.address for peer in sorted(known, key=_preference)]

    def has(self, address: str) -> bool:
        """Whether an address is known, which one that cannot be dialed never is."""
        return address in self._known

    def is_fixed(self, key: bytes) -> bool:
        """Whether a peer is one that the ticket names."""
        return key in self._fixed_keys

    def score(self, key: bytes) -> int:
        """How a peer's best address fared."""
        return max((peer.score - peer.failures for peer in self._known.values() if peer.key == key), default=0)

    def sample(self, most: int, usable: Usable, first: Collection[bytes] = ()) -> list[str]:
        """Up to `most` addresses of a random choice of peers that were seen and did not fail since.

        `first` ones come first, then those that this node reached itself.
        """
        ways: dict[bytes, list[PeerRecord]] = {}
        for peer in self._known.values():
            if peer.last_seen_unix_s and not peer.failures and usable(peer.key):
                ways.setdefault(peer.key, []).append(peer)
        keys = list(ways)
        self.rng.shuffle(keys)
        keys.sort(key=lambda key: (key not in first, not any(peer.score for peer in ways[key])))
        told = (sorted(ways[key], key=_preference)[:_TOLD_OF_ONE] for key in keys)
        return [peer.address for peers in told for peer in peers][:most]

    # ---- whom to dial

    def next(self, usable: Usable, fixed: bool = False, preferred: Collection[bytes] = ()) -> str | None:
        """The address to dial now: of a `preferred` peer, then of the one that fared best, by lot among equals.

        With `fixed` only peers that the ticket names come into question, without only others. None if nobody does.
        """
        ways = self._ways(lambda key: self.is_fixed(key) == fixed and usable(key))
        return (
            max(
                ways.values(),
                key=lambda peer: (peer.key in preferred, peer.score - peer.failures, self.rng.random()),
                default=_NOBODY,
            ).address
            or None
        )

    def stray(self, usable: Usable) -> str | None:
        """The address of any peer, each as likely as another, to dial now; None if nobody comes into question."""
        ways = list(self._ways(usable).values())
        return self.rng.choice(ways).address if ways else None

    def _ways(self, usable: Usable) -> Mapping[bytes, PeerRecord]:
        """Of each usable peer the address to try first, among those whose wait is over."""
        now = trio.current_time()
        ways: dict[bytes, PeerRecord] = {}
        for peer in self._known.values():
            if self._may_be_dialed(peer, now) and usable(peer.key):
                other = ways.get(peer.key)
                if other is None or _preference(peer) < _preference(other):
                    ways[peer.key] = peer
        return ways

    def _may_be_dialed(self, peer: PeerRecord, now: float) -> bool:
        """Whether the wait of an address, and of a place where nobody was reached, is over."""
        if self._not_before.get(peer.address, now) > now:
            return False
        is_trusted = peer.score > 0 or peer.address in self._fixed
        return is_trusted or self._places.get(_place(peer.address), (0, now))[1] <= now

    # ---- how it went

    def worked(self, address: str) -> None:
        """Notes that a dial brought a connection."""
        peer = self._known.get(address)
        if peer is not None:
            self._not_before.pop(address, None)
            self._places.pop(_place(address), None)
            seen = int(self._now_unix_s())
            self._keep(PeerRecord(address, peer.key, seen, min(peer.score + 1, _MOST_SCORE), 0))

    def failed(self, address: str) -> None:
        """Notes that a dial failed: the next one waits 1 to 60 s, with jitter; in the end the address is forgotten."""
        peer = self._known.get(address)
        if peer is None:
            return
        failures = peer.failures + 1
        now = trio.current_time()
        self._not_before[address] = now + backoff_s(failures, self.rng)
        self._fail_place(_place(address), now)
        if failures >= _GIVE_UP and address not in self._fixed:
            self._forget(peer)
        else:
            score = max(peer.score - 1, 0)
            self._keep(PeerRecord(address, peer.key, peer.last_seen_unix_s, score, min(failures, _GIVE_UP)))

    def _fail_place(self, place: str, now: float) -> None:
        """Has strangers' other addresses of a place wait too, whomever they name."""
        lately = now - _PLACE_REMEMBERED_S
        self._places = {each: (failures, until) for each, (failures, until) in self._places.items() if until > lately}
        failures = self._places.get(place, (0, now))[0] + 1
        self._places[place] = failures, now + backoff_s(failures, self.rng)

    def lost_early(self, address: str) -> None:
        """Notes that the other side soon ended a connection: the next dial waits as after so many failed ones."""
        if address in self._known:
            self._early[address] += 1
            self._not_before[address] = trio.current_time() + backoff_s(self._early[address], self.rng)

    def held(self, address: str) -> None:
        """Notes that a connection lasted."""
        self._early.pop(address, None)

    # ---- keeping

    def _read(self, address: str) -> PeerRecord | None:
        """A new address; None if nobody can be dialed there."""
        try:
            key = address_key(address)
        except TransportError:
            return None
        usable = key != self._own_key and len(address) <= MAX_ADDRESS and address.isprintable()
        return PeerRecord(address, key) if usable else None

    def _makes_room(self, new: PeerRecord, seen: bool) -> bool:
        """Whether one more address may be kept, after dropping a worse one where the table, or its share of it, is full."""
        if self._of_peer[new.key] >= MAX_OWN:
            return False
        host = _host(new.address)
        is_host_full = bool(host) and self._of_host[host] >= MAX_OF_HOST
        if len(self._known) < MAX_KNOWN and not is_host_full:
            return True
        worse = [
            peer
            for peer in self._known.values()
            if peer.address not in self._fixed
            and (peer.failures or (seen and not peer.score))
            and (not is_host_full or _host(peer.address) == host)
        ]
        if not worse:
            return False
        self._forget(max(worse, key=lambda peer: (not peer.last_seen_unix_s, peer.failures, self.rng.random())))
        return True

    def _keep(self, peer: PeerRecord) -> None:
        if peer.address not in self._known:
            self._of_peer[peer.key] += 1
            self._of_host[_host(peer.address)] += 1
        self._known[peer.address] = peer
        self._store.put_peer(peer)

    def _forget(self, peer: PeerRecord) -> None:
        del self._known[peer.address]
        self._not_before.pop(peer.address, None)
        self._early.pop(peer.address, None)
        self._of_host[_host(peer.address)] -= 1
        if not self._of_host[_host(peer.address)]:
            del self._of_host[_host(peer.address)]
        self._of_peer[peer.key] -= 1
        if not self._of_peer[peer.key]:
            del self._of_peer[peer.key]
        self._store.drop_peer(peer.address)


def backoff_s(failures: int, rng: Random) -> float:
    """The wait after so many failures in a row: 1 s doubled each time, up to 60 s, times 0.5 to 1.5."""
    return min(2.0 ** min(failures - 1, 6), 60.0) * (0.5 + rng.random())


def _place(address: str) -> str:
    """The host and port that an address leads to; ways through relays, which fail for other reasons too, stand alone."""
    return address.partition("/p2p/")[0] if _host(address) and not is_relayed(address) else address


@lru_cache(4 * MAX_KNOWN)
def _host(address: str) -> str:
    """The host of an address, IPv6 as its /64; nothing for this machine itself and for what is no IP address or name."""
    kind, _, rest = address[1:].partition("/")
    host = rest.partition("/")[0]
    if kind in ("dns", "dns4", "dns6"):
        return host.lower()
    if kind not in ("ip4", "ip6"):
        return ""
    try:
        parsed = ipaddress.ip_address(host)
    except ValueError:
        return ""
    if parsed.is_loopback:
        return ""
    return str(ipaddress.ip_network((parsed, 64), strict=False)) if parsed.version == 6 else str(parsed)


def _preference(peer: PeerRecord) -> tuple[int, int, int, str]:
    """The order in which the addresses of one peer are tried, smallest first."""
    return peer.failures, detour(peer.address), -peer.score, peer.address


_NOBODY: Final = PeerRecord("", b"")
