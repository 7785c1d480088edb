"""What the tests of the audit page share: a run to look at."""

import pytest

from tests.verification.world import World


@pytest.fixture(scope="module")
def world() -> World:
    """A run with two contributors and two releases; look only."""
    world = World()
    for name in ("ada", "bob"):
        world.register(name)
    world.cycle()
    world.cycle()
    return world
