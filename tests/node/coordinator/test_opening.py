"""Opening a coordinator: a store that is older than what was published is not gone on from."""

from dataclasses import replace
from pathlib import Path

import pytest

from node.coordinator.opening import require_newest
from node.disk.store import StoreError
from protocol.checkpoint import Checkpoint
from protocol.layout import CHECKPOINT
from protocol.seeds import log_origin
from tests.node.homes import grown_world, make_home
from tests.node.keys import secret
from tests.verification.world import World
from verification.state import LogState


def state_of(world: World, size: int) -> LogState:
    """The state after the first `size` entries."""
    state = LogState(world.run)
    for entry in world.entries[:size]:
        state.apply(entry)
    return state


def test_an_older_copy_of_the_store_is_refused(tmp_path: Path) -> None:
    world = grown_world()
    home = make_home(world, tmp_path / "coordinator")
    whole = len(world.entries)
    require_newest(home, state_of(world, whole))
    with pytest.raises(StoreError, match=f"has {whole - 3} entries .* fork"):
        require_newest(home, state_of(world, whole - 3))
    with pytest.raises(StoreError, match="has 0 entries"):
        require_newest(home, LogState(world.run))
    head = Checkpoint(log_origin(world.run), whole, world.state.tree.root())
    (home.public / CHECKPOINT).write_bytes(head.sign(secret(77)).encode())  # by a key that no root version here names
    with pytest.raises(StoreError, match="fork"):
        require_newest(home, state_of(world, whole - 3))
    require_newest(home, state_of(world, whole))
    (home.public / CHECKPOINT).write_bytes(replace(head, origin=log_origin(bytes(32))).sign(secret(77)).encode())
    require_newest(home, state_of(world, whole - 3))
    (home.public / CHECKPOINT).write_bytes(b"damaged")
    require_newest(home, state_of(world, whole - 3))
    (home.public / CHECKPOINT).unlink()
    require_newest(home, state_of(world, whole - 3))
