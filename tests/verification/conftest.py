"""Worlds that many tests look at; those of session scope are not to be changed."""

import pytest

from tests.verification.world import World


@pytest.fixture
def world() -> World:
    """A young run: one verifier, one registered contributor."""
    world = World()
    world.register("ada")
    return world


@pytest.fixture(scope="session")
def grown() -> World:
    """A run with two contributors, two gated releases and a spent epoch; look only."""
    world = World()
    world.register("ada")
    world.register("bob")
    world.cycle()
    world.cycle()
    world.begin_epoch(world.verifiers[0])
    world.share_set()
    world.reveal(world.verifiers[0], 0)
    return world
