"""The door for keys without an invite: who waits at which place, who gets in, and what floods cost."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import trio
import trio.testing

from node.coordinator.doorkeeper import MOST_OF_GROUP, PREFIX, TRIES_OF_GROUP
from node.coordinator.intake import Intake
from node.disk.store import Store
from node.peering.bans import Bans
from node.peering.call import CallRefused
from node.peering.conduct import Conduct
from node.peering.post import Post, Posted
from node.peering.transport import Link, Misdeed
from protocol import stamp
from protocol.ed25519 import SecretKey
from protocol.envelope import Envelope
from protocol.registration import Registration
from protocol.seeds import first_u64
from protocol.slots import MOST_LISTED
from tests.node.keys import secret
from tests.sim.inline_engine import InlineEngine
from tests.verification.manifests import small_manifest
from tests.verification.world import World

POSTER = secret(9).public
TIMEOUT = 40


@pytest.fixture(autouse=True)
def tried(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Tries by a hash in the place of scrypt; the nonces tried."""
    nonces: list[int] = []

    def number(message: bytes, nonce: int) -> int:
        nonces.append(nonce)
        return first_u64(sha256(message + nonce.to_bytes(8, "little")).digest())

    monkeypatch.setattr(stamp, "stamp_number", number)
    return nonces


class Desk:
    """A coordinator's intake over a world that takes stamps; each key posts from an address of its own."""

    def __init__(self, store: Store, slots: int = 2, difficulty: int = 2) -> None:
        plain = small_manifest()
        policy = replace(
            plain.admission,
            registration="stamp",
            stamp_difficulty=difficulty,
            probation_slots=slots,
            timeout_entries=TIMEOUT,
        )
        self.world = World(replace(plain, admission=policy))
        self.store = store
        self.difficulty = difficulty
        self.hosts: dict[bytes, str] = {}
        self.misdeeds: list[tuple[bytes, Misdeed]] = []
        self.logged: dict[bytes, int] = {}
        self.transport: Any = SimpleNamespace(
            key=bytes(32), links=self._links, complain=lambda *told: self.misdeeds.append(told), peers=tuple
        )
        self.start()

    def start(self) -> None:
        """The coordinator's process, from what its disk holds."""
        member: Any = SimpleNamespace(
            state=self.world.state,
            store=self.store,
            transport=self.transport,
            events=lambda *said: None,
            wake=lambda: None,
        )
        log: Any = SimpleNamespace(index_of=lambda envelope: self.logged.get(envelope.digest), append=self._append)
        self.intake = Intake(member, self.world.coordinator, log, InlineEngine())
        self.door = self.intake.door

    def record(self, name: str, **changes: Any) -> Registration:
        """A registration without a stamp."""
        world, size = self.world, self.world.state.size
        plain = Registration(world.run, world.key(name).public, name, b"", size, world.state.tree.root(), b"", 0)
        return replace(plain, **changes)

    def stamped(self, name: str, **changes: Any) -> Registration:
        """A registration with a stamp."""
        record, is_found = stamp.find_stamp(self.record(name, **changes), self.difficulty, 1 << 16)
        assert is_found
        return record

    def wrong(self, name: str) -> Registration:
        """A registration with a nonce that is no stamp."""
        plain = self.record(name)
        tries = (replace(plain, stamp=nonce) for nonce in range(1, 1000))
        return next(each for each in tries if not stamp.is_stamp(each, self.difficulty))

    async def post(self, record: Registration, peer: bytes | None = None, signer: SecretKey | None = None) -> Posted:
        """What the coordinator answers, to the key itself by default."""
        envelope = record.seal(signer or self.world.key(record.name))
        return await self.intake.post(Post(envelope.encode(), b""), peer or record.peer)

    async def place(self, record: Registration, peer: bytes | None = None) -> tuple[int, int]:
        """The place that a registration is told."""
        posted = await self.post(record, peer)
        assert (posted.index, posted.receipt) == (0, b"")
        return posted.place, posted.waiting

    def draw(self) -> None:
        """One second of the coordinator, the beacon of what it listed, and another second."""
        self.door.step()
        self.world.share_set()
        self.door.step()
        self.world.share_set()

    @property
    def registered(self) -> set[str]:
        """Who is registered."""
        found = (self.world.state.registration(peer) for peer in self.world.state.registry.peers)
        return {info.record.name for info in found if info is not None and isinstance(info.record, Registration)}

    def _links(self) -> tuple[Link, ...]:
        return tuple(Link(peer, None, 0.0, host) for peer, host in self.hosts.items())

    def _append(self, envelope: Envelope) -> int:
        index = self.logged[envelope.digest] = self.world.log_bytes(envelope.encode())
        return index


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "node.db") as store:
        yield store


@pytest.fixture
def desk(store: Store) -> Desk:
    return Desk(store)


# ---- waiting


async def test_who_waits_is_told_its_place(desk: Desk, tried: list[int]) -> None:
    records = [desk.stamped(f"peer-{n}") for n in range(5)]
    tried.clear()
    assert [await desk.place(record) for record in records] == [(n, n) for n in range(1, 6)]
    assert [await desk.place(record) for record in records] == [(n, 5) for n in range(1, 6)]
    assert len(tried) == 5, "a repeated post is not tried again"
    assert desk.misdeeds == []


async def test_places_survive_a_kill(desk: Desk) -> None:
    records = [desk.stamped(f"peer-{n}") for n in range(5)]
    for record in records:
        await desk.post(record)
    desk.start()
    assert [await desk.place(record) for record in reversed(records)] == [(n, 5) for n in range(5, 0, -1)]
    assert await desk.place(desk.stamped("last")) == (6, 6)


async def test_winners_get_in_and_losers_go_on_waiting(desk: Desk) -> None:
    records = [desk.stamped(f"peer-{n}") for n in range(5)]
    for record in records:
        await desk.post(record)
    desk.draw()
    assert len(desk.registered) == 2
    losers = [record for record in records if record.name not in desk.registered]
    assert [await desk.place(record) for record in losers] == [(1, 3), (2, 3), (3, 3)]
    winner = next(record for record in records if record.name in desk.registered)
    assert (await desk.post(winner)).index == desk.logged[winner.seal(desk.world.key(winner.name)).digest]
    desk.draw()
    assert len(desk.registered) == 2, "no slot is free"
    desk.world.ticks(TIMEOUT + 2)
    fresh = [desk.stamped(record.name) for record in losers]
    for record in fresh:
        await desk.post(record)
    desk.draw()
    assert len(desk.registered) == 4
    assert len(desk.store.names(PREFIX)) == len(desk.door) == 1


async def test_a_kill_between_list_and_draw_changes_nothing(desk: Desk) -> None:
    for n in range(5):
        await desk.post(desk.stamped(f"peer-{n}"))
    desk.door.step()
    desk.start()
    desk.world.share_set()
    desk.start()
    desk.door.step()
    assert len(desk.registered) == 2


async def test_at_most_256_are_listed_oldest_first(store: Store) -> None:
    desk = Desk(store, difficulty=1)
    for n in range(MOST_LISTED + 3):
        await desk.post(desk.stamped(f"peer-{n}"))
    desk.door.step()
    draw = desk.world.state.slots.draw
    assert draw is not None
    assert len(draw.registrations) == MOST_LISTED
    digests = [
        desk.stamped(f"peer-{n}", log_size=draw.index, root_hash=desk.world.state.tree.root(draw.index))
        for n in (0, 255, 256)
    ]
    assert [record.digest() in draw.registrations for record in digests] == [True, True, False]


async def test_a_new_stamp_keeps_the_place(desk: Desk) -> None:
    for name in ("ada", "bob", "cyd"):
        await desk.post(desk.stamped(name))
    desk.world.ticks(3)
    renewed = desk.stamped("ada")
    assert await desk.place(renewed) == (1, 3)
    desk.start()
    assert await desk.place(renewed) == (1, 3)
    desk.door.step()
    draw = desk.world.state.slots.draw
    assert draw is not None
    assert renewed.digest() in draw.registrations


async def test_who_is_listed_does_not_lose_that_by_a_new_stamp(store: Store) -> None:
    desk = Desk(store, slots=1)
    first = desk.stamped("ada")
    await desk.post(first)
    desk.door.step()
    desk.world.ticks(3)
    assert await desk.place(desk.stamped("ada")) == (1, 1)
    desk.world.share_set()
    desk.door.step()
    info = desk.world.state.registration(first.peer)
    assert info is not None
    assert info.record == first


async def test_old_stamps_and_those_of_less_are_forgotten(store: Store) -> None:
    desk = Desk(store, slots=0)
    for name in ("ada", "bob"):
        await desk.post(desk.stamped(name))
    desk.world.ticks(TIMEOUT - 1)
    await desk.post(desk.stamped("bob"))
    desk.door.step()
    assert len(desk.door) == 2
    desk.world.ticks(2)
    desk.door.step()
    assert len(desk.door) == 1
    with pytest.raises(CallRefused, match="too old"):
        await desk.post(desk.record("ada", log_size=2, root_hash=desk.world.state.tree.root(2), stamp=1))
    policy = replace(desk.world.manifest.admission, probation_slots=0, stamp_difficulty=2**31)
    harder = replace(desk.world.manifest, run=desk.world.run, version=2, admission=policy)
    desk.world.log(harder, desk.world.root_key)
    desk.door.step()
    assert len(desk.door) == 0


async def test_an_invite_opens_the_door_at_once(desk: Desk) -> None:
    record = desk.record("ada", invite=desk.world.invite("ada"))
    assert (await desk.post(record)).index == desk.world.state.size - 1
    assert desk.registered == {"ada"}


async def test_who_waits_and_is_invited_leaves_the_queue(desk: Desk) -> None:
    await desk.post(desk.stamped("ada"))
    await desk.post(desk.record("ada", invite=desk.world.invite("ada")))
    desk.door.step()
    assert len(desk.door) == 0
    assert desk.world.state.slots.draw is None


async def test_the_same_registration_at_once_is_tried_once(desk: Desk, tried: list[int]) -> None:
    record = desk.stamped("ada")
    tried.clear()
    places: list[tuple[int, int]] = []

    async def post() -> None:
        places.append(await desk.place(record))

    async with trio.open_nursery() as nursery:
        for _ in range(4):
            nursery.start_soon(post)
    assert places == [(1, 1)] * 4
    assert len(tried) == 1


# ---- floods


@pytest.mark.parametrize(
    ("hosts", "is_one_group"),
    [
        ([f"8.8.4.{n}" for n in range(20)], True),
        ([f"8.8.{n}.4" for n in range(20)], False),
        ([f"2a00:1450:4001:{n:x}::/64" for n in range(20)], True),
        ([f"2a00:1450:{n:x}:1::/64" for n in range(1, 21)], False),
        (["192.168.1.7"] * 20, True),
        ([f"192.168.1.{n}" for n in range(20)], False),
        ([""] * 20, False),
    ],
)
async def test_few_wait_of_one_address_group(desk: Desk, hosts: list[str], is_one_group: bool) -> None:
    refused = 0
    for n, host in enumerate(hosts):
        record = desk.stamped(f"peer-{n}")
        desk.hosts[record.peer] = host
        try:
            await desk.post(record)
        except CallRefused as refusal:
            refused += "addresses near yours" in str(refusal)
    assert refused == (len(hosts) - MOST_OF_GROUP if is_one_group else 0)
    assert desk.misdeeds == []


async def test_what_is_relayed_counts_to_the_relay(desk: Desk) -> None:
    places = [await desk.place(desk.stamped(f"peer-{n}"), POSTER) for n in range(MOST_OF_GROUP)]
    assert places[-1] == (MOST_OF_GROUP, MOST_OF_GROUP)
    with pytest.raises(CallRefused, match="come again later"):
        await desk.post(desk.stamped("one-more"), POSTER)
    assert await desk.place(desk.stamped("one-more")) == (MOST_OF_GROUP + 1, MOST_OF_GROUP + 1)


async def test_the_whole_queue_is_bounded(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("node.coordinator.doorkeeper.MOST_WAITING", 10)
    for n in range(10):
        await desk.post(desk.stamped(f"peer-{n}"))
    with pytest.raises(CallRefused, match="10 registrations wait for a slot, which is all"):
        await desk.post(desk.stamped("late"))
    assert await desk.place(desk.stamped("peer-3")) == (4, 10)


async def test_ten_thousand_posts_without_a_stamp_cost_nothing(
    desk: Desk, tried: list[int], autojump_clock: trio.testing.MockClock
) -> None:
    record = desk.record("sybil")
    for _ in range(10_000):
        with pytest.raises(CallRefused, match="neither an invite nor a stamp"):
            await desk.door.take(entry(desk, record), record, POSTER)
    assert not tried
    assert Counter(desk.misdeeds) == {(POSTER, Misdeed.UNSTAMPED): 10_000}
    assert len(desk.door) == 0


async def test_ten_thousand_wrong_stamps_of_one_address_cost_few_tries(
    desk: Desk, tried: list[int], autojump_clock: trio.testing.MockClock
) -> None:
    record = desk.wrong("sybil")
    tried.clear()
    for _ in range(10_000):
        with pytest.raises(CallRefused):
            await desk.door.take(entry(desk, record), record, POSTER)
    assert len(tried) == TRIES_OF_GROUP[1]
    assert Counter(desk.misdeeds) == {(POSTER, Misdeed.UNSTAMPED): len(tried)}
    await trio.sleep(60)
    assert await desk.place(desk.stamped("honest")) == (1, 1)


async def test_wrong_stamps_from_everywhere_cost_one_try_each(
    desk: Desk, tried: list[int], autojump_clock: trio.testing.MockClock
) -> None:
    record = desk.wrong("sybil")
    tried.clear()
    for n in range(1000):
        with pytest.raises(CallRefused, match="does not reach"):
            await desk.door.take(entry(desk, record), record, n.to_bytes(32, "big"))
    assert len(tried) == 1000
    assert len(desk.misdeeds) == 1000


async def test_wrong_stamps_ban_their_sender(desk: Desk, autojump_clock: trio.testing.MockClock) -> None:
    conduct = Conduct(desk.transport, Bans(desk.store), lambda key: False)
    record = desk.wrong("sybil")
    for _ in range(4):
        with pytest.raises(CallRefused):
            await desk.post(record, POSTER)
    assert not conduct.bans.is_banned(POSTER)
    with pytest.raises(CallRefused):
        await desk.post(record, POSTER)
    assert conduct.bans.is_banned(POSTER)


async def test_what_the_log_never_allows_is_not_tried(desk: Desk, tried: list[int]) -> None:
    verifier = desk.world.verifiers[0]
    record = desk.stamped("eve", peer=verifier.public)
    other_tree = replace(desk.stamped("ada"), root_hash=bytes(32))
    tried.clear()
    for each, signer, reason in (
        (record, verifier, "A key with a role"),
        (other_tree, desk.world.key("ada"), "not of this log"),
        (desk.record("ada", stamp=1), verifier, "not signed by the key"),
    ):
        with pytest.raises(CallRefused, match=reason):
            await desk.post(each, signer=signer)
    assert not tried


def entry(desk: Desk, record: Registration) -> Any:
    """The parsed entry of a registration; its signature was checked before."""
    return SimpleNamespace(envelope=record.seal(desk.world.key(record.name)), record=record)
