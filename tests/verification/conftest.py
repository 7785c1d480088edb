"""Worlds that many tests look at; those of session scope are not to be changed."""

from hashlib import sha256

import pytest

from protocol import stamp
from protocol.seeds import first_u64
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


@pytest.fixture
def cheap(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Tries by a hash in the place of scrypt; the nonces tried."""
    tried: list[int] = []

    def number(message: bytes, nonce: int) -> int:
        tried.append(nonce)
        return first_u64(sha256(message + nonce.to_bytes(8, "little")).digest())

    monkeypatch.setattr(stamp, "stamp_number", number)
    return tried
