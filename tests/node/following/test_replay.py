"""What a start makes of the stored log: signatures that were verified before are not verified again, damage is found."""

import sqlite3
from pathlib import Path

import pytest

from node.disk.store import Head, Store
from node.following.heads import LogRefused
from node.following.stored_log import replay_log, verified_tree
from protocol import ed25519, envelope
from protocol.merkle import leaf_hash
from tests.verification.world import World
from verification.state import LogState

MORE = 3
"""Entries after the newest head."""


@pytest.fixture
def world() -> World:
    """A short log with share sets of two verifiers."""
    world = World(verifiers=2)
    for _ in range(5):
        world.ticks(4)
        world.share_set()
    return world


@pytest.fixture
def path(world: World, tmp_path: Path) -> Path:
    """The world's log in a store, with its head, and a few entries more."""
    with Store(tmp_path / "node.db") as store:
        store.put_head(Head(world.state.size, world.state.tree.root(), world.note()))
        world.ticks(MORE)
        store.append(world.entries)
    return tmp_path / "node.db"


@pytest.fixture
def verified(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """The messages whose signatures are verified, in a process that has verified none."""
    messages: list[bytes] = []
    verify = ed25519.verify

    def counted(key: bytes, message: bytes, signature: bytes) -> None:
        messages.append(message)
        verify(key, message, signature)

    monkeypatch.setattr(ed25519, "verify", counted)
    monkeypatch.setattr(envelope, "_verified", envelope._Verified(100))
    return messages


def replay(world: World, path: Path) -> LogState:
    state = LogState(world.run)
    with Store(path) as store:
        replay_log(state, store)
    return state


def damage(path: Path, index: int) -> None:
    """Changes a signature in a stored entry."""
    database = sqlite3.connect(path)
    (entry,) = database.execute("SELECT entry FROM log WHERE number = ?", (index,)).fetchone()
    at = entry.index(b"sig") + 10
    database.execute(
        "UPDATE log SET entry = ? WHERE number = ?", (entry[:at] + bytes([entry[at] ^ 1]) + entry[at + 1 :], index)
    )
    database.commit()
    database.close()


def test_what_was_verified_before_is_not_verified_again(world: World, path: Path, verified: list[bytes]) -> None:
    assert replay(world, path).tree.root() == world.state.tree.root()
    assert len(verified) == MORE


def test_without_a_head_every_signature_is_verified(world: World, path: Path, verified: list[bytes]) -> None:
    database = sqlite3.connect(path)
    database.execute("DELETE FROM heads")
    database.commit()
    database.close()
    assert replay(world, path).tree.root() == world.state.tree.root()
    assert len(verified) > len(world.entries)


@pytest.mark.parametrize("index", [5, -MORE - 1, -1])
def test_a_damaged_entry_is_found_and_named(index: int, world: World, path: Path, verified: list[bytes]) -> None:
    index %= world.state.size
    damage(path, index)
    with Store(path) as store:
        assert verified_tree(store).size == world.state.size - MORE
    with pytest.raises(LogRefused, match=f"entry at {index} "):
        replay(world, path)
    assert len(verified) <= MORE + 2  # those of the damaged entry, and what follows the head


def damage_hashes(path: Path, statement: str) -> None:
    database = sqlite3.connect(path)
    database.execute(statement)
    database.commit()
    database.close()


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM leaves WHERE number > 3",
        "DELETE FROM leaves WHERE number = 2",
        "UPDATE leaves SET hash = zeroblob(32) WHERE number = 4",
        "UPDATE leaves SET hash = zeroblob(31) WHERE number = 4",
    ],
)
def test_damaged_hashes_are_made_anew(statement: str, world: World, path: Path, verified: list[bytes]) -> None:
    damage_hashes(path, statement)
    assert replay(world, path).tree.root() == world.state.tree.root()
    assert len(verified) == MORE
    with Store(path) as store:
        assert list(store.leaves()) == [leaf_hash(entry) for entry in world.entries]


def test_hashes_of_damaged_entries_verify_nothing(world: World, path: Path, verified: list[bytes]) -> None:
    damage(path, 5)
    damage_hashes(path, "DELETE FROM leaves")
    with Store(path) as store:
        assert verified_tree(store).size == 0
    with pytest.raises(LogRefused, match="entry at 5 "):
        replay(world, path)
    assert len(verified) > 5
