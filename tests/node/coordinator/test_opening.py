"""Opening a coordinator: a store that is older than what was published is not gone on from."""

from pathlib import Path

import pytest

from node.coordinator.opening import require_newest
from node.disk.store import StoreError
from protocol.envelope import Envelope
from protocol.layout import CHECKPOINT
from tests.node.homes import grown_world, make_home
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
    require_newest(home, state_of(world, whole), Envelope.parse(world.entries[0]))
    with pytest.raises(StoreError, match=f"has {whole - 3} entries .* fork"):
        require_newest(home, state_of(world, whole - 3), Envelope.parse(world.entries[0]))
    with pytest.raises(StoreError, match="has 0 entries"):
        require_newest(home, LogState(world.run), Envelope.parse(world.entries[0]))
    (home.public / CHECKPOINT).write_bytes(b"damaged")
    require_newest(home, state_of(world, whole - 3), Envelope.parse(world.entries[0]))
    (home.public / CHECKPOINT).unlink()
    require_newest(home, state_of(world, whole - 3), Envelope.parse(world.entries[0]))
