"""Train records: what has to fit the window, the manifest and the record before."""

from dataclasses import replace

import pytest

from protocol.types import ZERO
from protocol.window import TrainRecord
from tests.verification.gates import candidate, gated, opened
from tests.verification.manifests import digest_of
from tests.verification.test_state import refused
from tests.verification.world import World


def test_train_records_that_do_not_fit() -> None:
    world = candidate(gated(kind="always"))
    made = world.state.trainings[-1].record
    assert isinstance(made, TrainRecord)
    assert "No training cycle is open" in refused(world, made, world.coordinator)
    world.gate()
    while world.state.due_window() is None:
        world.batch(world.peers["ada"])
    due = world.state.due_window()
    assert due is not None
    index = world.log(due.record, world.coordinator)
    record = replace(
        made,
        cycle=2,
        window=index,
        base=world.state.release.id,
        parent_state=made.state,
        steps=200,
        batches=due.record.batches,
    )
    assert "seed" in refused(world, record, world.coordinator)  # the beacon is not made yet
    world.share_set()
    seed = world.state.cycles.seed(world.state.windows[-1])
    assert seed is not None
    good = replace(record, seed=seed, samples=2 * made.samples, states=())
    assert "another cycle" in refused(world, replace(good, cycle=1), world.coordinator)
    assert "another cycle" in refused(world, replace(good, window=3), world.coordinator)
    assert "base" in refused(world, replace(good, base=made.base), world.coordinator)
    assert "last train state" in refused(world, replace(good, parent_state=digest_of("x")), world.coordinator)
    assert "begins anew with b1c16" in refused(world, replace(good, parent_state=ZERO), world.coordinator)
    assert "is b2c16; the train state is of b1c16" in refused(world, replace(good, shape="b2c16"), world.coordinator)
    grown = replace(good, parent_state=ZERO, shape="b2c16")
    assert "not as long as one of b2c16" in refused(world, grown, world.coordinator)
    for shape in ("b1c17", "b99c16", "b1c240"):
        assert "none of a network" in refused(world, replace(grown, shape=shape), world.coordinator)
    assert "seed" in refused(world, replace(good, seed=digest_of("x")), world.coordinator)
    for length in (good.network_len - 1, 2**32 - 1):
        assert "not as long" in refused(world, replace(good, network_len=length), world.coordinator)
    states = made.states * 2
    assert "order of their steps" in refused(world, replace(good, states=states), world.coordinator)
    world.log(good, world.coordinator)


@pytest.fixture(scope="module")
def second() -> tuple[World, TrainRecord]:
    return opened()


def test_a_train_record_accounts_for_every_batch_of_its_window(second: tuple[World, TrainRecord]) -> None:
    world, good = second
    most = world.state.windows[-1].record.batches
    world.state.check(replace(good, batches=1, skipped=most - 1).seal(world.coordinator).encode())
    for batches, skipped in ((most - 1, 0), (most + 1, 0), (most, 1), (0, most)):
        wrong = replace(good, batches=batches, skipped=skipped)
        assert f"{batches} batches read and {skipped} skipped" in refused(world, wrong, world.coordinator)


@pytest.mark.parametrize("field", ["processes", "threads"])
def test_a_train_record_is_of_the_manifests_processes(second: tuple[World, TrainRecord], field: str) -> None:
    world, good = second
    for number in (0, 2):
        wrong = replace(good, **{field: number})  # type: ignore[arg-type]
        assert "wants 1 and 1" in refused(world, wrong, world.coordinator)


def test_a_train_record_says_what_rounding_cost(second: tuple[World, TrainRecord]) -> None:
    world, good = second
    wrong = replace(good, rounding=replace(good.rounding, rows=0))
    assert "of no row what rounding cost" in refused(world, wrong, world.coordinator)


@pytest.mark.parametrize("is_grown", [False, True])
def test_a_cycle_takes_a_step(second: tuple[World, TrainRecord], is_grown: bool) -> None:
    world, good = second
    if is_grown:
        good = world.training(grow="b2c16")
    before = world.state.trainings[-1].record
    world.state.check(replace(good, steps=before.steps + 1, states=()).seal(world.coordinator).encode())
    for wrong in (
        replace(good, steps=before.steps, states=()),
        replace(good, steps=1, states=()),
        replace(good, samples=before.samples),
    ):
        assert "must rise" in refused(world, wrong, world.coordinator)


def test_a_first_network_has_taken_a_step() -> None:
    world = World()
    ada = world.register("ada")
    while world.state.due_window() is None:
        world.batch(ada)
    first = world.training()
    for wrong in (replace(first, steps=0, states=()), replace(first, samples=0)):
        assert "must rise" in refused(world, wrong, world.coordinator)
    world.log(replace(first, steps=1, states=()), world.coordinator)


def test_a_train_record_has_losses_of_its_cycle(second: tuple[World, TrainRecord]) -> None:
    world, good = second
    most = good.samples - world.state.trainings[-1].record.samples
    world.state.check(replace(good, losses=replace(good.losses, rows=most)).seal(world.coordinator).encode())
    for rows in (0, most + 1):
        wrong = replace(good, losses=replace(good.losses, rows=rows))
        assert f"not of the {most} samples" in refused(world, wrong, world.coordinator)


def test_nothing_held_out_has_no_losses(second: tuple[World, TrainRecord]) -> None:
    world, good = second
    some = replace(good.losses, rows=3)
    world.state.check(replace(good, held_out=some).seal(world.coordinator).encode())
    wrong = replace(good, held_out=replace(some, rows=0))
    assert "of which there were none" in refused(world, wrong, world.coordinator)
