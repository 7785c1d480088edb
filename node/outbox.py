"""What waits to be logged: sent again, gate results first, until the coordinator has answered.

Spec: `docs/spec/swarm.md` ("Mirrors"). Items are in the store before they are sent, so a kill loses none and a repetition
changes nothing; the coordinator gets them in order. While it is away, batches and gate results are offered to verifiers,
which keep them too: an item is here until its receipt is. A batch that it refuses now but may take later, as when no
verifier has an epoch, waits, and those behind it. An item whose blob this disk has lost could never be logged: it is
dropped, and what it was made of is played again.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import trio

from node.disk.store import OutboxItem, Series
from node.member import Member
from node.peering.call import CallRefused
from node.peering.post import MIRRORED, Post, Posted
from node.peering.reach import HeldByMirrors
from node.peering.transport import TransportError, short
from protocol.entries import parse_entry
from protocol.envelope import Envelope
from protocol.errors import ProtocolError
from protocol.gate import GateResult
from protocol.header import BatchHeader
from protocol.verdict import TraceOpening
from protocol.words import counted

BATCH = "batch"
GATE_RESULT = "gate-result"
VERDICT = "verdict"
OPENING = "opening"
KINDS = (GATE_RESULT, VERDICT, OPENING, BATCH)

OFFERED_AGAIN_S = 15.0
"""How soon an item that no verifier took is offered again."""

HELD_AGAIN_S = 120.0
"""How soon an item that verifiers keep is offered again."""

NOT_YET_S = 10.0
"""How soon an item is sent again that the coordinator may take later."""

LOOK_EVERY_S = 1.0

FILLED = "filled/"
"""In the store: fills whose batch was put into the outbox, by owner, release and first counter."""

MIRRORED_TYPES = tuple(record.payload_type() for record in MIRRORED)

Answered = Callable[[str, bytes, int | None], None]
"""Called with an item's kind and key, and its log index, or None when it was refused."""


class _NotYet(TransportError):
    """The coordinator refused an item that it may take later."""

    def __init__(self, item: Post, refusal: CallRefused) -> None:
        super().__init__(f"The coordinator does not take it yet: {refusal}")
        self.data = item.envelope


@dataclass(slots=True)
class _Offer:
    """An item that verifiers were asked to keep: its entry's digest, who keeps it, when it is offered again."""

    digest: bytes
    holders: tuple[bytes, ...]
    again_s: float
    was_logged: bool


class Outbox:
    """Sends the store's outbox.

    `lost` counts batches that were dropped because their blob was gone; what was logged lies below index `logged_size`.
    """

    def __init__(self, member: Member, answered: Answered | None = None) -> None:
        self._member = member
        self._answered = answered
        self._added = trio.Event()
        self._emptied = trio.Event()
        self._offers: dict[int, _Offer] = {}
        self._put_s: dict[tuple[str, bytes], float] = {}
        self._failure = ""
        self._is_said = False
        self.waiting_since: float | None = None
        self.lost = 0
        self.logged_size = 0

    def put(self, kind: str, key: bytes, envelope: Envelope, proof: bytes = b"") -> None:
        """Keeps an entry to be sent; the same (kind, key) again changes nothing."""
        self._member.store.put_outbox(kind, key, Post(envelope.encode(), proof).encode())
        self._put_s.setdefault((kind, key), trio.current_time())
        self.wake()

    def wake(self) -> None:
        """Something was added to the store's outbox."""
        self._added.set()

    def __len__(self) -> int:
        return self._member.store.waiting_count()

    @property
    def waiting_for(self) -> str:
        """Why items wait, and which verifiers keep how many of them; empty when nothing is waited for."""
        kept = [offer for offer in self._offers.values() if offer.holders]
        if not kept or not self._failure:
            return self._failure
        holders = ", ".join(sorted({short(key) for offer in kept for key in offer.holders}))
        return f"{self._failure} {counted(len(kept), 'item is', 'items are')} kept by verifiers too: {holders}."

    async def until_empty(self) -> None:
        """Returns once everything was answered."""
        while len(self):
            self._emptied = trio.Event()
            await self._emptied.wait()

    async def run(self) -> None:
        """Sends until cancelled."""
        while True:
            self._added = trio.Event()
            try:
                await self._send_all()
            except _NotYet as error:
                self._fail(error)
                self._say(NOT_YET_S)
                with trio.move_on_after(self._member.jitter(NOT_YET_S)):
                    await self._member.until(partial(self._member.never_logged, error.data))
                continue
            except TransportError as error:
                self._fail(error)
                await self._offer_all()
                if len(self):
                    self._say(self._member.reach.backoff.next_try_in_s)
                    await self._until_next()
                continue
            self.waiting_since, self._failure, self._is_said = None, "", False
            self._offers.clear()
            self._emptied.set()
            await self._added.wait()

    def _fail(self, error: TransportError) -> None:
        """Notes why items wait, since the first failure in a row."""
        self._failure = str(error)
        if self.waiting_since is None:
            self.waiting_since = trio.current_time()

    async def _send_all(self) -> None:
        """Sends gate results first, for the whole run waits for them, and the rest in the order in which it was put."""
        while (item := self._member.store.first_waiting(GATE_RESULT)) is not None:
            post = Post.parse(item.payload)
            try:
                self._end(item, await self._member.post_directly(post))
            except CallRefused as refusal:
                if item.kind == BATCH and self._may_be_taken(post):
                    raise _NotYet(post, refusal) from None
                self._end(item, refusal)
            except TransportError:
                if not self._undo_lost(item):
                    raise
                self._end(item, None)

    def _may_be_taken(self, post: Post) -> bool:
        """Whether this node's own copy of the log, which may be behind, knows no reason against a batch.

        One behind a lost batch is made again after it, so it is not waited for.
        """
        try:
            record = parse_entry(post.envelope).record
            if isinstance(record, BatchHeader) and self._is_behind(record):
                return False
            return self._member.never_logged(post.envelope) is None
        except ProtocolError:
            return False

    def _is_behind(self, header: BatchHeader) -> bool:
        """Whether a batch of this node's own series comes after one that was lost and is made again."""
        is_own = not header.fill_for
        return is_own and header.first_counter >= self._member.store.series(header.release).counter

    async def _offer_all(self) -> None:
        """Offers to verifiers what they do not keep yet, in order, until the coordinator may be tried again."""
        for item in self._member.store.waiting():
            if self._member.reach.backoff.is_ready or not self._member.reach.mirrors():
                return
            if not self._is_offered_now(item):
                continue
            post = Post.parse(item.payload)
            offer = self._offers[item.number]
            holders: tuple[bytes, ...] = ()
            pause_s = OFFERED_AGAIN_S
            try:
                self._end(item, await self._member.offer(post))
                continue
            except CallRefused as refusal:
                self._end(item, refusal)
                continue
            except HeldByMirrors as held:
                holders, pause_s = held.holders, HELD_AGAIN_S
            except TransportError:
                if self._undo_lost(item):
                    self._end(item, None)
                    continue
            offer.holders = holders
            offer.again_s = trio.current_time() + self._member.jitter(pause_s)
            offer.was_logged = self._is_logged(offer.digest)

    def _is_offered_now(self, item: OutboxItem) -> bool:
        """Whether to offer an item: not lately, or the log has come to show it since, so that there is a receipt."""
        offer = self._offers.get(item.number)
        if offer is None:
            envelope = Envelope.parse(Post.parse(item.payload).envelope)
            if envelope.type not in MIRRORED_TYPES:
                return False
            offer = self._offers[item.number] = _Offer(envelope.digest, (), 0.0, False)
        return offer.again_s <= trio.current_time() or self._shows(offer)

    def _shows(self, offer: _Offer) -> bool:
        return not offer.was_logged and self._is_logged(offer.digest)

    def _is_logged(self, digest: bytes) -> bool:
        return digest in self._member.state.subjects.by_digest

    async def _until_next(self) -> None:
        """Returns when the coordinator may be tried, something was added, or an item is to be offered again."""
        backoff, added = self._member.reach.backoff, self._added
        await trio.lowlevel.checkpoint()
        while not backoff.is_ready:
            if self._member.reach.mirrors() and (added.is_set() or self._is_offer_due()):
                return
            with trio.move_on_after(min(LOOK_EVERY_S, backoff.next_try_in_s or LOOK_EVERY_S)):
                await backoff.until_ready()

    def _is_offer_due(self) -> bool:
        now = trio.current_time()
        store = self._member.store
        if store.waiting_count(BATCH) + store.waiting_count(GATE_RESULT) > len(self._offers):
            return True
        return any(offer.again_s <= now or self._shows(offer) for offer in self._offers.values())

    def _say(self, next_try_in_s: float) -> None:
        """Says once why items wait."""
        if not self._is_said:
            self._is_said = True
            count = counted(len(self), "item waits", "items wait")
            text = f"{self.waiting_for} Nothing is lost: {count} on disk. Next try in {max(1, next_try_in_s):.0f} s."
            self._member.events("waiting", text)

    def _end(self, item: OutboxItem, answer: Posted | CallRefused | None) -> None:
        """An item was logged, refused, or (None) dropped because its blob is lost."""
        index = answer.index if isinstance(answer, Posted) else None
        put_s = self._put_s.pop((item.kind, item.key), None)
        if isinstance(answer, Posted):
            if answer.receipt:
                self._member.store.put(f"receipt/{item.key.hex()}", answer.receipt)
            self.logged_size = max(self.logged_size, answer.index + 1)
            after_s = None if put_s is None else round(trio.current_time() - put_s, 3)
            text = f"{item.kind} logged as #{index}."
            self._member.events("logged", text, kind=item.kind, index=index, after_s=after_s)
        elif answer is not None:
            text = f"{item.kind} refused, and not sent again: {answer}"
            self._member.events("refused", text, kind=item.kind)
        self._member.store.drop_outbox(item.kind, item.key)
        self._offers.pop(item.number, None)
        if self._answered is not None:
            self._answered(item.kind, item.key, index)

    def _undo_lost(self, item: OutboxItem) -> bool:
        """Whether the blob behind an item is not here any more; its games are then to be played again."""
        record = parse_entry(Post.parse(item.payload).envelope).record
        if not isinstance(record, BatchHeader | GateResult | TraceOpening):
            return False
        if self._member.blob_store.has(record.blob_digest):
            return False
        store = self._member.store
        if isinstance(record, BatchHeader) and record.fill_for:
            store.delete(sealed_fill(record.owner, record.release, record.first_counter))
        elif isinstance(record, BatchHeader) and record.first_counter < store.series(record.release).counter:
            store.put_series(Series(record.release, record.first_counter, False))
            self.lost += 1
        elif isinstance(record, GateResult):
            store.delete(f"gate/{record.assignment}")
        self._member.events(
            "refused",
            f"{item.kind} dropped: its blob {record.blob_digest.hex()[:16]} is missing or damaged on this disk. "
            "What it was made of is played again; check the disk.",
            kind=item.kind,
        )
        return True


def sealed_fill(owner: bytes, release: bytes, first_counter: int) -> str:
    """The name under which the store notes that a fill was put into the outbox."""
    return f"{FILLED}{owner.hex()}/{release.hex()}/{first_counter:016x}"
