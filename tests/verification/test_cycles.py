"""Cycles in the log: windows, networks that follow each other or are grown, cycles given up."""

from dataclasses import replace

from protocol.types import ZERO
from protocol.window import GivenUpCycle, WindowCommitment
from tests.verification.gates import LOST, accept, answer, assign, candidate, gated, opened
from tests.verification.manifests import digest_of
from tests.verification.test_state import refused
from tests.verification.world import World


def test_windows_that_do_not_fit() -> None:
    world = World()
    ada = world.register("ada")
    while world.state.due_window() is None:
        index = world.state.size
        world.batch(ada)
    due = world.state.due_window()
    assert due is not None
    assert due.record.cycle == 1
    for wrong in (
        replace(due.record, log_size=index),
        replace(due.record, rows=1),
        replace(due.record, headers=digest_of("x")),
        replace(due.record, cycle=2),
    ):
        assert "not what the log and the manifest give" in refused(world, wrong, world.coordinator)
    world.log(due.record, world.coordinator)
    assert "not gated yet" in refused(world, replace(due.record, cycle=2), world.coordinator)
    assert world.state.untrained_window == world.state.windows[-1]
    assert world.state.windows[-1].window.batches == due.window.batches


def test_a_window_waits_for_rows(world: World) -> None:
    early = WindowCommitment(world.run, 1, world.state.size, 0, 0, 0, 0, digest_of("x"))
    assert "100 more released rows" in refused(world, early, world.coordinator)


def test_a_refused_candidate_is_counted_and_training_goes_on() -> None:
    world = candidate(gated(replay_ppm=0, games=4, win_rate_ppm=900_000))
    accept(world, answer(world, assign(world, "ada"), "ada", [LOST, LOST]))
    record = world.state.due_gate_record()
    assert record is not None
    assert not record.passed
    world.log(record, world.coordinator)
    assert world.state.due_release("0.1.0") is None
    state = world.state.trainings[-1].record.state
    while world.state.due_window() is None:
        world.batch(world.peers["ada"])
    world.train()
    assert world.state.trainings[-1].record.parent_state == state
    accept(world, answer(world, assign(world, "ada"), "ada", [LOST, LOST]))
    again = world.state.due_gate_record()
    assert again is not None
    assert again.refused_since_base == 1


def test_a_cycle_follows_the_manifest_of_its_window() -> None:
    world, good = opened()
    training = replace(world.manifest.training, threads=3)
    world.log(replace(world.manifest, run=world.run, version=2, training=training), world.root_key)
    assert world.state.manifest.training.threads == 3
    assert "wants 1 and 1" in refused(world, replace(good, threads=3), world.coordinator)
    world.log(good, world.coordinator)


def test_a_cycle_given_up_has_no_candidate_and_the_next_one_goes_on() -> None:
    world = candidate(gated(kind="always"))
    world.gate()
    before = world.state.trainings[-1].record
    while world.state.due_window() is None:
        world.batch(world.peers["ada"])
    index = world.commit()
    given_up = GivenUpCycle(world.run, 2, index, "loss-spike", "The loss jumped.")
    for wrong in (replace(given_up, cycle=1), replace(given_up, window=index - 1)):
        assert "given-up-cycle is for another cycle" in refused(world, wrong, world.coordinator)
    assert "coordinator" in refused(world, given_up, world.peers["ada"])
    logged = world.log(given_up, world.coordinator)
    state = world.state
    assert [each.index for each in state.given_up] == [logged]
    assert (len(state.trainings), state.untrained_window, state.gates.open) == (1, None, None)
    assert state.due_window() is None
    assert state.cycles.rows_missing() == world.manifest.window.new_rows
    assert "No training cycle is open" in refused(world, given_up, world.coordinator)
    assert "No training cycle is open" in refused(world, replace(before, cycle=2, window=index), world.coordinator)
    while state.due_window() is None:
        world.batch(world.peers["ada"])
    world.train()
    record = state.trainings[-1].record
    assert (record.cycle, record.parent_state) == (3, before.state)
    assert world.gate()


def test_a_cycle_is_not_given_up_before_it_can_be_trained() -> None:
    world = World()
    ada = world.register("ada")
    while (due := world.state.due_window()) is None:
        world.batch(ada)
    index = world.log(due.record, world.coordinator)
    given_up = GivenUpCycle(world.run, 1, index, "no-rows", "")
    assert "before its window has a beacon" in refused(world, given_up, world.coordinator)
    world.share_set()
    world.log(given_up, world.coordinator)
    while world.state.due_window() is None:
        world.batch(ada)
    world.train()
    assert world.state.trainings[0].record.parent_state == ZERO
    assert world.gate()


def test_a_grown_network_is_gated_and_gone_on_from() -> None:
    world = candidate(gated(kind="always"))
    assert world.state.cycles.shape == "b1c16"
    world.gate()
    for grown, shape in (("b2c16", "b2c16"), (None, "b2c16"), ("b1c32", "b1c32")):
        while world.state.due_window() is None:
            world.batch(world.peers["ada"])
        before = world.state.trainings[-1].record
        world.train(grown)
        record = world.state.trainings[-1].record
        assert (record.shape, world.state.cycles.shape) == (shape, shape)
        assert record.parent_state == (before.state if grown is None else ZERO)
        assert world.gate()
        assert world.state.release.shape == shape
        assert f"-{shape}-s{record.samples}-d" in world.state.release.name
