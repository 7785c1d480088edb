"""What a node says of itself: the keys of the contract, a contributor's own numbers, and what it waits for."""

import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from node.disk.store import Store
from node.outbox import BATCH, KINDS, Outbox
from node.status import status_of
from protocol.receipt import Tick
from tests.node.homes import grown_world
from tests.node.keys import secret
from verification.state import LogState

KEYS = {"role", "run", "release", "log_size", "peers", "queues", "games", "plies", "verified", "pending", "rejected"}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "node.db") as store:
        yield store


def said(state: LogState, store: Store, role: str, key: bytes, **more: Any) -> dict[str, Any]:
    member = SimpleNamespace(state=state, store=store, transport=SimpleNamespace(peers=lambda: (b"a", b"b")))
    outbox = Outbox(member)  # type: ignore[arg-type]
    outbox.put(BATCH, b"key", Tick(state.run, 2, 0).seal(secret(1)))
    outbox.waiting_since, outbox.waiting_for = 12.9, "Nobody is there."
    found = status_of(member, role, key, outbox, **more)  # type: ignore[arg-type]
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    return found


def test_the_keys_of_the_contract(store: Store) -> None:
    world = grown_world()
    found = said(world.state, store, "verifier", world.verifiers[0].public, verdicts=3)
    assert set(found) >= KEYS
    assert (found["role"], found["run"], found["verdicts"]) == ("verifier", world.run.hex(), 3)
    assert (found["release"], found["log_size"], found["peers"]) == (world.state.release.name, world.state.size, 2)
    assert [queue["name"] for queue in found["queues"]] == list(KINDS)
    (waiting,) = (queue for queue in found["queues"] if queue["length"])
    assert waiting == {"name": "batch", "length": 1, "waiting_for": "Nobody is there.", "since_unix_s": 12}


def test_a_contributor_counts_its_own(store: Store) -> None:
    world = grown_world()
    own = said(world.state, store, "contributor", world.peers["ada"].public)
    run = said(world.state, store, "coordinator", world.coordinator.public)
    stranger = said(world.state, store, "contributor", secret(7).public)
    assert own["games"] == run["games"] > 0
    assert own["verified"] + own["pending"] + own["rejected"] == own["games"]
    assert own["batches"] > 0
    assert (stranger["games"], stranger["plies"], stranger["verified"]) == (0, 0, 0)


def test_before_there_is_a_log(store: Store) -> None:
    found = said(LogState(bytes(32)), store, "contributor", secret(7).public)
    assert set(found) >= KEYS
    assert (found["release"], found["log_size"], found["games"]) == (None, 0, 0)
