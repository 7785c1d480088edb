"""Which connections a node holds, makes, exchanges and ends.

Spec: docs/spec/swarm.md ("Links"), docs/spec/wire.md ("Peers"). One task dials, one address at a time. A node holds a few
links of its own choosing, which it exchanges now and then so that the graph of all nodes stays mixed; it tells linked peers
its addresses and asks for others (`/gonode/peers/1`); it ends a link that twice does not answer, for a stopped peer never
fails by itself.
"""

import logging
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Final

import trio

from node.peering.addresses import told_addresses
from node.peering.call import CallRefused, call, serve_calls
from node.peering.table import MAX_ADDRESS, MAX_OWN, PeerTable
from node.peering.transport import Link, Transport, TransportError, address_key, peer_id, short
from protocol import codec
from protocol.errors import ParseError, ProtocolError

log = logging.getLogger("gonode.net")

PEERS_PROTOCOL: Final = "/gonode/peers/1"
LINKS: Final = 4
"""How many links a node holds of its own choosing."""

MAX_TOLD: Final = 32
ASK_S: Final = 30.0
"""The time between two askings of a peer, times 0.5 to 1.5."""

EXCHANGE_S: Final = 300.0
"""The time between two exchanges of a link for another, times 0.5 to 1.5."""

EARLY_S: Final = 30.0
"""A link that the other side ended sooner did not work."""

PROTECT_S: Final = 600.0
"""How long a peer that was protected is not shed."""

TICK_S: Final = 1.0
MAX_SOUGHT: Final = 16
_ANSWER_S: Final = 10.0
_MESSAGE_BYTES: Final = 16 << 10


def always() -> bool:
    """A `wants_fixed` of nodes that always want the ticket's peers."""
    return True


def nobody() -> Collection[bytes]:
    """A `prefer` of nodes to which one peer is as good as another."""
    return ()


class Links:
    """Holds links of `transport`: `wanted` of its own choosing, or to all known peers if fewer; peers may dial more.

    While `wants_fixed()`, it holds links to the ticket's peers beyond these; else such a peer is one of its choice only when
    no other is known. `prefer()` gives keys of peers that have what the node needs. `announce` is told in the place of the
    addresses listened at. `keep()` gives peers whose links are neither exchanged nor shed. With `capacity`, a node that has
    over 3/4 of so many connections sheds some. Serves the exchange of addresses.
    """

    def __init__(
        self,
        transport: Transport,
        table: PeerTable,
        wanted: int = LINKS,
        *,
        wants_fixed: Callable[[], bool] = always,
        prefer: Callable[[], Collection[bytes]] = nobody,
        announce: Sequence[str] = (),
        capacity: int | None = None,
        keep: Callable[[], Collection[bytes]] = nobody,
    ) -> None:
        self.table = table
        self._transport = transport
        self._wanted = wanted
        self._wants_fixed = wants_fixed
        self._prefer = prefer
        self._announce = tuple(announce)
        self._capacity = capacity
        self._keep = keep
        self._sought: deque[str] = deque(maxlen=MAX_SOUGHT)
        self._made: dict[bytes, str] = {}
        self._released: set[bytes] = set()
        self._protected: dict[bytes, float] = {}
        self._asked_here: dict[bytes, float] = {}
        self._silent: Counter[bytes] = Counter()
        serve_calls(transport, PEERS_PROTOCOL, self._answer, max_bytes=_MESSAGE_BYTES)

    def own_addresses(self) -> list[str]:
        """What this node tells others of where it is, best first."""
        return told_addresses(self._transport.addresses(), self._announce, self._transport.key)[:MAX_OWN]

    def seek(self, addresses: Iterable[str]) -> None:
        """Has peers dialed soon beyond those wanted, such as what the directory found; the newest MAX_SOUGHT count."""
        listed = [address for address in addresses if address not in self._sought]
        self.table.learn(listed)
        self._sought.extend(address for address in listed if self.table.has(address))

    def protect(self, peer: bytes) -> None:
        """Keeps a peer from being shed for PROTECT_S from now: one that just did what the node needs."""
        self._protected[peer] = trio.current_time() + PROTECT_S

    async def run(self) -> None:
        """Dials, exchanges, sheds and asks until cancelled."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._hold, nursery)
            nursery.start_soon(self._ask)

    # ---- holding

    async def _hold(self, nursery: trio.Nursery) -> None:
        exchange_at = trio.current_time() + self._about(EXCHANGE_S)
        while True:
            self._look()
            await self._shed()
            address = self._due()
            if address is not None:
                await self._dial(address, nursery)
            elif trio.current_time() >= exchange_at:
                await self._exchange_link(nursery)
                exchange_at = trio.current_time() + self._about(EXCHANGE_S)
            else:
                await trio.sleep(TICK_S)

    def _look(self) -> None:
        """Notes which of the links made here ended early and which lasted."""
        now = trio.current_time()
        since = {link.peer: link.since_s for link in self._transport.links()}
        for peer, address in list(self._made.items()):
            if peer not in since:
                if peer not in self._released:
                    self.table.lost_early(address)
                del self._made[peer]
            elif now - since[peer] >= EARLY_S:
                self.table.held(address)
                del self._made[peer]
        self._released.clear()

    def _due(self) -> str | None:
        """The address to dial now."""
        links = self._transport.links()
        usable = self._usable(links)
        while self._sought:
            sought = self._sought.popleft()
            if usable(address_key(sought)):
                return sought
        if self._wanted and (not links or self._wants_fixed()):
            address = self.table.next(usable, fixed=True)
            if address is not None:
                return address
        if len(self._own(links)) >= self._wanted:
            return None
        return self.table.next(usable, preferred=self._prefer()) or self.table.next(usable, fixed=True)

    def _usable(self, links: Iterable[Link]) -> Callable[[bytes], bool]:
        """Whether a peer may be dialed: it is not connected and not refused."""
        present = {self._transport.key, *(link.peer for link in links)}
        return lambda key: key not in present and not self._transport.refuse(key)

    def _own(self, links: Iterable[Link]) -> list[Link]:
        """The links of this node's own choosing."""
        beyond = self._wants_fixed()
        return [link for link in links if link.address is not None and not (beyond and self.table.is_fixed(link.peer))]

    async def _dial(self, address: str, nursery: trio.Nursery) -> bool:
        try:
            peer = await self._transport.dial(address)
        except TransportError as error:
            log.debug("no link to %s: %s", address, error)
            self.table.failed(address)
            return False
        self.table.worked(address)
        self._made[peer] = address
        nursery.start_soon(self._exchange, peer)
        return True

    async def _exchange_link(self, nursery: trio.Nursery) -> None:
        """Links a peer drawn by lot and ends the worst own links above what is wanted; nothing if that peer fails."""
        links = self._transport.links()
        before = self._own(links)
        if not self._wanted or len(before) < self._wanted:
            return
        address = self.table.stray(self._usable(links))
        if address is None or not await self._dial(address, nursery):
            return
        preferred = self._prefer()
        before.sort(
            key=lambda link: (link.peer in preferred, self.table.score(link.peer), self.table.rng.random()),
            reverse=True,
        )
        kept = self._keep()
        for link in before[self._wanted - 1 :]:
            if link.peer not in kept:
                await self._release(link.peer)

    async def _release(self, peer: bytes) -> None:
        self._released.add(peer)
        await self._transport.disconnect(peer)

    async def _shed(self) -> None:
        """Over 3/4 of the capacity: ends links of peers that dialed and are not protected, down to a half of it.

        The oldest of those that share an address with most others go first.
        """
        if self._capacity is None:
            return
        links = self._transport.links()
        if len(links) <= self._capacity * 3 // 4:
            return
        now = trio.current_time()
        self._protected = {peer: until for peer, until in self._protected.items() if now < until}
        kept = {*self._protected, *self._keep()}
        free = sorted(
            (link for link in links if link.address is None and link.peer not in kept), key=lambda link: link.since_s
        )
        of_host: Counter[str] = Counter()
        neighbours: dict[bytes, int] = {}
        for link in reversed(free):  # how many newer ones there are of its address
            neighbours[link.peer] = of_host[link.host]
            of_host[link.host] += 1
        free.sort(key=lambda link: neighbours[link.peer], reverse=True)
        going = free[: len(links) - self._capacity // 2]
        log.info("%d of %d connections are shed", len(going), len(links))
        async with trio.open_nursery() as nursery:
            for link in going:
                nursery.start_soon(self._release, link.peer)

    # ---- the exchange of addresses

    async def _ask(self) -> None:
        while True:
            await trio.sleep(self._about(ASK_S))
            links = self._transport.links()
            here = {link.peer for link in links}
            now = trio.current_time()
            self._asked_here = {peer: at for peer, at in self._asked_here.items() if peer in here}
            self._silent = Counter({peer: times for peer, times in self._silent.items() if peer in here})
            async with trio.open_nursery() as nursery:
                for link in links:
                    if link.address is not None or now - self._asked_here.get(link.peer, -ASK_S * 2) >= ASK_S * 2:
                        nursery.start_soon(self._exchange, link.peer)

    async def _exchange(self, peer: bytes) -> None:
        """Tells `peer` own addresses and learns those that it knows; the second silence in a row ends the link."""
        request = codec.encode({"addresses": list(self.own_addresses())})
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
        self._asked_here[peer] = trio.current_time()
        own = f"/p2p/{peer_id(peer)}"
        self.table.learn((address for address in told if address.endswith(own)), seen=True)
        here = set(self._transport.peers())

        def is_usable(key: bytes) -> bool:
            return key != peer and not self._transport.refuse(key)

        return codec.encode({"addresses": list(self.table.sample(MAX_TOLD, is_usable, first=here))})

    def _about(self, seconds: float) -> float:
        return seconds * (0.5 + self.table.rng.random())


def _addresses(message: bytes, most: int) -> Sequence[str]:
    match codec.decode(message, _MESSAGE_BYTES):
        case {"addresses": list(items), **rest} if not rest and len(items) <= most:
            found = [item for item in items if isinstance(item, str) and len(item) <= MAX_ADDRESS]
            if len(found) == len(items):
                return found
    raise ParseError("The message is not a list of addresses.")
