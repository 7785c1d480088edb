"""The outbox: order, repetition after a failure, receipts, refusals, and that a kill loses nothing."""

import dataclasses
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest
import trio
import trio.testing

from node.disk.blob_store import BlobStore
from node.disk.store import Series, Store
from node.outbox import (
    BATCH,
    GATE_RESULT,
    HELD_AGAIN_S,
    KINDS,
    NOT_YET_S,
    OFFERED_AGAIN_S,
    OPENING,
    VERDICT,
    Outbox,
    sealed_fill,
)
from node.peering.backoff import FIRST_S, LAST_S, Backoff
from node.peering.call import CallRefused
from node.peering.post import HELD, Post, Posted
from node.peering.reach import HeldByMirrors
from node.peering.transport import Unreachable
from protocol.envelope import Envelope
from protocol.errors import ParseError
from protocol.gate import GateResult
from protocol.header import BatchHeader
from protocol.receipt import Tick
from tests.node.keys import secret
from tests.vectors.record_examples import examples
from verification.subjects import Subjects


class Desk:
    """What an outbox needs of a member: a store, and a coordinator that answers as `answers` says, in turn."""

    def __init__(self, store: Store, public: Path) -> None:
        self.store = store
        self.blob_store = BlobStore(public)
        self.answers: list[Exception | Posted] = []
        self.posted: list[bytes] = []
        self.tried_s: list[float] = []
        self.said: list[str] = []
        self.backoff = Backoff(lambda: True, Random(1))
        self.reach = self
        self.state = SimpleNamespace(subjects=Subjects(None, None, None, None))  # type: ignore[arg-type]
        self.may_come: set[bytes] = set()
        self.verifiers: list[bytes] = []
        self.offered: list[tuple[float, bytes]] = []
        self.verifiers_say: Callable[[Post], Exception | Posted] = lambda post: Unreachable("Nobody.")

    def clock(self) -> float:
        return trio.current_time()

    def jitter(self, seconds: float) -> float:
        return seconds

    def events(self, event: str, text: str, **values: Any) -> None:
        self.said.append(event)

    def never_logged(self, data: bytes) -> str | None:
        return None if data in self.may_come else "This key is banned."

    async def until(self, condition: Callable[[], Any]) -> None:
        while condition() is None:
            await trio.sleep(1)

    def mirrors(self) -> tuple[bytes, ...]:
        return tuple(self.verifiers)

    async def post_directly(self, post: Post) -> Posted:
        with self.backoff.attempt():
            self.tried_s.append(trio.current_time())
            await trio.lowlevel.checkpoint()
            answer = self.answers.pop(0) if self.answers else Posted(len(self.posted), b"")
            if isinstance(answer, Exception):
                raise answer
            self.posted.append(post.envelope)
            return answer

    async def offer(self, post: Post) -> Posted:
        self.offered.append((trio.current_time(), post.envelope))
        await trio.lowlevel.checkpoint()
        answer = self.verifiers_say(post)
        if isinstance(answer, Exception):
            raise answer
        return answer


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with Store(tmp_path / "node.db") as store:
        yield Desk(store, tmp_path / "public")


def outbox_of(desk: Desk, answered: Any = None) -> Outbox:
    return Outbox(desk, answered)  # type: ignore[arg-type]


def envelope(number: int) -> Envelope:
    return Tick(bytes(32), number, 0).seal(secret(1))


async def sent(outbox: Outbox) -> None:
    """Returns when everything was answered."""
    async with trio.open_nursery() as nursery:
        nursery.start_soon(outbox.run)
        await outbox.until_empty()
        nursery.cancel_scope.cancel()


async def test_items_go_out_in_the_order_of_putting(desk: Desk, autojump_clock: trio.testing.MockClock) -> None:
    outbox = outbox_of(desk)
    items = [envelope(number) for number in range(6)]
    for number, kind in enumerate((BATCH, VERDICT, OPENING, VERDICT, OPENING, BATCH)):
        outbox.put(kind, bytes([number]), items[number])
    assert len(outbox) == 6
    await sent(outbox)
    assert desk.posted == [item.encode() for item in items]
    assert len(outbox) == 0


async def test_gate_results_go_first(desk: Desk, autojump_clock: trio.testing.MockClock) -> None:
    outbox = outbox_of(desk)
    for number, kind in enumerate((BATCH, BATCH, GATE_RESULT, GATE_RESULT)):
        outbox.put(kind, bytes([number]), envelope(number))
    await sent(outbox)
    assert desk.posted == [envelope(number).encode() for number in (2, 3, 0, 1)]


async def test_the_same_item_is_sent_once(desk: Desk, autojump_clock: trio.testing.MockClock) -> None:
    outbox = outbox_of(desk)
    outbox.put(BATCH, b"a", envelope(1))
    outbox.put(BATCH, b"a", envelope(2))
    outbox.put(VERDICT, b"a", envelope(3))
    await sent(outbox)
    assert desk.posted == [envelope(1).encode(), envelope(3).encode()]


async def test_a_coordinator_that_is_away_is_tried_again_less_and_less_often(
    desk: Desk, autojump_clock: trio.testing.MockClock
) -> None:
    outbox = outbox_of(desk)
    outbox.put(BATCH, b"a", envelope(1))
    outbox.put(BATCH, b"b", envelope(2))
    desk.answers = [Unreachable("Nobody is there.") for _ in range(20)]
    began = trio.current_time()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(outbox.run)
        await trio.sleep(5)
        assert outbox.waiting_since == began
        assert outbox.waiting_for == "Nobody is there."
        assert len(outbox) == 2
        await outbox.until_empty()
        await trio.sleep(1)
        assert (outbox.waiting_since, outbox.waiting_for) == (None, "")
        nursery.cancel_scope.cancel()
    waits = [after - before for before, after in pairwise(desk.tried_s)][:20]
    assert waits[0] == pytest.approx(FIRST_S, rel=0.26)
    assert all(wait <= 1.1 * LAST_S for wait in waits)
    assert waits[-1] == pytest.approx(LAST_S, rel=0.26)
    assert desk.posted == [envelope(1).encode(), envelope(2).encode()]
    assert desk.said.count("waiting") == 1, "said once, not at each try"


async def test_a_refused_item_goes_and_the_rest_is_sent(desk: Desk, autojump_clock: trio.testing.MockClock) -> None:
    told: list[tuple[str, bytes, int | None]] = []
    outbox = outbox_of(desk, lambda kind, key, index: told.append((kind, key, index)))
    outbox.put(BATCH, b"a", envelope(1))
    outbox.put(BATCH, b"b", envelope(2))
    desk.answers = [CallRefused("This key is banned."), Posted(77, b"")]
    await sent(outbox)
    assert told == [(BATCH, b"a", None), (BATCH, b"b", 77)]
    assert desk.said == ["refused", "logged"]


async def test_what_may_be_taken_later_waits_and_keeps_its_place(
    desk: Desk, autojump_clock: trio.testing.MockClock
) -> None:
    outbox = outbox_of(desk)
    first, second = envelope(1), envelope(2)
    outbox.put(BATCH, b"a", first)
    outbox.put(BATCH, b"b", second)
    desk.may_come = {first.encode()}
    desk.answers = [CallRefused("No verifier takes batches now.") for _ in range(4)]
    async with trio.open_nursery() as nursery:
        nursery.start_soon(outbox.run)
        await trio.sleep(2 * NOT_YET_S)
        assert (desk.posted, len(outbox), desk.said) == ([], 2, ["waiting"])
        assert "No verifier takes batches now." in outbox.waiting_for
        assert outbox.waiting_since == 0
        await outbox.until_empty()
        nursery.cancel_scope.cancel()
    assert desk.posted == [first.encode(), second.encode()]
    assert trio.current_time() == pytest.approx(4 * NOT_YET_S, rel=0.1)
    assert desk.said == ["waiting", "logged", "logged"]


async def test_what_turns_out_never_to_be_taken_goes_soon(desk: Desk, autojump_clock: trio.testing.MockClock) -> None:
    outbox = outbox_of(desk)
    outbox.put(BATCH, b"a", envelope(1))
    desk.may_come = {envelope(1).encode()}
    desk.answers = [CallRefused("This key is banned.") for _ in range(2)]
    async with trio.open_nursery() as nursery:
        nursery.start_soon(outbox.run)
        await trio.sleep(1.5)
        desk.may_come.clear()  # the own copy of the log has caught up
        await outbox.until_empty()
        nursery.cancel_scope.cancel()
    assert trio.current_time() < NOT_YET_S / 2
    assert desk.said == ["waiting", "refused"]


async def test_an_item_whose_blob_is_lost_is_dropped_and_its_games_are_wanted_again(
    desk: Desk, autojump_clock: trio.testing.MockClock
) -> None:
    outbox = outbox_of(desk)
    made = examples()
    for name, kind in (("batch-header", BATCH), ("gate-result", GATE_RESULT), ("trace-opening", OPENING)):
        signer = made[name].signer
        assert signer is not None
        outbox.put(kind, b"key", made[name].record.seal(signer))
    outbox.put(VERDICT, b"key", envelope(1))
    batch, result = made["batch-header"].record, made["gate-result"].record
    assert isinstance(batch, BatchHeader)
    assert isinstance(result, GateResult)
    desk.store.put(f"gate/{result.assignment}", b"")
    desk.store.put_series(Series(batch.release, batch.first_counter + batch.games, True))
    desk.answers = [Unreachable("The blob cannot be fetched.") for _ in range(4)]
    await sent(outbox)
    assert desk.posted == [envelope(1).encode()]
    assert desk.said == ["refused"] * 3 + ["waiting", "logged"], "what names no blob is tried again"
    assert desk.store.series(batch.release) == Series(batch.release, batch.first_counter, False)
    assert desk.store.get(f"gate/{result.assignment}") is None


async def test_a_fill_whose_blob_is_lost_is_played_again_and_the_own_series_is_as_it_was(
    desk: Desk, autojump_clock: trio.testing.MockClock
) -> None:
    outbox = outbox_of(desk)
    example = examples()["batch-header"]
    assert isinstance(example.record, BatchHeader)
    assert example.signer is not None
    header = dataclasses.replace(example.record, fill_for=b"\1" * 32)
    own, name = Series(header.release, 64, False), sealed_fill(header.owner, header.release, header.first_counter)
    desk.store.put_series(own)
    desk.store.put(name, b"")
    outbox.put(BATCH, b"key", header.seal(example.signer))
    desk.answers = [Unreachable("The blob cannot be fetched.")]
    await sent(outbox)
    assert desk.store.series(header.release) == own
    assert desk.store.get(name) is None
    assert outbox.lost == 0


async def test_an_item_whose_blob_is_here_waits(desk: Desk, autojump_clock: trio.testing.MockClock) -> None:
    outbox = outbox_of(desk)
    example = examples()["batch-header"]
    assert isinstance(example.record, BatchHeader)
    assert example.signer is not None
    header = dataclasses.replace(example.record, blob_digest=desk.blob_store.put(b"games"))
    outbox.put(BATCH, b"key", header.seal(example.signer))
    desk.answers = [Unreachable("Nobody is there."), Unreachable("Nobody is there.")]
    await sent(outbox)
    assert desk.said == ["waiting", "logged"]


async def test_receipts_are_kept(desk: Desk, autojump_clock: trio.testing.MockClock) -> None:
    outbox = outbox_of(desk)
    outbox.put(BATCH, b"\xab\xcd", envelope(1))
    desk.answers = [Posted(5, b"a receipt")]
    await sent(outbox)
    assert desk.store.get("receipt/abcd") == b"a receipt"


async def test_a_kill_loses_nothing(desk: Desk, tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    outbox = outbox_of(desk)
    outbox.put(VERDICT, b"a", envelope(1), proof=b"proof")
    outbox.put(OPENING, b"a", envelope(2))
    desk.answers = [Unreachable("Nobody is there.")]
    with trio.move_on_after(0.5):
        await outbox.run()
    desk.store.close()
    with Store(tmp_path / "node.db") as store:
        again = Desk(store, tmp_path / "public")
        outbox = outbox_of(again)
        assert [item.kind for item in store.waiting()] == [VERDICT, OPENING]
        assert Post.parse(store.waiting()[0].payload) == Post(envelope(1).encode(), b"proof")
        await sent(outbox)
        assert again.posted == [envelope(1).encode(), envelope(2).encode()]


async def test_what_is_put_later_wakes_it(desk: Desk, autojump_clock: trio.testing.MockClock) -> None:
    outbox = outbox_of(desk)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(outbox.run)
        await trio.sleep(100)
        outbox.put(BATCH, b"a", envelope(1))
        await outbox.until_empty()
        assert trio.current_time() == pytest.approx(desk.tried_s[0])
        nursery.cancel_scope.cancel()
    assert len(desk.posted) == 1


def test_every_kind_is_shown_in_the_status() -> None:
    assert set(KINDS) == {BATCH, GATE_RESULT, VERDICT, OPENING}


# ---- the coordinator is away, verifiers are not


def batches(desk: Desk, outbox: Outbox, count: int) -> list[bytes]:
    """Puts batches, their blobs on the disk; their envelopes."""
    example = examples()["batch-header"]
    assert isinstance(example.record, BatchHeader)
    assert example.signer is not None
    sealed = []
    for number in range(count):
        blob = desk.blob_store.put(b"games %d" % number)
        header = dataclasses.replace(example.record, blob_digest=blob, first_counter=2 * number)
        envelope = header.seal(example.signer)
        outbox.put(BATCH, envelope.digest, envelope)
        sealed.append(envelope.encode())
    return sealed


def away(desk: Desk) -> None:
    """The coordinator does not answer; two verifiers keep what they are offered."""
    desk.answers = [Unreachable("Nobody is there.") for _ in range(1000)]
    desk.verifiers = [b"v" * 32, b"w" * 32]
    desk.verifiers_say = lambda post: HeldByMirrors((b"v" * 32, b"w" * 32))


async def test_every_batch_is_kept_by_verifiers_while_the_coordinator_is_away(
    desk: Desk, autojump_clock: trio.testing.MockClock
) -> None:
    outbox = outbox_of(desk)
    sealed = batches(desk, outbox, 3)
    outbox.put(VERDICT, b"v", envelope(1))
    away(desk)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(outbox.run)
        await trio.sleep(10)
        assert [entry for _, entry in desk.offered] == sealed, "each once, in order, and no verdict"
        assert len(outbox) == 4, "what is kept elsewhere is kept here as well"
        assert outbox.waiting_for == "Nobody is there. 3 items are kept by verifiers too: 76767676, 77777777."
        sealed.append(batches(desk, outbox, 4)[3])
        await trio.sleep(3)
        assert [entry for _, entry in desk.offered] == sealed, "the newest is offered at once, the others not again"
        await trio.sleep(3600)
        times = sorted(at for at, entry in desk.offered if entry == sealed[0])
        gaps = [after - before for before, after in pairwise(times)]
        assert all(HELD_AGAIN_S - 1 <= gap <= HELD_AGAIN_S + 10 for gap in gaps), gaps
        assert len(gaps) > 20

        desk.answers = []
        await outbox.until_empty()
        await trio.sleep(0)
        assert desk.posted == [*sealed[:3], envelope(1).encode(), sealed[3]], "in order, to the coordinator itself"
        assert outbox.waiting_for == ""
        nursery.cancel_scope.cancel()


async def test_a_batch_that_the_log_shows_is_offered_again_at_once(
    desk: Desk, autojump_clock: trio.testing.MockClock
) -> None:
    outbox = outbox_of(desk)
    (batch,) = batches(desk, outbox, 1)
    away(desk)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(outbox.run)
        await trio.sleep(10)
        assert len(desk.offered) == 1
        desk.state.subjects.by_digest[Envelope.parse(batch).digest] = object()
        await trio.sleep(3)
        assert len(desk.offered) == 2
        await trio.sleep(10)
        assert len(desk.offered) == 2, "a verifier that has no receipt yet is not asked again and again"
        desk.verifiers_say = lambda post: Posted(9, b"a receipt")
        await outbox.until_empty()
        assert desk.store.get(f"receipt/{Envelope.parse(batch).digest.hex()}") == b"a receipt"
        nursery.cancel_scope.cancel()


async def test_verifiers_that_take_nothing_are_asked_again_slowly(
    desk: Desk, autojump_clock: trio.testing.MockClock
) -> None:
    outbox = outbox_of(desk)
    batches(desk, outbox, 2)
    away(desk)
    desk.verifiers_say = lambda post: Unreachable("Verifier 76767676 does not take it: it is full.")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(outbox.run)
        await trio.sleep(600)
        assert 2 * 600 / (OFFERED_AGAIN_S + 3) <= len(desk.offered) <= 2 * 600 / (OFFERED_AGAIN_S - 1) + 2
        assert len(outbox) == 2
        assert outbox.waiting_for == "Nobody is there."
        nursery.cancel_scope.cancel()


async def test_a_verifier_that_comes_later_is_offered_what_waits(
    desk: Desk, autojump_clock: trio.testing.MockClock
) -> None:
    outbox = outbox_of(desk)
    batches(desk, outbox, 2)
    away(desk)
    verifiers, desk.verifiers = desk.verifiers, []
    async with trio.open_nursery() as nursery:
        nursery.start_soon(outbox.run)
        await trio.sleep(2000)
        assert desk.offered == []
        desk.verifiers = verifiers
        await trio.sleep(3)
        assert len(desk.offered) == 2
        nursery.cancel_scope.cancel()


def test_what_is_held_has_no_index() -> None:
    assert Posted.parse(HELD.encode()) == HELD
    with pytest.raises(ParseError):
        Posted(1, b"", held=True)
