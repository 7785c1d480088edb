"""What a node says of itself: the keys of the contract, a contributor's own numbers, and what it waits for."""

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from node.disk.store import Head, Store
from node.events import silent
from node.member import Member
from node.outbox import BATCH, KINDS, Outbox
from node.peering.backoff import Backoff
from node.peering.bans import FIRST_S, Bans
from node.peering.transport import Link, Unreachable
from node.peering.waits import Waits
from node.services import Services
from node.status import status_of
from protocol.receipt import Tick
from tests.node.homes import grown_world
from tests.node.keys import secret
from verification.state import LogState

KEYS = {"role", "run", "release", "log_size", "peers", "links", "services", "bans", "contained", "queues"}
KEYS |= {"version", "key", "run_name", "release_id", "newest_size", "fetching", "credit_plies", "credit_visits"}
KEYS |= {"next_try_in_s", "games", "plies", "verified", "pending", "rejected"}
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
        self.links = SimpleNamespace(table=SimpleNamespace(score=lambda peer: peer[0]))
        waits = Waits()
        found = (Link(b"\1" * 32, "/memory/1", 5.0), Link(b"\2" * 32, None, 7.5))
        self.transport = SimpleNamespace(
            peers=lambda: tuple(link.peer for link in found),
            links=lambda: found,
            waits=waits,
            faults=lambda: {"handler": 2, "stream": 3},
        )
        self.build = "0.4.1"
        self.blobs = SimpleNamespace(progress=lambda: [(b"\3" * 32, 10, 40)])
        self.newest: Head | None = None

    def newest_head(self) -> Head | None:
        return self.newest

    def clock(self) -> float:
        return WALL_S + trio.current_time() + self.skew_s

    unix_s = Member.unix_s


def said(member: Clocked, role: str, key: bytes, **more: Any) -> dict[str, Any]:
    outbox = Outbox(member)  # type: ignore[arg-type]
    outbox.put(BATCH, b"key", Tick(member.state.run, 2, 0).seal(secret(1)))
    outbox.waiting_since, outbox._failure = 12.0, "Nobody is there."
    found = status_of(member, role, key, outbox, **more)  # type: ignore[arg-type]
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    return found


async def test_the_keys_of_the_contract(store: Store, autojump_clock: MockClock) -> None:
    world = grown_world()
    await trio.sleep(20)
    found = said(Clocked(world.state, store), "verifier", world.verifiers[0].public, verdicts=3)
    assert set(found) >= KEYS
    assert (found["role"], found["run"], found["verdicts"]) == ("verifier", world.run.hex(), 3)
    assert (found["release"], found["log_size"], found["peers"]) == (world.state.release.name, world.state.size, 2)
    assert [queue["name"] for queue in found["queues"]] == list(KINDS)
    (waiting,) = (queue for queue in found["queues"] if queue["length"])
    since = int(WALL_S) + 12
    assert waiting == {"name": "batch", "length": 1, "waiting_for": "Nobody is there.", "since_unix_s": since}
    assert all(
        queue["waiting_for"] is queue["since_unix_s"] is None for queue in found["queues"] if not queue["length"]
    )
    assert found["contained"] == 5


async def test_links_say_what_is_awaited_from_whom_since_when(store: Store, autojump_clock: MockClock) -> None:
    member = Clocked(grown_world().state, store)
    await trio.sleep(10)
    waits = member.transport.waits
    with waits.waiting(b"\2" * 32, "/gonode/log/1 (head)"):
        await trio.sleep(3)
        with waits.waiting(b"\2" * 32, "/gonode/blob/1 (list)"):
            dialed, came = said(member, "verifier", b"")["links"]
    assert dialed == {
        "peer": "01" * 32,
        "address": "/memory/1",
        "direction": "out",
        "since_unix_s": int(WALL_S) + 5,
        "waiting_for": None,
        "waiting_since_unix_s": None,
        "score": 1,
    }
    assert (came["address"], came["direction"], came["since_unix_s"]) == (None, "in", int(WALL_S) + 7)
    assert (came["waiting_for"], came["waiting_since_unix_s"]) == ("/gonode/log/1 (head)", int(WALL_S) + 10)
    assert said(member, "verifier", b"")["links"][1]["waiting_for"] is None


async def test_a_clock_that_is_set_changes_no_age(store: Store, autojump_clock: MockClock) -> None:
    member = Clocked(grown_world().state, store)
    await trio.sleep(100)
    for skew_s in (0.0, 7 * 3600.0, -9 * 3600.0):
        member.skew_s = skew_s
        found = said(member, "verifier", b"")
        (waiting,) = (queue for queue in found["queues"] if queue["length"])
        assert member.clock() - waiting["since_unix_s"] == 88
        assert [member.clock() - link["since_unix_s"] for link in found["links"]] == [95, 93]


async def test_services_are_listed(store: Store) -> None:
    member = Clocked(grown_world().state, store)

    async def end() -> None:
        await trio.lowlevel.checkpoint()

    await member.services.keep("following", end)
    assert said(member, "verifier", b"")["services"] == [{"name": "following", "restarts": 0, "last_failure": None}]


async def test_bans_say_why_and_how_long(store: Store, autojump_clock: MockClock) -> None:
    member = Clocked(grown_world().state, store)
    assert said(member, "verifier", b"")["bans"] == []
    member.conduct = SimpleNamespace(bans=Bans(store))
    member.conduct.bans.ban(b"\7" * 32, "It served wrong bytes.")
    await trio.sleep(600)
    ban = {"peer": "07" * 32, "reason": "It served wrong bytes.", "times": 1, "left_s": FIRST_S - 600}
    assert said(member, "verifier", b"")["bans"] == [ban]
    await trio.sleep(FIRST_S)
    assert said(member, "verifier", b"")["bans"] == []


async def test_when_the_coordinator_is_tried_again(store: Store, autojump_clock: MockClock) -> None:
    member = Clocked(grown_world().state, store)
    assert said(member, "verifier", b"")["next_try_in_s"] is None
    with pytest.raises(Unreachable), member.reach.backoff.attempt():
        raise Unreachable("Nobody answers.")
    assert 0.5 < said(member, "verifier", b"")["next_try_in_s"] < 1.5
    await trio.sleep(5)
    assert said(member, "verifier", b"")["next_try_in_s"] == 0
    with member.reach.backoff.attempt():
        await trio.sleep(0)
    assert said(member, "verifier", b"")["next_try_in_s"] is None


async def test_what_comes_and_how_far_the_log_is(store: Store) -> None:
    member = Clocked(grown_world().state, store)
    found = said(member, "verifier", b"\5" * 32)
    assert found["fetching"] == [{"blob": "03" * 32, "held_bytes": 10, "total_bytes": 40}]
    assert (found["newest_size"], found["key"], found["version"]) == (None, "05" * 32, "0.4.1")
    member.newest = Head(member.state.size + 3, member.state.root, b"")  # type: ignore[arg-type]
    assert said(member, "verifier", b"")["newest_size"] == member.state.size + 3


async def test_a_contributor_counts_its_own(store: Store) -> None:
    world = grown_world()
    member = Clocked(world.state, store)
    own = said(member, "contributor", world.peers["ada"].public)
    run = said(member, "coordinator", world.coordinator.public)
    stranger = said(member, "contributor", secret(7).public)
    assert own["games"] == run["games"] > 0
    assert own["verified"] + own["pending"] + own["rejected"] == own["games"]
    assert own["batches"] > 0
    assert (stranger["games"], stranger["plies"], stranger["verified"]) == (0, 0, 0)


async def test_before_there_is_a_log(store: Store) -> None:
    found = said(Clocked(LogState(bytes(32)), store), "contributor", secret(7).public)
    assert set(found) >= KEYS
    assert (found["release"], found["log_size"], found["games"]) == (None, 0, 0)
