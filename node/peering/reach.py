"""How this node reaches the others of its run: connected peers, the coordinator, and verifiers that take posts for it.

Spec: docs/spec/swarm.md ("Mirrors"). Invariants: only the coordinator's own refusal ends a post, a verifier's is its word
alone; what is answered by anybody passes `verify` first; all tasks share one backoff.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable
from random import Random
from typing import Final, Protocol

import trio

from node.peering.backoff import Backoff
from node.peering.call import CallRefused, call
from node.peering.post import POST_PROTOCOL, Post, Posted, mirror_key
from node.peering.transport import PeerGone, Transport, TransportError, Unreachable, address_key, short
from protocol.errors import ProtocolError
from protocol.ticket import Ticket

POST_WITHIN_S: Final = 60

MIRRORS: Final = 2
"""How many verifiers are asked to keep one post."""

MAX_TAKERS: Final = 64
"""So many peers that took posts are remembered."""

_SILENT_S: Final = 30.0
_SPEAKS_NOT_S: Final = 600.0
_LIES_S: Final = 3600.0
_SEEK_S: Final = 60.0
_SEEK_MOST_S: Final = 600.0
_DIALED_AT_MOST: Final = 3

Verify = Callable[[Posted], None]
"""Raises ProtocolError unless an answer holds for the post: its receipt is the coordinator's."""


class HeldByMirrors(TransportError):
    """No receipt yet, but `holders`, verifiers, keep the post with its blob and pass it on."""

    def __init__(self, holders: tuple[bytes, ...]) -> None:
        names = " and ".join(short(key) for key in holders)
        super().__init__(f"{names} {'keeps' if len(holders) == 1 else 'keep'} it for the coordinator.")
        self.holders = holders


class Reach(Protocol):
    """The ways to the coordinator and to peers."""

    backoff: Backoff
    """The pauses between tries to reach the coordinator."""

    def coordinators(self) -> tuple[bytes, ...]:
        """Connected peers that the ticket names."""

    def peers(self) -> tuple[bytes, ...]:
        """Connected peers, those of the ticket first."""

    def mirrors(self) -> tuple[bytes, ...]:
        """Connected peers, not the ticket's, that may take posts; those that did first."""

    async def post(self, post: Post, verify: Verify) -> Posted:
        """Hands a post to the coordinator; raises CallRefused or TransportError."""

    async def offer(self, post: Post, verify: Verify) -> Posted:
        """Hands a post to mirrors; raises HeldByMirrors, or another TransportError when none takes it."""

    async def call(self, protocol: str, request: bytes) -> bytes:
        """Calls the coordinator; raises CallRefused or TransportError."""


class RemoteReach:
    """The coordinator is another process, at one of the ticket's addresses."""

    def __init__(self, transport: Transport, ticket: Ticket, rng: Random) -> None:
        self._transport = transport
        self._run = ticket.run
        self._rng = rng
        self._first = tuple(address_key(address) for address in ticket.addresses)
        self._took: OrderedDict[bytes, None] = OrderedDict()
        self._said: set[bytes] = set()
        self.backoff = Backoff(lambda: bool(self.coordinators()), rng)
        self._not_before: dict[bytes, float] = {}

    def coordinators(self) -> tuple[bytes, ...]:
        """Connected peers that the ticket names."""
        connected = self._transport.peers()
        return tuple(key for key in self._first if key in connected)

    def peers(self) -> tuple[bytes, ...]:
        """Connected peers, those of the ticket first."""
        first = self.coordinators()
        return first + tuple(key for key in self._transport.peers() if key not in first)

    def mirrors(self) -> tuple[bytes, ...]:
        """Connected peers, not the ticket's, that may take posts: those that did first, none that is left alone now.

        Else in any order, so that who only says that it keeps posts is not all that an item ever meets.
        """
        now = trio.current_time()
        self._not_before = {key: at for key, at in self._not_before.items() if at > now}
        others = [key for key in self._transport.peers() if key not in self._first and key not in self._not_before]
        self._rng.shuffle(others)
        return tuple(sorted(others, key=lambda key: key not in self._took))

    @property
    def takers(self) -> frozenset[bytes]:
        """The peers, connected or not, that took posts or are said to take them, but for the ticket's."""
        return frozenset(self._took) | self._said

    def preferred(self) -> frozenset[bytes]:
        """Whom to link with so that posts have a way: the linked ones that take them, else all that are known to."""
        linked = self.takers.intersection(self._transport.peers())
        return linked or self.takers

    @property
    def takes_posts(self) -> bool:
        """Whether a linked peer takes posts: the coordinator, or one that did or is said to do so."""
        return bool(self.coordinators()) or not self.takers.isdisjoint(self._transport.peers())

    async def post(self, post: Post, verify: Verify) -> Posted:
        """Hands a post to the coordinator; raises CallRefused or TransportError."""
        with self.backoff.attempt():
            failure: TransportError = Unreachable("The coordinator is not connected.")
            for peer in self.coordinators():
                try:
                    answer = await call(self._transport, peer, POST_PROTOCOL, post.encode(), timeout_s=POST_WITHIN_S)
                    posted = Posted.parse(answer)
                    if posted.held:
                        raise PeerGone("The coordinator did not log a post that it took.")
                    verify(posted)
                    return posted
                except ProtocolError as error:
                    failure = PeerGone(f"The coordinator's answer to a post does not hold: {error}")
                except TransportError as error:
                    failure = error
            raise failure

    async def offer(self, post: Post, verify: Verify) -> Posted:
        """Hands a post to mirrors, until one brings the coordinator's answer or MIRRORS of them keep it.

        Raises HeldByMirrors when one or more keep it, or another TransportError when none takes it.
        """
        failure: TransportError = Unreachable("No verifier that takes posts is connected.")
        holders: list[bytes] = []
        for peer in self.mirrors():
            try:
                answer = await call(self._transport, peer, POST_PROTOCOL, post.encode(), timeout_s=POST_WITHIN_S)
                posted = Posted.parse(answer)
                if not posted.held:
                    verify(posted)
            except CallRefused as refusal:
                self._note_taker(peer)
                failure = Unreachable(f"Verifier {short(peer)} does not take it: {refusal}")
            except ProtocolError as error:
                self._leave_alone(peer, _LIES_S)
                failure = PeerGone(f"The answer of {short(peer)} to a post does not hold: {error}")
            except Unreachable as error:
                self._leave_alone(peer, _SPEAKS_NOT_S)
                failure = error
            except TransportError as error:
                self._leave_alone(peer, _SILENT_S)
                failure = error
            else:
                self._note_taker(peer)
                if not posted.held:
                    return posted
                holders.append(peer)
                if len(holders) >= MIRRORS:
                    break
        raise HeldByMirrors(tuple(holders)) if holders else failure

    async def call(self, protocol: str, request: bytes) -> bytes:
        """Calls the coordinator; raises CallRefused or TransportError."""
        with self.backoff.attempt():
            failure: TransportError = Unreachable("The coordinator is not connected.")
            for peer in self.coordinators():
                try:
                    return await call(self._transport, peer, protocol, request, timeout_s=POST_WITHIN_S)
                except TransportError as error:
                    failure = error
            raise failure

    async def seek(self, dial_soon: Callable[[Iterable[str]], None]) -> None:
        """Looks in the directory for verifiers that take posts while no linked peer does, until cancelled.

        `dial_soon` is given a few addresses, for all links may be with peers that take none.
        """
        wait_s = _SEEK_S
        while True:
            await trio.sleep(wait_s * self._rng.uniform(0.75, 1.25))
            if self.takes_posts:
                wait_s = _SEEK_S
                continue
            try:
                found = await self._transport.find(mirror_key(self._run))
            except TransportError:
                found = ()
            chosen = self._rng.sample(found, min(len(found), _DIALED_AT_MOST))
            self._said = {key for key in map(_key_of, chosen) if key is not None}
            dial_soon(chosen)
            wait_s = min(_SEEK_MOST_S, 2 * wait_s)

    def _note_taker(self, peer: bytes) -> None:
        self._took[peer] = None
        self._took.move_to_end(peer)
        if len(self._took) > MAX_TAKERS:
            self._took.popitem(last=False)

    def _leave_alone(self, peer: bytes, seconds: float) -> None:
        """Does not offer posts to a peer for a while."""
        self._took.pop(peer, None)
        self._said.discard(peer)
        self._not_before[peer] = trio.current_time() + seconds


def _key_of(address: str) -> bytes | None:
    """The key in an address that somebody told; None where it has none."""
    try:
        return address_key(address)
    except TransportError:
        return None
