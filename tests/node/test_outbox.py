"""The outbox: order, repetition after a failure, receipts, refusals, and that a kill loses nothing."""

import dataclasses
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from node.disk.blob_store import BlobStore
from node.disk.store import Series, Store
from node.outbox import BATCH, FIRST_RETRY_S, GATE_RESULT, KINDS, OPENING, VERDICT, Outbox
from node.peering.call import CallRefused
from node.peering.post import Post, Posted
from node.peering.transport import Unreachable
from protocol.envelope import Envelope
from protocol.gate import GateResult
from protocol.header import BatchHeader
from protocol.receipt import Tick
from tests.node.keys import secret
from tests.vectors.record_examples import examples


class Desk:
    """What an outbox needs of a member: a store, and a coordinator that answers as `answers` says, in turn."""

    def __init__(self, store: Store, public: Path) -> None:
        self.store = store
        self.blob_store = BlobStore(public)
        self.answers: list[Exception | Posted] = []
        self.posted: list[bytes] = []
        self.tried_s: list[float] = []
        self.said: list[str] = []

    def clock(self) -> float:
        return trio.current_time()

    def jitter(self, seconds: float) -> float:
        return seconds

    def events(self, event: str, text: str, **values: Any) -> None:
        self.said.append(event)

    async def coordinator_back_within(self, seconds: float) -> bool:
        await trio.sleep(seconds)
        return False

    async def post(self, post: Post) -> Posted:
        self.tried_s.append(trio.current_time())
        await trio.lowlevel.checkpoint()
        answer = self.answers.pop(0) if self.answers else Posted(len(self.posted), b"")
        if isinstance(answer, Exception):
            raise answer
        self.posted.append(post.envelope)
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
    assert waits[0] == pytest.approx(FIRST_RETRY_S)
    assert all(a <= b <= 300.001 for a, b in pairwise(waits))
    assert waits[-1] == pytest.approx(300)
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
