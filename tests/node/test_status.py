"""What a node says of itself: the keys of the contract, a contributor's own numbers, and what it waits for; and its JSON."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from node.disk.store import Head, Store
from node.events import silent
from node.json_record import JsonFault, encode_record
from node.member import Member
from node.outbox import BATCH, KINDS, Outbox
from node.own_status import status_of
from node.peering.backoff import Backoff
from node.peering.bans import FIRST_S, Bans
from node.peering.transport import Link, Unreachable
from node.peering.waits import Waits
from node.role_status import Contributing, Coordinating, Pause, ReleaseState, Verifying, Work
from node.services import Services
from node.status import BanState, Fetching, Queue, ServiceState, Status
from node.training.events import Progress
from protocol.receipt import Tick
from tests.node.homes import grown_world
from tests.node.keys import secret
from tests.node.screen.statuses import CONTRIBUTING, COORDINATING, EVERY, contributor, link
from verification.state import LogState

VERIFYING = Verifying(3, 400)
WALL_S = 1_800_000_000.0


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "node.db") as store:
        yield store


class Clocked:
    """As much of a member as its status needs; `skew_s` is what somebody set the wall clock forward."""

    def __init__(self, state: LogState, store: Store) -> None:
        self.state = state
        self.store = store
        self.skew_s = 0.0
        self.services = Services(silent, Random(1))
        self.conduct: Any = None
        self.reach = SimpleNamespace(backoff=Backoff(lambda: False, Random(1)))
        self.follower = SimpleNamespace(said_size={b"\2" * 32: (77, 8.0)}.get)
        self.links = SimpleNamespace(table=SimpleNamespace(score=lambda peer: peer[0]))
        waits = Waits()
        found = (Link(b"\1" * 32, "/memory/1", 5.0), Link(b"\2" * 32, None, 7.5))
        self.transport = SimpleNamespace(
            peers=lambda: tuple(link.peer for link in found),
            links=lambda: found,
            waits=waits,
            faults=lambda: {"handler": 2, "stream": 3},
            relays=lambda: frozenset(self.relays),
        )
        self.build = "0.4.1"
        self.blobs = SimpleNamespace(progress=lambda: [(b"\3" * 32, 10, 40)])
        self.newest: Head | None = None
        self.relays: list[bytes] = []

    def newest_head(self) -> Head | None:
        return self.newest

    def clock(self) -> float:
        return WALL_S + trio.current_time() + self.skew_s

    unix_s = Member.unix_s


def said(member: Clocked, work: Work, key: bytes) -> Status:
    outbox = Outbox(member)  # type: ignore[arg-type]
    outbox.put(BATCH, b"key", Tick(member.state.run, 2, 0).seal(secret(1)))
    outbox.waiting_since, outbox._failure = 12.0, "Nobody is there."
    found = status_of(member, key, outbox, [], work)  # type: ignore[arg-type]
    assert Status.parse(json.loads(json.dumps(found.to_json(), allow_nan=False))) == found
    return found


async def test_who_it_is_and_what_waits(store: Store, autojump_clock: MockClock) -> None:
    world = grown_world()
    await trio.sleep(20)
    found = said(Clocked(world.state, store), VERIFYING, world.verifiers[0].public)
    assert (found.role, found.run, found.work) == ("verifier", world.run, VERIFYING)
    assert (found.release, found.log_size, found.peers) == (world.state.release.name, world.state.size, 2)
    assert [queue.name for queue in found.queues] == list(KINDS)
    (waiting,) = (queue for queue in found.queues if queue.length)
    assert waiting == Queue("batch", 1, "Nobody is there.", int(WALL_S) + 12)
    assert all(queue.waiting_for is queue.since_unix_s is None for queue in found.queues if not queue.length)
    assert found.contained == 5


async def test_relay_places_are_told(store: Store) -> None:
    member = Clocked(grown_world().state, store)
    assert said(member, VERIFYING, b"").relays == ()
    member.relays = [b"\2" * 32, b"\1" * 32]
    assert said(member, VERIFYING, b"").to_json()["relays"] == ["01" * 32, "02" * 32]


async def test_links_say_what_is_awaited_from_whom_since_when(store: Store, autojump_clock: MockClock) -> None:
    member = Clocked(grown_world().state, store)
    await trio.sleep(10)
    waits = member.transport.waits
    with waits.waiting(b"\2" * 32, "/gonode/log/1 (head)"):
        await trio.sleep(3)
        with waits.waiting(b"\2" * 32, "/gonode/blob/1 (list)"):
            dialed, came = said(member, VERIFYING, b"").links
    assert encode_record(dialed) == {
        "peer": "01" * 32,
        "address": "/memory/1",
        "direction": "out",
        "since_unix_s": int(WALL_S) + 5,
        "waiting_for": None,
        "waiting_since_unix_s": None,
        "score": 1,
        "log_size": None,
        "log_unix_s": None,
        "witness": None,
    }
    assert (came.log_size, came.log_unix_s) == (77, int(WALL_S) + 8)
    assert (came.address, came.direction, came.since_unix_s) == (None, "in", int(WALL_S) + 7)
    assert (came.waiting_for, came.waiting_since_unix_s) == ("/gonode/log/1 (head)", int(WALL_S) + 10)
    assert said(member, VERIFYING, b"").links[1].waiting_for is None


async def test_a_clock_that_is_set_changes_no_age(store: Store, autojump_clock: MockClock) -> None:
    member = Clocked(grown_world().state, store)
    await trio.sleep(100)
    for skew_s in (0.0, 7 * 3600.0, -9 * 3600.0):
        member.skew_s = skew_s
        found = said(member, VERIFYING, b"")
        (waiting,) = (queue for queue in found.queues if queue.length)
        assert member.clock() - waiting.since_unix_s == 88
        assert [member.clock() - link.since_unix_s for link in found.links] == [95, 93]


async def test_services_are_listed(store: Store) -> None:
    member = Clocked(grown_world().state, store)

    async def end() -> None:
        await trio.lowlevel.checkpoint()

    await member.services.keep("following", end)
    assert said(member, VERIFYING, b"").services == (ServiceState("following", 0, None),)


async def test_bans_say_why_and_how_long(store: Store, autojump_clock: MockClock) -> None:
    member = Clocked(grown_world().state, store)
    assert said(member, VERIFYING, b"").bans == ()
    member.conduct = SimpleNamespace(bans=Bans(store))
    member.conduct.bans.ban(b"\7" * 32, "It served wrong bytes.")
    await trio.sleep(600)
    ban = BanState(b"\7" * 32, "It served wrong bytes.", 1, int(FIRST_S) - 600)
    assert said(member, VERIFYING, b"").bans == (ban,)
    await trio.sleep(FIRST_S)
    assert said(member, VERIFYING, b"").bans == ()


async def test_when_the_coordinator_is_tried_again(store: Store, autojump_clock: MockClock) -> None:
    member = Clocked(grown_world().state, store)
    assert said(member, VERIFYING, b"").next_try_in_s is None
    with pytest.raises(Unreachable), member.reach.backoff.attempt():
        raise Unreachable("Nobody answers.")
    assert 0.5 < (said(member, VERIFYING, b"").next_try_in_s or 0) < 1.5
    await trio.sleep(5)
    assert said(member, VERIFYING, b"").next_try_in_s == 0
    with member.reach.backoff.attempt():
        await trio.sleep(0)
    assert said(member, VERIFYING, b"").next_try_in_s is None


async def test_what_comes_and_how_far_the_log_is(store: Store) -> None:
    member = Clocked(grown_world().state, store)
    found = said(member, VERIFYING, b"\5" * 32)
    assert found.fetching == (Fetching(b"\3" * 32, 10, 40),)
    assert (found.newest_size, found.key, found.version) == (None, b"\5" * 32, "0.4.1")
    member.newest = Head(member.state.size + 3, member.state.root, b"")  # type: ignore[arg-type]
    assert said(member, VERIFYING, b"").newest_size == member.state.size + 3


async def test_a_contributor_counts_its_own(store: Store) -> None:
    world = grown_world()
    member = Clocked(world.state, store)
    own = said(member, CONTRIBUTING, world.peers["ada"].public)
    run = said(member, COORDINATING, world.coordinator.public)
    stranger = said(member, CONTRIBUTING, secret(7).public)
    assert own.games == run.games > 0
    assert own.verified + own.pending + own.rejected == own.games
    assert own.batches > 0
    assert (stranger.games, stranger.plies, stranger.verified) == (0, 0, 0)


async def test_before_there_is_a_log(store: Store) -> None:
    found = said(Clocked(LogState(bytes(32)), store), CONTRIBUTING, secret(7).public)
    assert (found.release, found.run_name, found.release_id) == (None, None, None)
    assert (found.log_size, found.games) == (0, 0)


# ---- JSON


def filled(found: Status) -> Status:
    """With something in every list, and nothing left out."""
    work: Any = found.work
    if isinstance(work, Coordinating):
        progress = Progress(3, 9, 2.0, 1.5, 0.5, 4321, 0.0, 8.0)
        work = replace(work, training=progress, faults=("He lied.",), releases=(ReleaseState("r1", 1, 30),), gate=7)
    elif isinstance(work, Contributing):
        work = replace(work, paused=Pause("night", 5), hottest_c=71.5)
    return replace(
        found,
        work=work,
        relays=(b"\1" * 32,),
        fetching=(Fetching(b"\2" * 32, 1, 2),),
        bans=(BanState(b"\3" * 32, "It lied.", 1, 60),),
        next_try_in_s=2.5,
        queues=(Queue("batch", 1, "a peer", 12),),
    )


@pytest.mark.parametrize("found", [*EVERY, *map(filled, EVERY)], ids=lambda found: found.role)
def test_its_json_is_read_back(found: Status) -> None:
    assert Status.parse(json.loads(json.dumps(found.to_json(), allow_nan=False))) == found


def names_in(value: Any) -> set[str]:
    """Every key of a JSON value."""
    if isinstance(value, dict):
        return set(value) | set().union(*map(names_in, value.values()), set())
    return set().union(*map(names_in, value), set()) if isinstance(value, list) else set()


def test_every_key_is_documented() -> None:
    page = Path("docs/commands.md").read_text(encoding="utf-8")
    section = page.partition("\n## gonode status\n")[2].partition("\n## ")[0]
    trainers = set(encode_record(Progress(1, 1, 0.0, 0.0, 0.0, 0, 0.0, 0.0))) | {"event"}
    for found in EVERY:
        names = names_in(filled(found).to_json()) - trainers
        assert not {name for name in names if f"`{name}`" not in section}, found.role


def test_keys_that_scripts_rely_on_stay() -> None:
    common = (
        "role version key run run_name release release_id log_size newest_size peers links services fetching bans contained "
        "next_try_in_s queues games plies batches verified pending rejected credit_plies credit_visits"
    )
    own = {
        "contributor": "name played played_plies played_visits today paused hottest_c engine",
        "verifier": "verdicts replayed_plies engine",
        "coordinator": "doing training gate gate_played releases faults engine",
        "relay": "networks places circuits",
        "mirror": "copied shown missing",
    }
    for found in EVERY:
        assert set(found.to_json()) == {*common.split(), "relays", *own[found.role].split()}
    table = filled(EVERY[2]).to_json()
    assert table["training"] == {
        "event": "progress",
        "step": 3,
        "steps": 9,
        "loss": 2.0,
        "policy_loss": 1.5,
        "value_loss": 0.5,
        "samples_per_s": 4321,
        "waiting_share": 0.0,
        "seconds_left": 8.0,
    }
    assert (table["releases"], table["faults"]) == ([{"name": "r1", "number": 1, "steps": 30}], ["He lied."])
    assert EVERY[2].to_json()["training"] == {}


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"role": "king"}, "role is 'king'"),
        ({"role": "relay"}, "networks is missing"),
        ({"log_size": "7"}, "log_size is '7'"),
        ({"key": "zz"}, "key is 'zz'"),
        ({"queues": [{"name": "batch", "length": 1}]}, "queues[0].waiting_for is missing"),
        ({"links": [{**encode_record(link()), "direction": "up"}]}, "links[0]: direction is 'up'"),
        ({"paused": {"waiting_for": 5, "since_unix_s": 1}}, "paused.waiting_for is 5"),
    ],
)
def test_what_is_no_status(change: dict[str, Any], sentence: str) -> None:
    with pytest.raises(JsonFault) as found:
        Status.parse({**contributor().to_json(), **change})
    assert str(found.value) == sentence
