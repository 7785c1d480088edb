"""A coordinator that starts with root and manifest versions that wait: what it logs, with which key it signs then."""

from pathlib import Path
from random import Random
from typing import Any

import pytest

from node.coordinator.opening import open_coordinator
from node.disk.files import write_file
from node.disk.home import Home
from node.disk.keyring import load_key
from node.disk.store import Store, StoreError
from node.founding.amending import amend
from node.founding.ceremony import propose_root
from node.founding.errors import FoundingError
from node.founding.founding import found_run
from node.founding.layers import Choices
from node.founding.root_changes import with_coordinator, with_end
from node.founding.succession import prepare_key
from node.peering.memory.network import MemoryNetwork
from protocol import checkpoint
from protocol.checkpoint import SignedNote
from protocol.layout import CHECKPOINT
from protocol.receipt import Tick
from protocol.seeds import log_origin
from tests.node.founding.holders import ADDRESS, QUICK, found
from tests.sim.inline_engine import InlineEngine


@pytest.fixture
def home(tmp_path: Path) -> Home:
    found_run(tmp_path, None, [], ADDRESS, QUICK)
    return Home(tmp_path)


async def started(home: Home) -> tuple[Any, bytes, list[str]]:
    """Starts and ends a coordinator: its state, the head that it signed, and what it said about signatures."""
    said: list[str] = []

    def say(event: str, text: str, **_: Any) -> None:
        if event == "unsigned":
            said.append(text)

    network = MemoryNetwork()
    opening = open_coordinator(
        home,
        InlineEngine(),
        say,
        lambda: 0.0,
        lambda key, _: network.open(key),
        rng=Random(2),
        train=None,  # type: ignore[arg-type]
    )
    async with opening as coordinator:
        log = coordinator._log
        log.sign_head()
        return coordinator.intake._member.state, log.newest_note, said


async def test_the_next_key_signs_from_the_entry_that_names_it(home: Home) -> None:
    state, note, _ = await started(home)
    old, origin = load_key(home.key("coordinator")), log_origin(state.run)
    checkpoint.verify(SignedNote.parse(note), old.public, origin)
    new, key = prepare_key(home), load_key(home.key("root"))
    propose_root(home, lambda root, logged: (root, with_coordinator(root.roles, new, logged.size)), key)
    amend(home, None, Choices((), ("admission.tick_s=9",)), key)
    for _ in range(2):
        state, note, said = await started(home)
        assert (state.size, state.root.version, state.manifest.admission.tick_s, said) == (4, 2, 9, [])
        head = checkpoint.verify(SignedNote.parse(note), new, origin)
        assert head.size == 4
        assert load_key(home.key("coordinator")).public == new


async def test_an_older_store_beside_the_next_key_does_not_fork_the_log(home: Home) -> None:
    state, _, _ = await started(home)
    older, first = home.database.read_bytes(), load_key(home.key("coordinator"))
    with Store(home.database) as store:
        store.append([Tick(state.run, 2, 0).seal(first).encode()])
    new = prepare_key(home)
    propose_root(
        home, lambda root, logged: (root, with_coordinator(root.roles, new, logged.size)), load_key(home.key("root"))
    )
    state, note, _ = await started(home)
    assert (state.size, state.root.version) == (4, 2)
    write_file(home.public / CHECKPOINT, note)
    await started(home)
    home.database.write_bytes(older)  # root.next and the key that it names are there still, the log knows neither
    with pytest.raises(StoreError, match=r"has 2 entries .* size 4 .* fork"):
        await started(home)
    with Store(home.database) as store:
        assert store.log_size == 2


async def test_it_starts_without_what_is_not_signed_yet(tmp_path: Path) -> None:
    home = Home(tmp_path)
    found_run(tmp_path, None, [], ADDRESS, QUICK)
    await started(home)
    propose_root(home, lambda root, _: (root, root.roles))
    amend(home, None, Choices((), ("admission.tick_s=9",)), None)
    state, _, said = await started(home)
    assert (state.root.version, state.manifest.version) == (1, 1)
    assert [sentence.split(":")[0] for sentence in said] == [
        "Root version 2 is not logged",
        "Manifest version 2 is not logged",
    ]


async def test_it_does_not_start_a_run_that_is_not_signed(tmp_path: Path) -> None:
    found(tmp_path)
    with pytest.raises(FoundingError, match="not signed yet"):
        await started(Home(tmp_path))


async def test_a_revoked_key_does_not_start(home: Home) -> None:
    await started(home)
    key = load_key(home.key("coordinator")).public
    propose_root(home, lambda root, logged: (root, with_end(root.roles, key, logged.size)), load_key(home.key("root")))
    for _ in range(2):
        with pytest.raises(FoundingError, match="not the run's coordinator any more"):
            await started(home)
