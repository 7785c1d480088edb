"""Which peers a node knows and holds links to.

Spec: docs/spec/swarm.md ("Links"), docs/spec/wire.md ("Peers"). `PeerTable` remembers addresses with how they fared;
`Links` holds up to four connections, dials one address at a time, waits longer after each failure, asks linked peers for
addresses now and then (`/gonode/peers/1`), and drops a link that twice does not answer: a stopped peer never fails by
itself.
"""

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from random import Random
from typing import Final

import trio

from node.disk.store import PeerRecord, Store
from node.peering.call import CallRefused, call, serve_calls
from node.peering.transport import Transport, TransportError, address_key, peer_id, short
from protocol import codec
from protocol.errors import ParseError, ProtocolError

log = logging.getLogger("gonode.net")

PEERS_PROTOCOL: Final = "/gonode/peers/1"
LINKS: Final = 4
MAX_KNOWN: Final = 1000
MAX_TOLD: Final = 32
MAX_OWN: Final = 8
MAX_ADDRESS: Final = 256
ASK_S: Final = 30.0
_ANSWER_S: Final = 10.0
_MOST_SCORE: Final = 20
_GIVE_UP: Final = 12
_MESSAGE_BYTES: Final = 16 << 10


class PeerTable:
    """Addresses of peers, kept in `store`; `now_unix_s` is the wall clock, for what is written down only."""

    def __init__(self, store: Store, own_key: bytes, now_unix_s: Callable[[], float], rng: Random) -> None:
        self._store = store
        self._own_key = own_key
        self._now_unix_s = now_unix_s
        self._rng = rng
        self._known = {peer.address: peer for peer in store.peers()}
        self._not_before: dict[str, float] = {}
        self._fixed: set[str] = set()

    def learn(self, addresses: Iterable[str], fixed: bool = False, seen: bool = False) -> None:
        """Adds addresses to try; unusable ones are passed over.

        `fixed` ones (a ticket's) are never forgotten; `seen` ones are by the peer itself, which is connected now.
        """
        for address in addresses:
            try:
                key = address_key(address)
            except TransportError:
                continue
            if key == self._own_key or len(address) > MAX_ADDRESS or not address.isprintable():
                continue
            if fixed:
                self._fixed.add(address)
            elif address not in self._known and len(self._known) >= MAX_KNOWN:
                continue
            known = self._known.get(address, PeerRecord(address, key))
            if seen:
                known = replace(known, last_seen_unix_s=int(self._now_unix_s()))
            if known != self._known.get(address):
                self._keep(known)

    def next(self, connected: Iterable[bytes], fixed: bool = False) -> str | None:
        """The address to dial now: of a peer not connected, whose wait is over, the best one; None if there is none.

        With `fixed` only addresses that were learned as fixed come into question.
        """
        present = set(connected)
        now = trio.current_time()
        free = [
            peer
            for peer in self._known.values()
            if peer.key not in present
            and self._not_before.get(peer.address, now) <= now
            and (peer.address in self._fixed or not fixed)
        ]
        best = max(
            free, key=lambda peer: (peer.score - peer.failures, peer.last_seen_unix_s, peer.address), default=None
        )
        return None if best is None else best.address

    def worked(self, address: str) -> None:
        """Notes that a dial brought a connection."""
        peer = self._known.get(address)
        if peer is not None:
            self._not_before.pop(address, None)
            seen = int(self._now_unix_s())
            self._keep(PeerRecord(address, peer.key, seen, min(peer.score + 1, _MOST_SCORE), 0))

    def failed(self, address: str) -> None:
        """Notes that a dial failed: the next one waits 1 to 60 s, with jitter; in the end the address is forgotten."""
        peer = self._known.get(address)
        if peer is None:
            return
        failures = peer.failures + 1
        self._not_before[address] = trio.current_time() + backoff_s(failures, self._rng)
        if failures >= _GIVE_UP and address not in self._fixed:
            del self._known[address]
            del self._not_before[address]
            self._store.drop_peer(address)
        else:
            score = max(peer.score - 1, 0)
            self._keep(PeerRecord(address, peer.key, peer.last_seen_unix_s, score, min(failures, _GIVE_UP)))

    def good(self, most: int) -> list[str]:
        """Up to `most` addresses of peers that were seen and did not fail since, best first."""
        seen = [peer for peer in self._known.values() if peer.last_seen_unix_s and not peer.failures]
        seen.sort(key=lambda peer: (-peer.score, peer.address))
        return [peer.address for peer in seen[:most]]

    def _keep(self, peer: PeerRecord) -> None:
        self._known[peer.address] = peer
        self._store.put_peer(peer)


def backoff_s(failures: int, rng: Random) -> float:
    """The wait after so many failures in a row: 1 s doubled each time, up to 60 s, times 0.5 to 1.5."""
    return min(2.0 ** min(failures - 1, 6), 60.0) * (0.5 + rng.random())


class Links:
    """Holds links of `transport`: to all peers at fixed addresses, to others up to `wanted`; peers may dial more.

    Serves the exchange of addresses.
    """

    def __init__(self, transport: Transport, table: PeerTable, wanted: int = LINKS) -> None:
        self.table = table
        self._transport = transport
        self._wanted = wanted
        self._silent: Counter[bytes] = Counter()
        serve_calls(transport, PEERS_PROTOCOL, self._answer, max_bytes=_MESSAGE_BYTES)

    async def run(self) -> None:
        """Dials and asks until cancelled."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._dial)
            nursery.start_soon(self._ask)

    async def _dial(self) -> None:
        while True:
            connected = self._transport.peers()
            address = self.table.next(connected, fixed=len(connected) >= self._wanted)
            if address is None:
                await trio.sleep(0.5)
                continue
            try:
                peer = await self._transport.dial(address)
            except TransportError as error:
                log.debug("no link to %s: %s", address, error)
                self.table.failed(address)
            else:
                self.table.worked(address)
                await self._exchange(peer)

    async def _ask(self) -> None:
        while True:
            await trio.sleep(ASK_S)
            async with trio.open_nursery() as nursery:
                for peer in self._transport.peers():
                    nursery.start_soon(self._exchange, peer)

    async def _exchange(self, peer: bytes) -> None:
        """Tells `peer` own addresses and learns those that it knows; the second silence in a row ends the link."""
        request = codec.encode({"addresses": self._transport.addresses()[:MAX_OWN]})
        try:
            answer = await call(
                self._transport, peer, PEERS_PROTOCOL, request, timeout_s=_ANSWER_S, max_bytes=_MESSAGE_BYTES
            )
            self.table.learn(_addresses(answer, MAX_TOLD))
            del self._silent[peer]
        except (CallRefused, ProtocolError) as error:
            log.debug("no addresses from %s: %s", short(peer), error)
        except TransportError as error:
            log.debug("no answer from %s: %s", short(peer), error)
            self._silent[peer] += 1
            if self._silent[peer] >= 2:
                del self._silent[peer]
                await self._transport.disconnect(peer)

    async def _answer(self, peer: bytes, request: bytes) -> bytes:
        told = _addresses(request, MAX_OWN)
        own = f"/p2p/{peer_id(peer)}"
        self.table.learn((address for address in told if address.endswith(own)), seen=True)
        return codec.encode({"addresses": self.table.good(MAX_TOLD)})


def _addresses(message: bytes, most: int) -> Sequence[str]:
    match codec.decode(message, _MESSAGE_BYTES):
        case {"addresses": list(items), **rest} if not rest and len(items) <= most:
            found = [item for item in items if isinstance(item, str) and len(item) <= MAX_ADDRESS]
            if len(found) == len(items):
                return found
    raise ParseError("The message is not a list of addresses.")
