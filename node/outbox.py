"""What waits to be logged: sent again, gate results first, until the coordinator has answered.

Items are in the store before they are sent, so a kill loses none and a repetition changes nothing. An item whose blob this
disk has lost could never be logged: it is dropped, and what it was made of is played again.
"""

from collections.abc import Callable

import trio

from node.disk.store import OutboxItem, Series
from node.member import Member
from node.peering.call import CallRefused
from node.peering.post import Post
from node.peering.transport import TransportError
from protocol.entries import parse_entry
from protocol.envelope import Envelope
from protocol.gate import GateResult
from protocol.header import BatchHeader
from protocol.verdict import TraceOpening
from protocol.words import counted

BATCH = "batch"
GATE_RESULT = "gate-result"
VERDICT = "verdict"
OPENING = "opening"
KINDS = (GATE_RESULT, VERDICT, OPENING, BATCH)

FIRST_RETRY_S = 1.0
LAST_RETRY_S = 300.0

Answered = Callable[[str, bytes, int | None], None]
"""Called with an item's kind and key, and its log index, or None when it was refused."""


class Outbox:
    """Sends the store's outbox; `lost` counts batches that were dropped because their blob was gone."""

    def __init__(self, member: Member, answered: Answered | None = None) -> None:
        self._member = member
        self._answered = answered
        self._added = trio.Event()
        self._emptied = trio.Event()
        self.waiting_since: float | None = None
        self.waiting_for = ""
        self.lost = 0

    def put(self, kind: str, key: bytes, envelope: Envelope, proof: bytes = b"") -> None:
        """Keeps an entry to be sent; the same (kind, key) again changes nothing."""
        self._member.store.put_outbox(kind, key, Post(envelope.encode(), proof).encode())
        self.wake()

    def wake(self) -> None:
        """Something was added to the store's outbox."""
        self._added.set()

    def __len__(self) -> int:
        return self._member.store.waiting_count()

    async def until_empty(self) -> None:
        """Returns once everything was answered."""
        while len(self):
            self._emptied = trio.Event()
            await self._emptied.wait()

    async def run(self) -> None:
        """Sends until cancelled."""
        retry_s = FIRST_RETRY_S
        while True:
            self._added = trio.Event()
            try:
                await self._send_all()
                retry_s = FIRST_RETRY_S
                self.waiting_since, self.waiting_for = None, ""
            except TransportError as error:
                if self.waiting_since is None:
                    self.waiting_since = self._member.clock()
                    self._member.events(
                        "waiting",
                        f"{error} {counted(len(self), 'item waits', 'items wait')} on disk. Next try in {retry_s:.0f} s.",
                    )
                self.waiting_for = str(error)
                is_back = await self._member.coordinator_back_within(self._member.jitter(retry_s))
                retry_s = FIRST_RETRY_S if is_back else min(LAST_RETRY_S, retry_s * 1.6)
                continue
            if not len(self):
                self._emptied.set()
                await self._added.wait()

    async def _send_all(self) -> None:
        """Sends gate results first, for the whole run waits for them, and the rest in the order in which it was put."""
        while (item := self._member.store.first_waiting(GATE_RESULT)) is not None:
            index: int | None = None
            try:
                posted = await self._member.post(Post.parse(item.payload))
                index = posted.index
                if posted.receipt:
                    self._member.store.put(f"receipt/{item.key.hex()}", posted.receipt)
                self._member.events("logged", f"{item.kind} logged as #{index}.", kind=item.kind, index=index)
            except CallRefused as refusal:
                self._member.events("refused", f"{item.kind} refused: {refusal}", kind=item.kind)
            except TransportError:
                if not self._undo_lost(item):
                    raise
            self._member.store.drop_outbox(item.kind, item.key)
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
        if isinstance(record, BatchHeader) and record.first_counter < store.series(record.release).counter:
            store.put_series(Series(record.release, record.first_counter, False))
            self.lost += 1
        elif isinstance(record, GateResult):
            store.delete(f"gate/{record.assignment}")
        self._member.events(
            "refused",
            f"{item.kind} dropped: its blob {record.blob_digest.hex()[:16]} is missing or damaged on this disk.",
            kind=item.kind,
        )
        return True
