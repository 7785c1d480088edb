"""The newest head of a store that enough witnesses cosigned."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from node.disk.cosigned import is_cosigned_head, newest_cosigned
from node.disk.store import Head, Store
from protocol.checkpoint import Checkpoint, cosign
from protocol.seeds import log_origin
from tests.node.homes import grown_world
from verification.witness import witness_name

WORLD = grown_world()
TREE = WORLD.state.tree


def head(size: int, witnesses: int = 1, root: bytes | None = None) -> Head:
    """A head that the coordinator signed and so many verifiers cosigned, of this log unless another root is given."""
    found = Checkpoint(log_origin(WORLD.run), size, root or TREE.root(size))
    keys = WORLD.verifiers[:witnesses]
    lines = [cosign(found.body(), key, witness_name(key.public), 1_700_000_000) for key in keys]
    return Head(size, found.root_hash, found.sign(WORLD.coordinator).with_signatures(lines).encode())


@pytest.fixture
def store() -> Iterator[Store]:
    with Store(Path(":memory:")) as opened:
        yield opened


def test_the_largest_one_that_holds_is_taken(store: Store) -> None:
    assert newest_cosigned(store, WORLD.state) is None
    for each in (head(9), head(20), head(30, witnesses=0), head(25, root=bytes(32))):
        store.put_head(each)
    assert newest_cosigned(store, WORLD.state) == head(20)
    assert newest_cosigned(store, WORLD.state, is_verified=True) == head(20)


def test_heads_below_what_is_asked_for_are_none(store: Store) -> None:
    store.put_head(head(20))
    assert newest_cosigned(store, WORLD.state, least=20) == head(20)
    assert newest_cosigned(store, WORLD.state, least=21) is None


def test_so_many_are_looked_at(store: Store) -> None:
    for each in (head(9), head(10, root=bytes(32)), head(11, root=bytes(32))):
        store.put_head(each)
    assert newest_cosigned(store, WORLD.state, most_heads=3) == head(9)
    assert newest_cosigned(store, WORLD.state, most_heads=2) is None


def test_a_head_beyond_the_log_is_none_yet(store: Store) -> None:
    store.put_head(head(TREE.size + 1, root=bytes(32)))
    assert newest_cosigned(store, WORLD.state) is None


def test_a_damaged_note_is_passed_over(store: Store) -> None:
    note = head(20).note
    store.put_head(Head(20, TREE.root(20), note[:-9]))
    store.put_head(head(9))
    assert not is_cosigned_head(Head(20, TREE.root(20), note[:-9]), WORLD.state)
    assert newest_cosigned(store, WORLD.state) == head(9)
