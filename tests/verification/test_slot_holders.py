"""Keeping a probation slot: the time for batches, and who takes it over or loses it."""

from dataclasses import replace

import pytest

from tests.verification import edits
from tests.verification.door import TIMEOUT, Gate, standing
from tests.verification.test_state import refused
from tests.verification.verdicts import rebuilt

pytestmark = pytest.mark.usefixtures("cheap")


def test_a_slot_is_lost_without_a_batch_in_time() -> None:
    gate = Gate(slots=1)
    ada = gate.join("ada")
    found = gate.state.beacons.find(gate.state.registry.find(ada.public).index)  # type: ignore[union-attr]
    assert found is not None
    assert gate.state.slots.last_index(ada.public) == found.set_index + TIMEOUT
    header = gate.world.header(ada, gate.world.games(ada, 2))
    gate.world.ticks(found.set_index + TIMEOUT - gate.state.size)
    gate.state.check(header.seal(ada).encode())
    assert not gate.free()
    gate.world.ticks(1)
    assert gate.free() == 1
    assert gate.state.registry.has_lost_slot(ada.public)
    assert gate.state.batches.is_out(ada.public)
    assert "has lost its probation slot" in refused(gate.world, header, ada)
    bob = gate.join("bob")
    assert gate.state.slots.holders == (bob.public,)
    assert standing(rebuilt(gate.world)) == standing(gate.state)


def test_time_counts_from_the_join_nonce() -> None:
    gate = Gate(slots=1)
    envelope = gate.stamped("ada")
    gate.list_these([envelope])
    gate.world.log_bytes(envelope.encode())
    gate.world.ticks(2 * TIMEOUT)
    assert gate.state.slots.holders == envelope.signers, "without a beacon it cannot play"
    assert gate.state.slots.last_index(envelope.signers[0]) is None
    set_index = gate.world.share_set()
    assert gate.state.slots.last_index(envelope.signers[0]) == set_index + TIMEOUT


def test_each_batch_gives_more_time_and_the_last_of_probation_frees_the_slot() -> None:
    gate = Gate(slots=1, batches=3)
    ada = gate.join("ada")
    first = gate.state.slots.last_index(ada.public)
    assert first is not None
    for count in (1, 2):
        gate.world.batch(ada)
        assert gate.state.slots.last_index(ada.public) == first + count * TIMEOUT
        assert not gate.free()
    batch = gate.world.play(ada)
    assert gate.state.slots.last_index(ada.public) is None, "it has sent all, and waits for verdicts"
    gate.world.ticks(4 * TIMEOUT)
    assert not gate.free()
    gate.world.judge(batch)
    gate.world.admit()
    assert gate.free() == 1
    gate.world.ticks(10 * TIMEOUT)
    assert not gate.state.registry.has_lost_slot(ada.public)
    gate.world.batch(ada)
    assert standing(rebuilt(gate.world)) == standing(gate.state)


def test_time_stands_still_while_a_verdict_accuses() -> None:
    """Who waits for the proof of an accusation may send nothing; if it is framed, its slot is still there."""
    gate = Gate(slots=1, batches=3)
    ada = gate.join("ada")
    last_index = gate.state.slots.last_index(ada.public)
    assert last_index is not None
    gate.world.judge(gate.world.play(ada, edit=edits.of_game(1, edits.value(6))))
    assert gate.state.batches.is_suspended(ada.public)
    gate.world.ticks(5 * TIMEOUT)
    assert gate.state.slots.holders == (ada.public,)
    left = (gate.state.slots.last_index(ada.public) or 0) - gate.state.size
    gate.world.ticks(3)
    assert (gate.state.slots.last_index(ada.public) or 0) - gate.state.size == left
    gate.world.admit()
    assert gate.free() == 1, "the ban takes the slot"
    assert standing(rebuilt(gate.world)) == standing(gate.state)


def test_empty_batches_keep_no_slot() -> None:
    gate = Gate(slots=1, batches=3)
    ada = gate.join("ada")
    last_index = gate.state.slots.last_index(ada.public)
    gate.world.batch(ada, games=0, final=True)
    assert gate.state.slots.last_index(ada.public) == last_index


def test_an_invited_key_needs_no_slot_and_loses_none() -> None:
    gate = Gate(slots=1)
    ada = gate.join("ada")
    eve = gate.world.register("eve")
    assert gate.state.slots.holders == (ada.public,)
    gate.world.ticks(3 * TIMEOUT)
    assert gate.state.registry.has_lost_slot(ada.public)
    assert not gate.state.registry.has_lost_slot(eve.public)
    gate.world.batch(eve)


def test_a_new_key_takes_over_the_slot_or_its_loss() -> None:
    gate = Gate(slots=1)
    ada, later, last = gate.join("ada"), bytes([1]) * 32, bytes([2]) * 32
    gate.state.slots.replace(ada.public, later, gate.state.size)
    assert gate.state.slots.holders == (later,)
    gate.world.ticks(TIMEOUT + 2)
    assert gate.state.registry.has_lost_slot(later)
    gate.state.slots.replace(later, last, gate.state.size)
    assert gate.state.registry.has_lost_slot(last), "a new key is no way around"
    assert gate.free() == 1


def test_fewer_slots_in_a_new_manifest_take_none_away() -> None:
    gate = Gate(slots=2)
    ada, bob = gate.join("ada"), gate.join("bob")
    policy = replace(gate.world.manifest.admission, probation_slots=1)
    gate.world.log(replace(gate.world.manifest, run=gate.world.run, version=2, admission=policy), gate.world.root_key)
    assert gate.state.slots.holders == (ada.public, bob.public)
    assert gate.free() == 0
