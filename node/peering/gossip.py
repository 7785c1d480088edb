"""Hints between peers: new heads, and who has which blobs. Nothing depends on their arrival.

Spec: docs/spec/wire.md ("Gossip"). Topics are `gonode/<16 hex digits of the run>/heads`, signed checkpoint notes, and
`.../have`, `HaveList` records signed by their peer. What goes out is paced and repeated; what comes in is limited in size
and, for each sender, in rate, taken once, and for have-lists only from keys that the run knows.
"""

import hashlib
import logging
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

import trio

from node.peering.transport import Transport, TransportError, short
from protocol.ed25519 import SecretKey
from protocol.envelope import Envelope
from protocol.errors import ProtocolError
from protocol.record import Record
from protocol.types import U64, Digest

log = logging.getLogger("gonode.net")

MAX_HEAD_BYTES: Final = 8 << 10
MAX_DIGESTS: Final = 256
REPEAT_S: Final = 15.0
GAP_S: Final = 0.1
RATE_PER_S: Final = 5.0
BURST: Final = 20.0
_MAX_HAVE_BYTES: Final = 16 << 10
_SEEN: Final = 4096
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


class Gossip:
    """Publishes this node's newest head and have-list, and takes those of others.

    `knows(key)` says whose have-lists count; `on_head(note)` is told of each new note, unverified; `now_ms` numbers
    own have-lists and must rise across restarts.
    """

    def __init__(
        self,
        transport: Transport,
        secret: SecretKey,
        run: bytes,
        *,
        knows: Callable[[bytes], bool],
        on_head: Callable[[bytes], None],
        now_ms: Callable[[], int],
    ) -> None:
        self._transport = transport
        self._secret = secret
        self._run = run
        self._knows = knows
        self._on_head = on_head
        self._now_ms = now_ms
        self._heads = f"gonode/{run.hex()[:16]}/heads"
        self._haves = f"gonode/{run.hex()[:16]}/have"
        self._outgoing: dict[str, bytes] = {}
        self._fresh: set[str] = set()
        self._wake = trio.Event()
        self._seen: OrderedDict[bytes, None] = OrderedDict()
        self._budgets: OrderedDict[bytes, tuple[float, float]] = OrderedDict()
        self._lists: OrderedDict[bytes, HaveList] = OrderedDict()
        self._number = 0
        transport.subscribe(self._heads, self._hear_head)
        transport.subscribe(self._haves, self._hear_have)

    def announce_head(self, note: bytes) -> None:
        """Tells peers of a head soon, in the place of any head not told yet."""
        if len(note) <= MAX_HEAD_BYTES:
            self._announce(self._heads, note)

    def announce_have(self, digests: Iterable[bytes]) -> None:
        """Tells peers soon that this node serves these blobs; only the first MAX_DIGESTS are told."""
        self._number = max(self._number + 1, self._now_ms())
        listed = tuple(dict.fromkeys(digests))[:MAX_DIGESTS]
        self._announce(self._haves, HaveList(self._run, self._number, listed).seal(self._secret).encode())

    def holders(self, digest: bytes) -> tuple[bytes, ...]:
        """The peers that said they serve a blob."""
        return tuple(peer for peer, have in self._lists.items() if digest in have.digests)

    async def run(self) -> None:
        """Publishes what is announced, at most one publication each GAP_S, and again each REPEAT_S; until cancelled."""
        while True:
            with trio.move_on_after(REPEAT_S):
                await self._wake.wait()
            self._wake = trio.Event()
            for topic in sorted(self._fresh or self._outgoing):
                self._fresh.discard(topic)
                try:
                    await self._transport.publish(topic, self._outgoing[topic])
                except TransportError as error:
                    log.debug("nothing published on %s: %s", topic, error)
                await trio.sleep(GAP_S)

    def _announce(self, topic: str, data: bytes) -> None:
        self._outgoing[topic] = data
        self._fresh.add(topic)
        self._wake.set()

    async def _hear_head(self, source: bytes, data: bytes) -> None:
        if len(data) <= MAX_HEAD_BYTES and self._admit(source, data):
            self._on_head(data)

    async def _hear_have(self, source: bytes, data: bytes) -> None:
        if len(data) > _MAX_HAVE_BYTES or not self._knows(source) or not self._admit(source, data):
            return
        try:
            have = HaveList.open(Envelope.parse(data), source)
        except ProtocolError as error:
            log.debug("a have-list by %s is not one: %s", short(source), error)
            return
        known = self._lists.get(source)
        if have.run == self._run and (known is None or known.number < have.number):
            self._lists[source] = have
            self._lists.move_to_end(source)
            if len(self._lists) > _SENDERS:
                self._lists.popitem(last=False)

    def _admit(self, source: bytes, data: bytes) -> bool:
        """Whether a publication is new and its publisher within its rate."""
        digest = hashlib.sha256(data).digest()
        if digest in self._seen:
            return False
        now = trio.current_time()
        left, since = self._budgets.pop(source, (BURST, now))
        left = min(BURST, left + RATE_PER_S * (now - since))
        self._budgets[source] = (max(left - 1, 0), now)
        if len(self._budgets) > _SENDERS:
            self._budgets.popitem(last=False)
        if left < 1:
            return False
        self._seen[digest] = None
        if len(self._seen) > _SEEN:
            self._seen.popitem(last=False)
        return True
