"""A verifier as a mirror of posts, `PostKeeper`: takes posts for the coordinator, keeps them while it is away, passes
them on in order.

Spec: `docs/spec/swarm.md` ("Mirrors"), `docs/spec/wire.md` ("Post"). Invariants: what was said to be kept is on disk with
its blob until the log has it or can never have it; the batches of one (owner, release) are passed on by their counters;
an answer of the coordinator is handed back as it came, so a poster need not believe this node.
"""

import sqlite3
from collections import Counter
from typing import Final

import trio

from node.engine.engine import Engine
from node.member import Member
from node.own_status import queue_of
from node.peering.call import CallRefused, serve_calls
from node.peering.pace import SharedPace
from node.peering.post import HELD, POST_PROTOCOL, RELAYED, Post, Posted, mirror_key
from node.peering.transport import Misdeed, TransportError
from node.status import Queue
from node.verifier.shelf import Kept, Quota, Shelf, author_of
from protocol.entries import Entry, parse_entry
from protocol.errors import BadStamp
from protocol.gate import GateResult
from protocol.header import BatchHeader
from protocol.registration import Registration

FETCH_WITHIN_S: Final = 30
ANSWER_WITHIN_S: Final = 20.0
AT_ONCE: Final = 4
AT_ONCE_FROM_PEERS: Final = 32
AT_ONCE_OF_AUTHOR: Final = 8
PASSED_ON_OF_PEER: Final = (2.0, 32.0)
PASSED_ON: Final = (10.0, 64.0)
"""How many posts of one peer, and of all, are passed on that need not be kept: a second, and at once."""

LOOK_EVERY_S: Final = 1.0
REFUSED_AGAIN_S: Final = 5.0
FAILED_AGAIN_S: Final = 2.0
PROVIDE_EVERY_S: Final = 1200.0
PROVIDE_AGAIN_S: Final = 60.0


class PostKeeper:
    """Serves posts from when it is made; `run` passes on what is kept."""

    def __init__(self, member: Member, engine: Engine, quota: Quota | None = None) -> None:
        self._member = member
        self._engine = engine
        self._shelf = Shelf(member.store, quota or Quota())
        self._passed: dict[tuple[bytes, bytes], int] = {}
        self._busy: set[bytes] = set()
        self._swept_size = -1
        self._serving = 0
        self._serving_of: Counter[bytes] = Counter()
        self._pace = SharedPace(PASSED_ON_OF_PEER, PASSED_ON)
        serve_calls(member.transport, POST_PROTOCOL, self.call, max_bytes=Post.MAX_BYTES)

    @property
    def queues(self) -> list[Queue]:
        """For `gonode status`: what is kept, and why it waits."""
        backoff = self._member.reach.backoff
        waiting_for = backoff.waiting_for if len(self._shelf) else None
        return [queue_of(self._member, "mirrored", len(self._shelf), waiting_for, backoff.since_s)]

    def names(self, blob_digest: bytes) -> bool:
        """Whether a blob is behind something that is kept, so that it must stay on disk."""
        return self._shelf.names(blob_digest)

    async def run(self) -> None:
        """Passes on what is kept, and tells the directory now and then that posts are taken here, until cancelled."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._provide)
            nursery.start_soon(self._pass_on_all)

    # ---- what peers post

    async def call(self, peer: bytes, request: bytes) -> bytes:
        """Takes a post of `peer`; the answer is a `Posted`. Raises CallRefused with the reason."""
        if self._serving >= AT_ONCE_FROM_PEERS:
            raise CallRefused("This verifier is busy with other posts.")
        self._serving += 1
        try:
            return (await self._take(Post.parse(request).envelope, peer)).encode()
        finally:
            self._serving -= 1

    async def _take(self, data: bytes, peer: bytes) -> Posted:
        entry = parse_entry(data)
        state, record = self._member.state, entry.record
        if state.size < 2:
            raise CallRefused("This verifier has no log yet.")
        if not isinstance(record, RELAYED):
            raise CallRefused(f"A verifier passes no {record.NAME} on.")
        reason = self._member.never_logged(data)
        if reason is not None:
            raise CallRefused(reason)
        is_logged = entry.envelope.digest in state.subjects.by_digest
        if is_logged or not isinstance(record, BatchHeader | GateResult):
            return await self._pass_on_now(entry, data, is_logged, peer)
        author = author_of(record)
        if self._serving_of[author] >= AT_ONCE_OF_AUTHOR:
            raise CallRefused("This verifier is busy with other posts of this contributor.")
        self._serving_of[author] += 1
        try:
            kept = self._shelf.find(entry.envelope.digest) or await self._keep(entry, record, data, peer)
            return await self._answer(kept)
        finally:
            self._serving_of[author] -= 1
            if not self._serving_of[author]:
                del self._serving_of[author]

    async def _pass_on_now(self, entry: Entry, data: bytes, is_logged: bool, peer: bytes) -> Posted:
        """The coordinator's answer to what is not kept: a registration, or what the log has and only lacks its receipt.

        Anybody can post what is logged, so this has a pace: it is this verifier that the coordinator sees ask.
        """
        if not self._pace.take(peer):
            raise CallRefused("This verifier passes no more on now; ask others, or again later.")
        if isinstance(entry.record, Registration) and not entry.record.invite and not is_logged:
            await self._require_stamp(entry.record, peer)
        failure = "The coordinator does not answer this verifier."
        try:
            with trio.move_on_after(ANSWER_WITHIN_S):
                return await self._member.post_directly(Post(data, b""))
        except TransportError as error:
            failure = str(error)
        if is_logged:
            return HELD
        raise CallRefused(failure)

    async def _require_stamp(self, record: Registration, peer: bytes) -> None:
        """Tries the stamp of a registration: the coordinator would hold it against this verifier if it were none."""
        state = self._member.state
        try:
            await self._engine.compute(state.slots.verify_stamp, record, state.manifest.admission.stamp_difficulty)
        except BadStamp as error:
            self._member.transport.complain(peer, Misdeed.UNSTAMPED)
            raise CallRefused(str(error)) from None

    async def _keep(self, entry: Entry, record: BatchHeader | GateResult, data: bytes, peer: bytes) -> Kept:
        """Has an entry and its blob on disk; raises CallRefused when that cannot be."""
        member = self._member
        if member.state.registry.find(author_of(record)) is None:
            raise CallRefused("Its author is not registered, as far as this verifier's copy of the log goes.")
        if record.blob_len > member.state.manifest.limits.blob_bytes:
            raise CallRefused("Its blob is larger than the manifest's limits.")
        with self._shelf.room(record):
            try:
                was_here = member.blob_store.has(record.blob_digest)
                await member.blobs.fetch(record.blob_digest, [peer], record.blob_len, FETCH_WITHIN_S)
                found = self._shelf.find(entry.envelope.digest)  # the same post may have come by another way
                kept = found or self._shelf.add(entry, data, not was_here)
            except TransportError as error:
                raise CallRefused(f"Its blob did not come: {error}") from None
            except (OSError, sqlite3.Error, BaseExceptionGroup) as error:
                fault = _disk_fault(error)
                if fault is None:
                    raise
                member.events("mirror-full", f"A post cannot be kept: {fault}.")
                raise CallRefused("The disk of this verifier takes nothing more.") from None
        member.wake()
        return kept

    async def _answer(self, kept: Kept) -> Posted:
        """What the coordinator says if that comes soon, else that the entry is kept."""
        with trio.move_on_after(ANSWER_WITHIN_S):
            while kept.outcome is None and not self._is_coordinator_away():
                await kept.moved.wait()
        match kept.outcome:
            case Posted():
                return kept.outcome
            case CallRefused():
                raise kept.outcome
        if not kept.is_told:
            kept.is_told = True
            kind, author = kept.record.NAME, kept.author.hex()[:8]
            self._member.events("mirrored", f"Keeps a {kind} of {author} for the coordinator.", kind=kind)
        return HELD

    def _is_coordinator_away(self) -> bool:
        reach = self._member.reach
        return not reach.coordinators() or not reach.backoff.is_ready

    # ---- passing on

    async def _pass_on_all(self) -> None:
        """Passes on what is kept, a few authors at once, while the coordinator answers."""
        async with trio.open_nursery() as nursery:
            while True:
                self._sweep()
                if len(self._shelf):
                    await self._member.reach.backoff.until_ready()
                    for kept in self._shelf:
                        if len(self._busy) < AT_ONCE and kept.author not in self._busy and self._is_next(kept):
                            self._busy.add(kept.author)
                            nursery.start_soon(self._pass_on_of, kept.author)
                await self._member.change_within(LOOK_EVERY_S)

    async def _pass_on_of(self, author: bytes) -> None:
        try:
            while (kept := self._first_of(author)) is not None and await self._pass_on(kept):
                continue
        finally:
            self._busy.discard(author)
            self._member.wake()

    def _first_of(self, author: bytes) -> Kept | None:
        """What to pass on next of an author: gate results first, then the oldest batch before which nothing is missing."""
        own = [kept for kept in self._shelf if kept.author == author and self._is_next(kept)]
        return min(own, key=lambda kept: (isinstance(kept.record, BatchHeader), kept.number), default=None)

    def _is_next(self, kept: Kept) -> bool:
        """Whether it is time to pass an entry on, and the coordinator has what comes before it."""
        if kept.not_before_s > trio.current_time():
            return False
        record = kept.record
        if isinstance(record, GateResult):
            return True
        series = record.owner, record.release
        return record.first_counter <= max(self._member.state.next_counter(*series), self._passed.get(series, 0))

    async def _pass_on(self, kept: Kept) -> bool:
        """Posts a kept entry to the coordinator; whether it was logged."""
        member, record = self._member, kept.record
        outcome: Posted | CallRefused | None = None
        try:
            outcome = await member.post_directly(Post(kept.data, b""))
        except CallRefused as refusal:
            outcome = refusal
            kept.not_before_s = trio.current_time() + member.jitter(REFUSED_AGAIN_S)
            reason = member.never_logged(kept.data)
            if reason is not None:
                self._drop(kept, reason)
        except TransportError:
            kept.not_before_s = trio.current_time() + member.jitter(FAILED_AGAIN_S)
        else:
            self._shelf.drop(kept)
            if isinstance(record, BatchHeader):
                self._passed[record.owner, record.release] = record.first_counter + record.games
            text = f"Passed a {record.NAME} of {kept.author.hex()[:8]} on; it is logged as #{outcome.index}."
            member.events("passed-on", text, kind=record.NAME, index=outcome.index)
        kept.settle(outcome)
        return isinstance(outcome, Posted)

    def _sweep(self) -> None:
        """Keeps no longer what the log has come to show, or never will."""
        state = self._member.state
        if state.size == self._swept_size:
            return
        self._swept_size = state.size
        self._passed = {series: at for series, at in self._passed.items() if state.next_counter(*series) < at}
        for kept in self._shelf:
            if kept.digest in state.subjects.by_digest:
                self._shelf.drop(kept)
            elif self._may_be_vain(kept) and (reason := self._member.never_logged(kept.data)) is not None:
                self._drop(kept, reason)

    def _may_be_vain(self, kept: Kept) -> bool:
        """A look that costs little: whether to ask the state if an entry can still be logged."""
        state, record = self._member.state, kept.record
        if state.batches.is_out(kept.author) or isinstance(record, GateResult):
            return True
        release = state.release_by_id(record.release)
        series = state.batches.series(record.owner, record.release)
        is_old = release is not None and not state.releases.is_live(release, state.size)
        return is_old or series.closed or series.next_counter > record.first_counter

    def _drop(self, kept: Kept, reason: str) -> None:
        """Keeps no longer what can never be logged, nor the blob that was fetched for it."""
        record = kept.record
        self._shelf.drop(kept)
        logged = (batch.header.blob_digest for batch in self._member.state.batches.all)
        if kept.has_new_blob and not self._shelf.names(record.blob_digest) and record.blob_digest not in logged:
            self._member.blob_store.delete(record.blob_digest)
        text = f"A {record.NAME} of {kept.author.hex()[:8]} is not kept any longer: {reason}"
        self._member.events("refused", text, kind=record.NAME)

    # ---- being found

    async def _provide(self) -> None:
        """Tells the directory that posts are taken here; nothing depends on it."""
        key = mirror_key(self._member.state.run)
        await trio.sleep(self._member.jitter(LOOK_EVERY_S))
        while True:
            pause_s = PROVIDE_EVERY_S
            try:
                await self._member.transport.provide(key)
            except TransportError:
                pause_s = PROVIDE_AGAIN_S
            await trio.sleep(self._member.jitter(pause_s))


def _disk_fault(error: BaseException) -> str | None:
    """What the disk said, when that is all that an error is about."""
    if isinstance(error, BaseExceptionGroup):
        faults = {_disk_fault(each) for each in error.exceptions}
        return None if None in faults else "; ".join(sorted(fault for fault in faults if fault is not None))
    return (getattr(error, "strerror", None) or str(error)) if isinstance(error, OSError | sqlite3.Error) else None
