"""Who has which networks, as peers tell: hints whom to ask, and whom to dial for one.

Spec: docs/spec/wire.md ("Gossip"). The topic is `gonode/<16 hex digits of the run>/have`, its publications are `HaveList`
records signed by their peer. A list is told when it changes, a little later, and not at all while ENOUGH others told of the
newest blob in it. Lists count from contributors of the run, the ticket's peers and connected ones; others are not passed on.
"""

import logging
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from random import Random
from typing import Final

import trio

from node.peering.gossip import OF_PUBLISHER, topic_of
from node.peering.pace import Pace
from node.peering.transport import Transport, TransportError, short
from protocol.ed25519 import SecretKey
from protocol.envelope import Envelope
from protocol.errors import ProtocolError
from protocol.record import Record
from protocol.types import U64, Digest

log = logging.getLogger("gonode.net")

MAX_DIGESTS: Final = 256
MAX_HAVE_BYTES: Final = 16 << 10
ENOUGH: Final = 64
"""So many holders of a blob need no more."""

JITTER_S: Final = 2.0
"""The longest wait between a change and its telling."""

QUIET_S: Final = 10.0
"""The shortest time between two tellings."""

_SENDERS: Final = 1024


@dataclass(frozen=True, slots=True)
class HaveList(Record):
    """The blobs that the signing peer serves, newest first; `number` only rises, and the highest one counts."""

    NAME = "have-list"

    run: Digest
    number: U64
    digests: tuple[Digest, ...]

    def check(self) -> None:
        if len(self.digests) > MAX_DIGESTS:
            raise self.fail(f"it lists at most {MAX_DIGESTS} digests")


class HaveLists:
    """Tells what this node has, and knows what others told.

    `knows(key)` says whose lists count, besides those of connected peers; `next_number()` gives the number of the next own
    list, which rises across restarts.
    """

    def __init__(
        self,
        transport: Transport,
        secret: SecretKey,
        run: bytes,
        *,
        knows: Callable[[bytes], bool],
        next_number: Callable[[], int],
        rng: Random,
    ) -> None:
        self._transport = transport
        self._secret = secret
        self._run = run
        self._knows = knows
        self._next_number = next_number
        self._rng = rng
        self._topic = topic_of(run, "have")
        self._own: tuple[bytes, ...] = ()
        self._wake = trio.Event()
        self._pace = Pace(*OF_PUBLISHER)
        self._lists: OrderedDict[bytes, HaveList] = OrderedDict()
        transport.subscribe(self._topic, self._hear, self._accepts)

    def announce(self, digests: Iterable[bytes]) -> None:
        """Tells peers soon that this node serves these blobs, newest first, if that is news; MAX_DIGESTS of them."""
        listed = tuple(dict.fromkeys(digests))[:MAX_DIGESTS]
        if listed != self._own:
            self._own = listed
            self._wake.set()

    def holders(self, digest: bytes) -> tuple[bytes, ...]:
        """The peers that said they serve a blob, who said so last first."""
        return tuple(peer for peer, have in reversed(self._lists.items()) if digest in have.digests)

    async def run(self) -> None:
        """Publishes what is announced, until cancelled."""
        while True:
            await self._wake.wait()
            await trio.sleep(self._rng.uniform(0, JITTER_S))
            self._wake = trio.Event()
            if self._own and len(self.holders(self._own[0])) >= ENOUGH:
                continue
            try:
                data = HaveList(self._run, self._next_number(), self._own).seal(self._secret).encode()
                await self._transport.publish(self._topic, data)
            except TransportError as error:
                log.debug("no have-list published: %s", error)
            await trio.sleep(QUIET_S)

    def _accepts(self, source: bytes, data: bytes) -> bool:
        if source == self._transport.key:
            return True
        if len(data) > MAX_HAVE_BYTES or not (self._knows(source) or source in self._transport.peers()):
            return False
        return self._pace.take(source) and self._parse(source, data) is not None

    async def _hear(self, source: bytes, data: bytes) -> None:
        have = self._parse(source, data)
        known = self._lists.get(source)
        if have is not None and (known is None or known.number < have.number):
            self._lists[source] = have
            self._lists.move_to_end(source)
            if len(self._lists) > _SENDERS:
                self._lists.popitem(last=False)

    def _parse(self, source: bytes, data: bytes) -> HaveList | None:
        """The list by `source` for this run in `data`, if there is one."""
        try:
            have = HaveList.open(Envelope.parse(data), source)
        except ProtocolError as error:
            log.debug("a have-list by %s is not one: %s", short(source), error)
            return None
        return have if have.run == self._run else None
