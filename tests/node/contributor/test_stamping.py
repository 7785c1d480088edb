"""Entering a run with a stamp: made try by try, kept over kills, renewed before it is too old, until a slot is won."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import TypeVar, TypeVarTuple

import pytest
import trio
import trio.testing

from node.contributor.contributor import Contributor, Expelled
from node.contributor.registrar import Registrar, RegistrationRefused
from node.contributor.stamping import KEY as STORED
from node.contributor.stamping import Stamper
from node.disk.store import Store
from node.peering.call import CallRefused
from protocol import stamp
from protocol.envelope import Envelope
from protocol.registration import Registration
from protocol.seeds import first_u64
from protocol.slots import SlotList
from tests.node.keys import secret
from tests.node.world_member import WorldMember
from tests.sim.inline_engine import InlineEngine
from tests.verification.manifests import small_manifest
from tests.verification.world import World

KEY = secret(1)
TIMEOUT = 40
T = TypeVar("T")
Arguments = TypeVarTuple("Arguments")


@pytest.fixture(autouse=True)
def cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tries by a hash in the place of scrypt."""

    def number(message: bytes, nonce: int) -> int:
        return first_u64(sha256(message + nonce.to_bytes(8, "little")).digest())

    monkeypatch.setattr(stamp, "stamp_number", number)


class SlowEngine(InlineEngine):
    """Each try takes a virtual second; `tries` are the nonces, and `before` is called before each."""

    def __init__(self) -> None:
        super().__init__()
        self.tries: list[tuple[int, int]] = []
        self.before: Callable[[], None] = lambda: None

    async def compute(self, function: Callable[[*Arguments], T], *arguments: *Arguments) -> T:
        """See `Engine.compute`."""
        self.before()
        await trio.sleep(1)
        found = function(*arguments)
        if isinstance(found, tuple):
            record = found[0]
            self.tries.append((record.log_size, record.stamp))
        return found


def stamp_world(difficulty: int = 32, slots: int = 1) -> World:
    plain = small_manifest()
    policy = replace(
        plain.admission,
        registration="stamp",
        stamp_difficulty=difficulty,
        probation_slots=slots,
        timeout_entries=TIMEOUT,
    )
    return World(replace(plain, admission=policy))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "node.db") as store:
        yield store


@pytest.fixture
def member(store: Store) -> WorldMember:
    return WorldMember(stamp_world(), store)


def registrar(member: WorldMember, engine: InlineEngine) -> Registrar:
    return Registrar(member, KEY, engine, b"", "ada")  # type: ignore[arg-type]


def stamper(member: WorldMember, engine: InlineEngine) -> Stamper:
    return Stamper(member, engine, KEY.public, "ada", b"")  # type: ignore[arg-type]


def let_in(member: WorldMember) -> None:
    """The coordinator lists what waits last, draws, logs it, and makes the beacon."""
    world = member.world
    record = Registration.open(envelope := Envelope.parse(member.waiting[-1]))
    assert record.peer == KEY.public
    world.log(SlotList(world.run, (envelope.digest,)), world.coordinator)
    world.share_set()
    world.log_bytes(envelope.encode())
    world.share_set()


async def test_a_key_stamps_waits_and_gets_in(member: WorldMember, autojump_clock: trio.testing.MockClock) -> None:
    engine = SlowEngine()
    entering = registrar(member, engine)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(entering.register)
        await trio.sleep(2.5)
        assert entering.waiting_for is not None
        assert entering.waiting_for.startswith("the stamp of its registration: 2 tries; it takes about 32")
        while not member.waiting:
            await trio.sleep(1)
        await trio.sleep(1)
        assert entering.waiting_for == "a probation slot: place 1 of 1"
        await trio.sleep(100)
        assert entering.waiting_for == f"a probation slot: place {len(member.waiting)} of {len(member.waiting)}"
        assert len(set(member.waiting)) == 1, "the same registration is posted again"
        let_in(member)
    assert entering.waiting_for is None
    assert member.said.count("waiting") == 1
    assert member.said[:2] == ["no-recovery", "stamping"]
    assert member.said[-1] == "registered"


async def test_a_kill_loses_no_try_but_the_last(member: WorldMember, autojump_clock: trio.testing.MockClock) -> None:
    engine = SlowEngine()
    while True:
        with trio.move_on_after(2.5):
            record = await stamper(member, engine).stamped()
            break
    assert stamp.is_stamp(record, 32)
    assert [nonce for _, nonce in engine.tries] == list(range(1, record.stamp + 1)), "each nonce once, in order"
    assert record.stamp > 4
    tried = len(engine.tries)
    assert await stamper(member, engine).stamped() == record
    assert len(engine.tries) == tried, "a stamp that is found is kept"


async def test_another_name_or_damage_on_disk_begins_anew(
    member: WorldMember, autojump_clock: trio.testing.MockClock
) -> None:
    first = await stamper(member, InlineEngine()).stamped()
    other = await Stamper(member, InlineEngine(), KEY.public, "adam", b"").stamped()  # type: ignore[arg-type]
    assert (first.name, other.name) == ("ada", "adam")
    for damage in (b"", b"\xc1", first.encode()[:-1], replace(first, peer=bytes(32)).encode()):
        member.store.put(STORED, damage)
        assert await stamper(member, InlineEngine()).stamped() == first


async def test_an_old_tree_gives_way_to_the_newest_in_the_middle_of_a_search(
    member: WorldMember, autojump_clock: trio.testing.MockClock
) -> None:
    engine = SlowEngine()
    member.world = stamp_world(difficulty=2**20)
    engine.before = lambda: member.world.ticks(1)
    with trio.move_on_after(100):
        await stamper(member, engine).stamped()
    sizes = sorted({size for size, _ in engine.tries})
    assert len(sizes) == 4
    assert all(later - earlier == TIMEOUT * 3 // 4 + 1 for earlier, later in pairwise(sizes))


async def test_a_stamp_that_waited_long_is_made_anew_in_time(
    member: WorldMember, autojump_clock: trio.testing.MockClock
) -> None:
    """The log grows by an entry every ten seconds; whatever is posted may still be listed."""
    async with trio.open_nursery() as nursery:
        nursery.start_soon(registrar(member, InlineEngine()).register)
        for _ in range(150):
            await trio.sleep(10)
            member.world.ticks(1)
            if member.waiting:
                record = Registration.open(Envelope.parse(member.waiting[-1]))
                assert record.log_size >= member.state.slots.oldest(member.state.size)
        assert len(set(member.waiting)) > 3
        let_in(member)


async def test_a_key_that_wins_while_it_stamps_anew_stops(
    member: WorldMember, autojump_clock: trio.testing.MockClock
) -> None:
    engine = SlowEngine()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(registrar(member, engine).register)
        while not member.waiting:
            await trio.sleep(1)
        member.world.ticks(TIMEOUT * 3 // 4 + 1)
        tried = len(engine.tries)
        while len(engine.tries) == tried:
            await trio.sleep(0.5)
        let_in(member)
    assert member.said[-1] == "registered"
    assert len(set(member.waiting)) == 1


async def test_a_refusal_that_may_pass_is_waited_out(
    member: WorldMember, autojump_clock: trio.testing.MockClock
) -> None:
    member.troubles = [CallRefused("Too many wait that came from addresses near yours; come again later.")] * 3
    entering = registrar(member, InlineEngine())
    async with trio.open_nursery() as nursery:
        nursery.start_soon(entering.register)
        await trio.sleep(35)
        assert entering.waiting_for is not None
        assert "near yours; come again later" in entering.waiting_for
        while not member.waiting:
            await trio.sleep(1)
        let_in(member)
    assert member.said[-1] == "registered"


async def test_what_the_log_never_allows_ends_it(member: WorldMember, autojump_clock: trio.testing.MockClock) -> None:
    verifier = member.world.verifiers[0]
    member.troubles = [CallRefused("No.")] * 3
    entering = Registrar(member, verifier, InlineEngine(), b"", "eve")  # type: ignore[arg-type]
    with pytest.raises(RegistrationRefused, match="A key with a role cannot register"):
        await entering.register()


async def test_an_invite_needs_no_stamp(member: WorldMember, autojump_clock: trio.testing.MockClock) -> None:
    engine = SlowEngine()
    entering = Registrar(member, KEY, engine, member.world.invite("a"), "ada")  # type: ignore[arg-type]
    async with trio.open_nursery() as nursery:
        nursery.start_soon(entering.register)
        while member.state.registry.find(KEY.public) is None:
            await trio.sleep(1)
        member.world.share_set()
    assert not engine.tries


async def test_a_drain_stops_the_search(store: Store, autojump_clock: trio.testing.MockClock) -> None:
    member = WorldMember(stamp_world(2**31), store)
    member.wake = lambda: None  # type: ignore[attr-defined]
    role = Contributor(member, KEY, SlowEngine(), "scalar", 1, b"", "ada")  # type: ignore[arg-type]
    async with trio.open_nursery() as nursery:
        nursery.start_soon(role.run)
        await trio.sleep(50)
        assert "the stamp of its registration" in (role._registrar.waiting_for or "")
        role.drain()
    assert trio.current_time() <= 55
    assert member.posts == 0


async def test_a_lost_slot_ends_a_contributor(store: Store, autojump_clock: trio.testing.MockClock) -> None:
    member = WorldMember(stamp_world(1), store)
    role = Contributor(member, KEY, InlineEngine(), "scalar", 1, b"", "ada")  # type: ignore[arg-type]
    member.waiting.append((await stamper(member, InlineEngine()).stamped()).seal(KEY).encode())
    let_in(member)
    member.world.ticks(TIMEOUT + 3)
    with pytest.raises(Expelled, match="sent no batch in time and lost its probation slot"):
        await role._watch_standing()


async def test_nothing_is_posted_while_play_rests(member: WorldMember, autojump_clock: trio.testing.MockClock) -> None:
    """A slot that is won then would be lost for want of a batch; the stamp is made anew if the rest was long."""
    goes_on, engine = trio.Event(), SlowEngine()
    entering = Registrar(member, KEY, engine, b"", "ada", until_play=goes_on.wait)  # type: ignore[arg-type]
    async with trio.open_nursery() as nursery:
        nursery.start_soon(entering.register)
        await trio.sleep(1000)
        assert member.posts == 0
        member.world.ticks(TIMEOUT)
        goes_on.set()
        await trio.sleep(1000)
        assert member.posts >= 1
        assert Registration.open(Envelope.parse(member.waiting[-1])).log_size > TIMEOUT
        nursery.cancel_scope.cancel()
