"""The directory of peers: provider records of libp2p's Kademlia, for one run, behind limits of our own.

Spec: docs/spec/swarm.md ("Directory"), docs/spec/wire.md ("Directory"). Nothing depends on it, and what it gives are hints.
Invariants: a request of a peer is answered from memory and never makes this node connect to anybody; a record is taken from
the provider itself alone; whatever a peer sends is bounded in bytes, number and time. Of the library it uses the
protobuf classes and the host, none of its Kademlia (docs/adr/0027-own-kademlia.md).
"""

import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, zip_longest
from random import Random
from typing import TYPE_CHECKING, Any, Final

import trio
from libp2p.custom_types import TProtocol
from libp2p.io.exceptions import IncompleteReadError
from libp2p.network.stream.exceptions import StreamEOF
from libp2p.peer.id import ID
from libp2p.utils.varint import encode_varint_prefixed, read_varint_prefixed_bytes_limited

from node.peering.addresses import told_addresses
from node.peering.libp2p.kad.contacts import BUCKET, Contacts
from node.peering.libp2p.kad.dials import DialBudget, LookupDials
from node.peering.libp2p.kad.lookup import Candidate, Lookup
from node.peering.libp2p.kad.message import (
    MAX_ANSWER,
    MAX_REQUEST,
    KadMessage,
    Kind,
    MalformedMessage,
    Told,
    content_key,
    content_target,
    parse,
)
from node.peering.libp2p.kad.records import ProviderRecords
from node.peering.libp2p.scope import group_of
from node.peering.libp2p.told import MAX_TOLD, accepted
from node.peering.pace import SharedPace
from node.peering.transport import FIND_S, MAX_FOUND, TransportError, Unreachable, id_bytes, id_key, short

if TYPE_CHECKING:
    from node.peering.libp2p.transport import Libp2pTransport

log = logging.getLogger("gonode.net")

REPLICAS: Final = 8
"""How many of the closest peers get a record."""

AT_ONCE: Final = 3
"""How many peers one look-up asks at once."""

LOOKUPS: Final = 4
"""How many look-ups run at once."""

LOOKUP_S: Final = FIND_S - 2
"""The time for asking in one look-up; the rest is for taking leave."""

ASK_S: Final = 3.0
"""The time that one dial, or one request, of a look-up may take."""

REFRESH_S: Final = 1200.0
"""How often a node looks for itself, so that those close to it know it and it knows them."""

SERVED_AT_ONCE: Final = 32
SERVED_OF_GROUP: Final = 8
"""How many streams of all peers, and of one address group, are served at once."""

REQUESTS_OF_STREAM: Final = 16

REQUESTS_OF_GROUP: Final = (20.0, 200.0)
REQUESTS_OF_ALL: Final = (100.0, 200.0)
"""How many requests of one address group, and of all, are answered: a second, and at once."""

REQUEST_S: Final = 10.0
_MEET_S: Final = 1.0
_WAIT_FOR_PEERS_S: Final = 5.0
_RESTART_S: Final = 5.0
_OWN_GROUP: Final = "own"


class _NotNow(Unreachable):
    """A peer may not be dialed now, which says nothing about it."""


def directory_protocol(run: bytes) -> str:
    """The stream protocol of the directory of `run`."""
    return f"/gonode/{run.hex()[:16]}/kad/1.0.0"


class Directory:
    """One node's part of the directory of `run`, over the hosts of `transport`; counts in `faults` what it refused.

    `serve` has to be the host's handler of streams for `protocol`.
    """

    def __init__(self, transport: "Libp2pTransport", run: bytes, faults: Counter[str]) -> None:
        self.protocol = TProtocol(directory_protocol(run))
        self.contacts = Contacts(transport.key)
        self.records = ProviderRecords()
        self._transport = transport
        self._faults = faults
        self._pace = SharedPace(REQUESTS_OF_GROUP, REQUESTS_OF_ALL)
        self._budget = DialBudget()
        self._looking = trio.Semaphore(LOOKUPS)
        self._serving: Counter[str] = Counter()
        self._meet_not_before = 0.0
        self._rng = Random(transport.key)

    async def run(self) -> None:
        """Looks for this node itself now and then, until cancelled; a failure is counted and begins it anew."""
        while True:
            try:
                while not self._transport.peers():
                    await trio.sleep(_WAIT_FOR_PEERS_S)
                await trio.sleep(_WAIT_FOR_PEERS_S * self._rng.random())
                await self._look_up(KadMessage(Kind.FIND_NODE, id_bytes(self._transport.key)))
                await trio.sleep(REFRESH_S * (0.5 + self._rng.random()))
            except Exception as error:
                self._faults["directory"] += 1
                log.info("the directory failed and starts again: %r", error)
                await trio.sleep(_RESTART_S)

    async def provide(self, key: bytes) -> None:
        """Tells the peers closest to `key` that this node serves it; raises Unreachable when none took it."""
        target = content_target(key)
        addresses = told_addresses(self._transport.addresses(), self._transport.announced, self._transport.key)
        own = Told(self._transport.key, tuple(addresses[:MAX_TOLD]))
        self.records.add(key, own, _OWN_GROUP)
        message = KadMessage(Kind.ADD_PROVIDER, target, providers=(own,))
        if not await self._look_up(KadMessage(Kind.FIND_NODE, target), message):
            raise Unreachable("No peer of the directory could be reached.")

    async def find(self, key: bytes) -> tuple[str, ...]:
        """Up to MAX_FOUND addresses of peers that are said to serve `key`; raises Unreachable when nobody answered."""
        found = [self.records.find(key, MAX_FOUND)]
        answered = await self._look_up(KadMessage(Kind.GET_PROVIDERS, content_target(key)), found=found)
        own = self._transport.key
        said = [list(_in_turn(told.addresses for told in each if told.key != own)) for each in found]
        if not answered and not any(said):
            raise Unreachable("No peer of the directory could be reached.")
        return tuple(dict.fromkeys(_in_turn(said)))[:MAX_FOUND]

    async def _look_up(
        self, request: KadMessage, leave: KadMessage | None = None, found: list[tuple[Told, ...]] | None = None
    ) -> int:
        """Asks its way to the target of `request` and leaves `leave` with the REPLICAS closest.

        What each peer tells of providers comes into `found`. Gives how many peers answered, or took what was left with
        them. Connections made for it end with it, unless used by then.
        """
        self._meet()
        lookup = Lookup(request.target, self._transport.key, self._seeds(request.target))
        dialed: set[bytes] = set()
        found = [] if found is None else found
        try:
            with trio.move_on_after(LOOKUP_S):
                async with self._looking:
                    await self._ask_along(lookup, request, dialed, found)
            near = lookup.closest(REPLICAS)
            return len(near) if leave is None else await self._leave(leave, near)
        finally:
            with trio.CancelScope(shield=True):
                await self._let_go(dialed)

    def _seeds(self, target: bytes) -> list[Candidate]:
        """Whom a look-up asks first: contacts, and connected peers that do, or may, keep the directory."""
        seeds = [Candidate(each.key, each.addresses, each.key) for each in self.contacts.closest(target, BUCKET)]
        for key in self._transport.peers():
            if self.protocol in (self._protocols(key) or (self.protocol,)):
                seeds.append(Candidate(key, (), key))
        return seeds

    async def _ask_along(
        self, lookup: Lookup, request: KadMessage, dialed: set[bytes], found: list[tuple[Told, ...]]
    ) -> None:
        dials = LookupDials(self._budget)

        async def ask(candidate: Candidate) -> None:
            try:
                await self._connect(candidate, dials, dialed)
                answer = await self._request(candidate.key, request)
            except Exception as error:
                log.debug("the directory got no answer from %s: %r", short(candidate.key), error)
                lookup.failed(candidate.key)
                if not isinstance(error, _NotNow):
                    self.contacts.failed(candidate.key)
                return
            self._take(candidate.key)
            lookup.answered(candidate.key, answer.closer)
            found.append(answer.providers)

        while chosen := lookup.next(AT_ONCE):
            async with trio.open_nursery() as nursery:
                for candidate in chosen:
                    nursery.start_soon(ask, candidate)

    async def _connect(self, candidate: Candidate, dials: LookupDials, dialed: set[bytes]) -> None:
        """Sees that a candidate is connected; raises Unreachable when it cannot be dialed, _NotNow when it may not."""
        if candidate.key in self._transport.peers():
            return
        failure: type[Unreachable] = _NotNow
        for address in candidate.addresses:
            if not dials.may_dial(address, candidate.teller):
                continue
            failure = Unreachable
            with trio.move_on_after(ASK_S):
                try:
                    await self._transport.dial(address)
                except TransportError:
                    continue
                dials.worked(address)
                dialed.add(candidate.key)
                return
        raise failure(f"Peer {short(candidate.key)} is at no address that the directory reaches now.")

    async def _request(self, peer: bytes, request: KadMessage) -> KadMessage:
        """The answer of `peer`; raises whatever the library, the clock or a malformed answer does."""
        with trio.fail_after(ASK_S):
            stream = await self._transport.host.new_stream(ID(id_bytes(peer)), [self.protocol])
            try:
                await stream.write(encode_varint_prefixed(request.encode()))
                answer = parse(await read_varint_prefixed_bytes_limited(stream, MAX_ANSWER), _host_of(stream))
            finally:
                await _close(stream)
        if answer.kind is not request.kind:
            raise MalformedMessage(f"A request {request.kind.name} is answered with {answer.kind.name}.")
        return answer

    async def _leave(self, message: KadMessage, peers: Sequence[bytes]) -> int:
        """Leaves a record with `peers`; gives how many took it."""
        took = 0

        async def leave(peer: bytes) -> None:
            nonlocal took
            try:
                with trio.fail_after(ASK_S):
                    stream = await self._transport.host.new_stream(ID(id_bytes(peer)), [self.protocol])
                    try:
                        await stream.write(encode_varint_prefixed(message.encode()))
                        await stream.close_write()
                        await _until_end(stream)
                    finally:
                        await _close(stream)
                took += 1
            except Exception as error:
                log.debug("the directory left nothing with %s: %r", short(peer), error)

        async with trio.open_nursery() as nursery:
            for peer in peers:
                nursery.start_soon(leave, peer)
        return took

    async def _let_go(self, dialed: set[bytes]) -> None:
        """Ends the connections that a look-up made, but for those that something else uses by now."""
        async with trio.open_nursery() as nursery:
            for peer in dialed:
                if not self._is_used(peer):
                    nursery.start_soon(self._transport.disconnect, peer)

    def _is_used(self, peer: bytes) -> bool:
        names = [
            str(stream.get_protocol() or "")
            for link in self._transport.host.get_network().get_connections(ID(id_bytes(peer)))
            for stream in link.get_streams()
        ]
        return any(name.startswith("/gonode/") and name != self.protocol for name in names)

    async def serve(self, stream: Any) -> None:
        """Answers the requests of one stream."""
        peer = id_key(stream.muxed_conn.peer_id.to_bytes())
        host = _host_of(stream)
        group = group_of(host)
        if peer is None or self._transport.refuse(peer):
            await stream.reset()
            return
        if self._serving[group] >= SERVED_OF_GROUP or self._serving.total() >= SERVED_AT_ONCE:
            self._faults["directory busy"] += 1
            await stream.reset()
            return
        self._serving[group] += 1
        try:
            for _ in range(REQUESTS_OF_STREAM):
                with trio.fail_after(REQUEST_S):
                    data = await read_varint_prefixed_bytes_limited(stream, MAX_REQUEST)
                    answer = self._answer(data, peer, host)
                    if answer is not None:
                        await stream.write(encode_varint_prefixed(answer.encode()))
        except StreamEOF:
            pass
        except IncompleteReadError as error:
            if error.received_bytes:
                await stream.reset()
        except Exception as error:
            self._faults["directory refused"] += 1
            log.debug("the directory refused a request of %s: %r", short(peer), error)
            await stream.reset()
        else:
            self._faults["directory refused"] += 1
        finally:
            self._serving -= Counter([group])
            await _close(stream)

    def _answer(self, data: bytes, peer: bytes, host: str) -> KadMessage | None:
        """What `peer` at IP address `host` gets for a request, None for a record; raises MalformedMessage."""
        group = group_of(host)
        if not self._pace.take(group):
            raise MalformedMessage("There are too many requests.")
        request = parse(data, host)
        if request.kind is Kind.PING:
            return KadMessage(Kind.PING)
        key = content_key(request.target)
        if request.kind is Kind.ADD_PROVIDER:
            own = next((told for told in request.providers if told.key == peer), None)
            if key is None or own is None or not self.records.add(key, own, group):
                raise MalformedMessage("The record is not taken.")
            return None
        self._meet()
        near = self.contacts.closest(request.target, BUCKET)
        closer = tuple(Told(each.key, each.addresses) for each in near if each.key != peer)
        if request.kind is Kind.FIND_NODE:
            return KadMessage(Kind.FIND_NODE, request.target, closer)
        providers = () if key is None else self.records.find(key, MAX_FOUND)
        return KadMessage(Kind.GET_PROVIDERS, request.target, closer, providers)

    def _meet(self) -> None:
        """Takes connected peers that keep the directory into the contacts."""
        now = trio.current_time()
        if now < self._meet_not_before:
            return
        self._meet_not_before = now + _MEET_S
        for key in self._transport.peers():
            if self.protocol in self._protocols(key):
                self._take(key)

    def _take(self, key: bytes) -> None:
        """Takes a connected peer that keeps the directory into the contacts."""
        links = self._transport.host.get_network().get_connections(ID(id_bytes(key)))
        if links:
            host = _host_of(links[0])
            self.contacts.seen(key, accepted(self._identified(key), key, host), group_of(host))

    def _protocols(self, key: bytes) -> Sequence[str]:
        """What a peer said it speaks; nothing when it has not been identified."""
        try:
            return list(self._transport.host.get_peerstore().get_protocols(ID(id_bytes(key))))
        except Exception:
            return ()

    def _identified(self, key: bytes) -> Sequence[str]:
        """Where a peer was dialed or says that it listens."""
        try:
            return [str(address) for address in self._transport.host.get_peerstore().addrs(ID(id_bytes(key)))]
        except Exception:
            return ()


def _in_turn(lists: Iterable[Iterable[str]]) -> Iterator[str]:
    """The first of each list, then the second of each, and so on: nobody's list crowds out another's."""
    return (each for each in chain.from_iterable(zip_longest(*lists)) if each is not None)


def _host_of(stream: Any) -> str:
    """The IP address at the other end of a stream or connection; empty when it is relayed."""
    try:
        remote = getattr(stream, "muxed_conn", stream).get_remote_address()
    except Exception:
        return ""
    return str(remote[0]) if remote else ""


async def _until_end(stream: Any) -> None:
    try:
        while await stream.read(1024):
            pass
    except StreamEOF:
        return


async def _close(stream: Any) -> None:
    with trio.move_on_after(1, shield=True):
        try:
            await stream.close()
        except Exception as error:
            log.debug("a stream of the directory did not end cleanly: %r", error)
