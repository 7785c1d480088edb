"""Next root versions: signed by the root's key, accepted by the log, logged once at the coordinator's start."""

from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest

from node.coordinator.opening import open_coordinator
from node.disk.home import Home
from node.disk.keyring import create_key, load_key
from node.disk.store import Store
from node.founding.ceremony import waiting_root
from node.founding.founding import FoundingError, found_run, load_founding
from node.founding.root_signing import approve, waiting_roots
from node.peering.memory.network import MemoryNetwork
from protocol.errors import BadKey, ParseError
from protocol.root import Root
from tests.node.keys import secret
from tests.sim.inline_engine import InlineEngine
from verification.state import LogState

ADDRESS = "/ip4/127.0.0.1/tcp/4001"
KEYS = [secret(number).public for number in range(4)]


@pytest.fixture
def home(tmp_path: Path) -> Home:
    found_run(tmp_path, None, [], ADDRESS)
    return Home(tmp_path)


def approved(home: Home, verifiers: Sequence[bytes]) -> Root:
    """The next root version, with these verifiers besides the old ones, signed by the directory's root key."""
    root = approve(home, verifiers, None, load_key(home.key("root"))).root
    assert root is not None
    return root


def begun(home: Home) -> LogState:
    state = LogState(home.load_ticket().run)
    for envelope in load_founding(home):
        state.apply(envelope.encode())
    return state


def test_a_verifier_is_approved(home: Home) -> None:
    root = approved(home, KEYS[:1])
    assert (root.version, root.witness_threshold) == (2, 1)
    state = begun(home)
    assert state.root.verifiers == ()
    (waiting,) = waiting_roots(home, state)
    state.apply(waiting.encode())
    assert state.root == root
    assert [role.key for role in state.root.verifiers] == KEYS[:1]
    assert waiting_roots(home, state) == []


def test_more_are_added_before_and_after_the_coordinator_logged_it(home: Home) -> None:
    approved(home, KEYS[:1])
    second = approved(home, KEYS[1:3])
    assert (second.version, len(second.verifiers), second.witness_threshold) == (2, 3, 2)
    waiting = waiting_root(home)
    assert waiting is not None
    state = begun(home)
    (home.directory / "root.next").unlink()
    first = approved(home, KEYS[:1])
    (envelope,) = waiting_roots(home, state)
    state.apply(envelope.encode())
    with Store(home.database) as store:
        store.append([each.encode() for each in (*load_founding(home), envelope)])
    (home.directory / "root.next").unlink()
    third = approved(home, KEYS[1:2])
    assert (first.version, third.version) == (2, 3)
    (envelope,) = waiting_roots(home, state)
    state.apply(envelope.encode())
    assert [role.key for role in state.root.verifiers] == KEYS[:2]


def test_who_has_a_role_gets_no_other(home: Home) -> None:
    for key in (load_key(home.key("coordinator")).public,):
        with pytest.raises(FoundingError, match="has a role already"):
            approved(home, [key])
    with pytest.raises(ParseError, match="one role"):
        approved(home, [KEYS[0], KEYS[0]])
    with pytest.raises(BadKey):
        approved(home, [bytes(32)])
    approved(home, KEYS[:1])
    with pytest.raises(FoundingError, match="has a role already"):
        approved(home, KEYS[:1])
    assert Root.open(waiting_root(home)).version == 2  # type: ignore[arg-type]


def test_another_key_cannot_sign(home: Home) -> None:
    home.key("root").unlink()
    create_key(home.key("root"), secret(9))
    with pytest.raises(FoundingError, match="other keys"):
        approved(home, KEYS[:1])
    assert waiting_root(home) is None


async def test_what_was_signed_before_the_first_start_is_logged_by_it(home: Home) -> None:
    """Also by two commands, one after the other."""
    approved(home, KEYS[:1])
    approved(home, KEYS[1:2])
    network = MemoryNetwork()
    opening = open_coordinator(
        home, InlineEngine(), lambda *_, **__: None, lambda: 0.0, lambda key, _: network.open(key), rng=Random(2)
    )
    async with opening as coordinator:
        root = coordinator.intake._member.state.root
    assert (root.version, [role.key for role in root.verifiers]) == (2, KEYS[:2])
