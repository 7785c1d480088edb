"""What the log fixes of a cycle: samples, steps, states, segments, and which states are kept."""

from dataclasses import replace

import pytest

from protocol.manifest import Manifest
from protocol.types import ZERO
from protocol.window import StatePoint
from tests.verification.manifests import digest_of, small_manifest
from tests.verification.world import World
from verification.cycles import TrainingInfo
from verification.faults import LogFault
from verification.training import (
    KEPT_RELEASES,
    STATE_EVERY_STEPS,
    CyclePlan,
    Segment,
    kept_states,
    named_states,
    plan_of,
    samples_of,
    verify_counts,
)


@pytest.fixture(scope="module")
def manifest() -> Manifest:
    return small_manifest()


@pytest.fixture(scope="module")
def world() -> World:
    """A run of five releases."""
    world = World()
    world.register("ada")
    for _ in range(5):
        world.cycle()
    return world


def test_how_many_samples(manifest: Manifest) -> None:
    policy = replace(manifest.training, samples_per_row_milli=2500, samples_per_cycle=100)
    assert samples_of(30, policy, is_new=False) == 75
    assert samples_of(41, policy, is_new=False) == 100
    assert samples_of(41, policy, is_new=True) == 102
    assert samples_of(401, policy, is_new=True) == 1000
    assert samples_of(0, policy, is_new=False) == 1


def plan(world: World, cycle: int, samples: int) -> CyclePlan:
    """A logged cycle as if the log gave it so many samples, with states as they have to be."""
    found = plan_of(world.state, world.state.trainings[cycle - 1].index)
    assert found is not None
    found = replace(found, samples=samples)
    points = tuple(StatePoint(found.parent_step + mark, digest_of(f"state after {mark}")) for mark in found.marks)
    record = replace(
        found.record,
        states=points,
        state=points[-1].state,
        steps=found.parent_step + found.steps,
        samples=found.parent_samples + found.steps * found.manifest.training.minibatch,
    )
    return replace(found, training=replace(found.training, record=record))


def test_a_plan_is_what_the_log_gives(world: World) -> None:
    second = world.state.trainings[1]
    found = plan_of(world.state, second.index)
    assert found is not None
    first, window = world.state.trainings[0].record, world.state.windows[1]
    assert (found.window, found.training) == (window, second)
    assert (found.parent_step, found.parent_samples, found.parent) == (first.steps, first.samples, first.state)
    new_rows = window.record.total_rows - world.state.windows[0].record.total_rows
    assert found.samples == samples_of(new_rows, window.manifest.training, is_new=False)
    assert plan_of(world.state, second.index + 1) is None
    begun = plan_of(world.state, world.state.trainings[0].index)
    assert begun is not None
    assert (begun.parent_step, begun.parent_samples, begun.parent) == (0, 0, None)


def test_states_are_recorded_at_fixed_steps(world: World) -> None:
    minibatch = world.state.manifest.training.minibatch
    short = plan(world, 1, 7 * minibatch + 1)
    assert (short.steps, short.marks) == (7, (7,))
    assert short.segments() == (Segment(0, 7, None, digest_of("state after 7")),)
    exact = plan(world, 2, 2 * STATE_EVERY_STEPS * minibatch)
    assert exact.marks == (STATE_EVERY_STEPS, 2 * STATE_EVERY_STEPS)
    long = plan(world, 2, (2 * STATE_EVERY_STEPS + 1) * minibatch)
    verify_counts(long)
    assert [(each.start, each.end) for each in long.segments()] == [(0, 1000), (1000, 2000), (2000, 2001)]
    assert long.segments()[0].parent == world.state.trainings[0].record.state
    assert long.segments()[1].parent == long.segments()[0].state


def test_counts_that_are_not_the_logs_are_refused(world: World) -> None:
    good = plan(world, 2, 2500 * world.state.manifest.training.minibatch)
    verify_counts(good)
    record = good.record
    wrong = {
        "2,501 steps": replace(record, steps=record.steps + 1),
        "samples": replace(record, samples=record.samples + 1),
        "after steps 1000, 2500;": replace(record, states=(record.states[0], record.states[2])),
        "after steps none;": replace(record, states=()),
        "goes on from": replace(record, state=digest_of("other")),
    }
    for told, lie in wrong.items():
        with pytest.raises(LogFault, match=told.replace(",", ",?")):
            verify_counts(replace(good, training=TrainingInfo(good.training.index, good.training.digest, lie)))


def test_states_since_the_third_newest_release_are_kept(world: World) -> None:
    state = world.state
    assert len(state.releases.all) == 6
    kept = kept_states(state)
    records = [training.record for training in state.trainings]
    oldest = state.releases.all[-KEPT_RELEASES].train_record
    since = [training.record for training in state.trainings if training.index >= oldest]
    assert len(since) == KEPT_RELEASES
    assert kept.keys() == {records[-KEPT_RELEASES - 1].state, *(record.state for record in since)}
    assert named_states(state) == {record.state for record in records}
    assert all(record.network_len * 12 < kept[record.state] < 2**32 for record in since)
    young = World()
    ada = young.register("ada")
    while young.state.due_window() is None:
        young.batch(ada)
    young.train()
    assert kept_states(young.state).keys() == {young.state.trainings[0].record.state}
    assert ZERO not in kept_states(young.state)
