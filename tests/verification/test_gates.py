"""Gates in the log: order of counting, reassignment, replay, records, releases."""

from dataclasses import replace

import pytest

from protocol.game_block import GameBlock
from protocol.gate import GateAssignment, GatePair, GateRecord, GateResult
from protocol.manifest import Manifest
from protocol.types import ZERO
from protocol.verdict import ACCEPT, Verdict
from protocol.window import GivenUpCycle, RoundingReport, TrainRecord, WindowCommitment
from tests.verification import edits
from tests.verification.manifests import digest_of, small_manifest
from tests.verification.test_state import refused
from tests.verification.world import WELL_ROUNDED, World
from verification.faults import LogFault, Rejected
from verification.gate_state import GateResultInfo, GateState
from verification.replay import Replayed
from verification.subjects import GateSubject


def gated(**changes: object) -> Manifest:
    manifest = small_manifest()
    return replace(manifest, gate=replace(manifest.gate, **changes))  # type: ignore[arg-type]


def candidate(manifest: Manifest | None = None, rounding: RoundingReport = WELL_ROUNDED) -> World:
    """A run with an open gate and nothing given out, whose candidate lost so much by rounding."""
    world = World(manifest)
    world.register("ada")
    world.register("bob")
    while world.state.due_window() is None:
        for peer in world.peers.values():
            world.batch(peer)
    world.train(rounding=rounding)
    return world


def gate_of(world: World) -> GateState:
    gate = world.state.gates.open
    assert gate is not None
    return gate


def assign(world: World, player: str) -> int:
    key = world.peers[player]
    due = world.state.next_gate_assignment(key.public)
    assert due is not None
    return world.log(due, world.coordinator)


def answer(world: World, index: int, player: str, scores: list[tuple[int, int]]) -> GateResultInfo:
    """A result that nobody played: the state cannot tell."""
    key = world.peers[player]
    record = GateResult(
        world.run,
        index,
        key.public,
        tuple(GatePair(*pair) for pair in scores),
        digest_of("root"),
        digest_of(f"blob {index}"),
        100,
        200,
    )
    world.log(record, key)
    world.share_set()
    slot = gate_of(world).by_assignment[index]
    assert slot.result is not None
    return slot.result


def accept(world: World, info: GateResultInfo) -> None:
    drawn = info.drawn
    world.say(info, Replayed(drawn, (digest_of("d"),) * len(drawn), None), None)


WON, SPLIT, LOST = (1, 2), (1, 1), (2, 1)


def test_pairs_count_in_order_of_assignment() -> None:
    world = candidate(gated(replay_ppm=10**6, games=8))
    first, second = assign(world, "ada"), assign(world, "bob")
    gate = gate_of(world)
    accept(world, answer(world, second, "bob", [WON, WON]))
    assert gate.scores == []
    info = answer(world, first, "ada", [LOST, SPLIT])
    assert gate.scores == []
    accept(world, info)
    assert gate.scores == [0, 2, 4, 4]
    assert gate.decision.counts == (1, 0, 1, 0, 2)
    assert world.state.due_gate_record() is not None


def test_a_player_has_one_assignment_at_a_time() -> None:
    world = candidate()
    index = assign(world, "ada")
    key = world.peers["ada"].public
    assert world.state.next_gate_assignment(key) is None
    assert [each[0] for each in world.state.gate_assignments(key)] == [index]
    answer(world, index, "ada", [WON, WON])
    assert world.state.gate_assignments(key) == []
    due = world.state.next_gate_assignment(key)
    assert due is not None
    assert due.first_pair == 2
    assign(world, "ada")
    assert world.state.next_gate_assignment(world.peers["bob"].public) is None  # all four pairs are given out


def test_unanswered_pairs_are_given_anew_and_late_results_change_nothing() -> None:
    world = candidate()
    old = assign(world, "ada")
    bob = world.peers["bob"].public
    assert world.state.next_gate_assignment(bob).first_pair == 2  # type: ignore[union-attr]
    again = GateAssignment(world.run, gate_of(world).index, world.state.release.id, bob, 0, 2)
    assert "still being played" in refused(world, again, world.coordinator)
    world.ticks(21)
    assert world.state.gate_assignments(world.peers["ada"].public) == []
    assert world.state.next_gate_assignment(bob) == again
    assert "as they were given" in refused(world, replace(again, pairs=1), world.coordinator)
    new = world.log(again, world.coordinator)
    late = GateResult(
        world.run, old, world.peers["ada"].public, (GatePair(1, 2),) * 2, digest_of("r"), digest_of("b"), 1, 1
    )
    assert "not a current assignment" in refused(world, late, world.peers["ada"])
    accept(world, answer(world, new, "bob", [WON, WON]))
    assert gate_of(world).scores == [4, 4]


def test_pairs_whose_verdict_shows_no_traces_are_given_anew() -> None:
    world = candidate(gated(replay_ppm=10**6))
    info = answer(world, assign(world, "ada"), "ada", [WON, WON])
    verdict = Verdict(
        run=world.run,
        subject=info.digest,
        index=info.index,
        epoch=0,
        verifier=world.verifiers[0].public,
        semantics=info.semantics,
        drawn=info.drawn,
        outcome=ACCEPT,
        evidence="",
        game=0,
        ply=0,
        reason="",
        work=digest_of("work"),
    )
    assert info.drawn
    world.log(verdict, world.verifiers[0])
    bob = world.peers["bob"].public
    again = GateAssignment(world.run, gate_of(world).index, world.state.release.id, bob, 0, 2)
    world.ticks(info.index + 60 - world.state.size)
    assert "still being played or counted" in refused(world, again, world.coordinator)
    world.ticks(1)
    assert world.state.next_gate_assignment(bob) == again
    accept(world, answer(world, world.log(again, world.coordinator), "bob", [WON, WON]))
    assert gate_of(world).scores == [4, 4]


def test_assignments_that_do_not_fit() -> None:
    world = candidate()
    gate = gate_of(world)
    ada = world.peers["ada"].public
    good = GateAssignment(world.run, gate.index, world.state.release.id, ada, 0, 2)
    assert "not signed by a coordinator" in refused(world, good, world.peers["ada"])
    assert "not the candidate" in refused(world, replace(good, candidate=3), world.coordinator)
    assert "base" in refused(world, replace(good, base=digest_of("x")), world.coordinator)
    assert "good standing" in refused(world, replace(good, player=digest_of("x")), world.coordinator)
    assert "good standing" in refused(world, replace(good, player=world.verifiers[0].public), world.coordinator)
    assert "next pair to give out is 0" in refused(world, replace(good, first_pair=2), world.coordinator)
    assert "1 to 2 pairs" in refused(world, replace(good, pairs=3), world.coordinator)
    assert "1 to 2 pairs" in refused(world, replace(good, pairs=0), world.coordinator)
    world.log(good, world.coordinator)
    world.log(replace(good, first_pair=2, player=world.coordinator.public), world.coordinator)
    assert "at most 4 pairs" in refused(world, replace(good, first_pair=4), world.coordinator)


def test_results_that_do_not_fit() -> None:
    world = candidate()
    index = assign(world, "ada")
    ada, bob = world.peers["ada"], world.peers["bob"]
    good = GateResult(world.run, index, ada.public, (GatePair(1, 2),) * 2, digest_of("r"), digest_of("b"), 1, 1)
    assert "not signed by the player" in refused(world, good, bob)
    assert "another player's" in refused(world, replace(good, player=bob.public), bob)
    assert "2 pairs, the result 1" in refused(world, replace(good, pairs=good.pairs[:1]), ada)
    assert "larger" in refused(world, replace(good, blob_len=2**30), ada)
    assert "not a current" in refused(world, replace(good, assignment=1), ada)
    world.log(good, ada)
    assert "their result already" in refused(world, good, ada)


def test_a_rejected_result_frees_its_pairs_and_bars_its_player() -> None:
    world = candidate()
    info = answer(world, assign(world, "ada"), "ada", [WON, WON])
    world.say(info, Replayed((), (), None), Rejected("pair result", "Pair 0 ended otherwise than the result says."))
    ada, bob = world.peers["ada"].public, world.peers["bob"].public
    assert world.state.next_gate_assignment(ada) is None
    due = world.state.next_gate_assignment(bob)
    assert due is not None
    assert due.first_pair == 0
    accept(world, answer(world, world.log(due, world.coordinator), "bob", [SPLIT, SPLIT]))
    assert gate_of(world).scores == [2, 2]


def test_drawn_pairs_are_the_beacons() -> None:
    world = candidate(gated(replay_ppm=10**6))
    info = answer(world, assign(world, "ada"), "ada", [WON, WON])
    assert isinstance(info, GateSubject)
    assert info.drawn == (0, 1, 2, 3)
    with pytest.raises(LogFault, match="drawn games"):
        world.say(info, Replayed((0, 1), (digest_of("d"),), None), None)
    accept(world, info)


def test_honest_gate_games_are_replayed_and_edited_ones_rejected() -> None:
    world = candidate(gated(replay_ppm=10**6))
    ada = world.peers["ada"]
    edit = edits.of_game(2, edits.value(0))
    info = world.gate_result(assign(world, "ada"), ada, edit)
    rejected = world.judge_gate(info)
    assert rejected is not None
    assert (rejected.label, rejected.game) == ("value", 2)
    bob = world.peers["bob"]
    honest = world.gate_result(assign(world, "bob"), bob)
    assert world.judge_gate(honest) is None


def test_a_result_that_its_games_do_not_give_is_rejected() -> None:
    world = candidate()
    index = assign(world, "ada")

    def flip(blocks: list[bytes]) -> list[bytes]:
        head = GameBlock.parse(blocks[0]).header
        return [edits.header(result=3 - head.result)(GameBlock.parse(blocks[0])), *blocks[1:]]

    info = world.gate_result(index, world.peers["ada"], flip)
    rejected = world.judge_gate(info)
    assert rejected is not None
    assert rejected.label == "result"


def test_the_record_is_the_recount() -> None:
    world = candidate(gated(replay_ppm=0, games=4, win_rate_ppm=500_000))
    gate = gate_of(world)
    good = GateRecord(world.run, gate.index, gate.base.id, 2, (0, 0, 1, 0, 1), 0, True, 0)
    assert "not decided after 0" in refused(world, good, world.coordinator)
    accept(world, answer(world, assign(world, "ada"), "ada", [SPLIT, WON]))
    assert world.state.due_gate_record() == good
    for wrong in (
        replace(good, passed=False),
        replace(good, llr_micro=1),
        replace(good, counts=(0, 0, 0, 0, 2)),
        replace(good, pairs=1, counts=(0, 0, 1, 0, 0)),
    ):
        assert "not what the counted pairs give" in refused(world, wrong, world.coordinator)
    assert "refused since" in refused(world, replace(good, refused_since_base=1), world.coordinator)
    assert "base" in refused(world, replace(good, base=digest_of("x")), world.coordinator)
    index = world.log(good, world.coordinator)
    assert world.state.gates.open is None
    assert world.state.passed_gate == index


def test_a_record_holds_where_this_machine_is_a_last_digit_short_of_deciding(monkeypatch: pytest.MonkeyPatch) -> None:
    world = candidate(gated(kind="sprt", elo0=0, elo1=50, games=40, replay_ppm=0))
    gate = gate_of(world)
    accept(world, answer(world, assign(world, "ada"), "ada", [WON, WON]))
    assert gate.decision.passed is None
    record = GateRecord(world.run, gate.index, gate.base.id, 2, gate.decision.counts, gate.decision.llr_micro, True, 0)
    assert "not decided after 2" in refused(world, record, world.coordinator)
    monkeypatch.setattr("verification.gate.LLR_BOUND_MICRO", gate.decision.llr_micro + 1)
    index = world.log(record, world.coordinator)
    assert world.state.passed_gate == index


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


def test_release_anyway_each_n_steps() -> None:
    world = candidate(gated(replay_ppm=0, games=4, win_rate_ppm=900_000, release_every_steps=100))
    accept(world, answer(world, assign(world, "ada"), "ada", [LOST, LOST]))
    record = world.state.due_gate_record()
    assert record is not None
    assert record.passed
    assert record.counts == (2, 0, 0, 0, 0)
    world.log(record, world.coordinator)
    assert world.state.due_release("0.1.0") is not None


def test_the_release_is_its_candidates() -> None:
    world = candidate(gated(kind="always"))
    record = world.state.due_gate_record()
    assert record is not None
    assert world.state.due_release("0.1.0") is None
    world.log(record, world.coordinator)
    due = world.state.due_release("0.1.0")
    assert due is not None
    assert due.name == f"world-b1c16-s6400-d{world.state.windows[-1].record.total_rows}"
    for wrong in (
        replace(due, number=2),
        replace(due, parent=digest_of("x")),
        replace(due, network=digest_of("x")),
        replace(due, name="better"),
        replace(due, gate_record=3),
        replace(due, steps=5),
    ):
        assert "not what its gated candidate gives" in refused(world, wrong, world.coordinator)
    assert world.state.due_window() is None
    world.log(due, world.coordinator)
    assert "No candidate has passed" in refused(world, due, world.coordinator)
    assert world.state.release.id == due.digest()


# ---- windows and train records


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


def opened() -> tuple[World, TrainRecord]:
    """A run with an untrained window, its second, and a train record that fits it."""
    world = candidate(gated(kind="always"))
    world.gate()
    while world.state.due_window() is None:
        world.batch(world.peers["ada"])
    good = world.training()
    world.state.check(good.seal(world.coordinator).encode())
    return world, good


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


def test_a_cycle_follows_the_manifest_of_its_window() -> None:
    world, good = opened()
    training = replace(world.manifest.training, threads=3)
    world.log(replace(world.manifest, run=world.run, version=2, training=training), world.root_key)
    assert world.state.manifest.training.threads == 3
    assert "wants 1 and 1" in refused(world, replace(good, threads=3), world.coordinator)
    world.log(good, world.coordinator)


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


@pytest.mark.parametrize("kind", ["always", "win-rate"])
@pytest.mark.parametrize(
    ("worse", "better"),
    [
        (RoundingReport(9, 50_001, 0, 10**6), RoundingReport(9, 50_000, 0, 10**6)),
        (RoundingReport(9, 0, 50_001, 10**6), RoundingReport(9, 0, 50_000, 10**6)),
        (RoundingReport(9, 0, 0, 599_999), RoundingReport(9, 0, 0, 600_000)),
    ],
)
def test_what_rounding_spoils_is_refused_without_a_game(
    kind: str, worse: RoundingReport, better: RoundingReport
) -> None:
    manifest = gated(kind=kind, release_every_steps=1)
    world = candidate(manifest, worse)
    gate = gate_of(world)
    assert world.state.next_gate_assignment(world.coordinator.public) is None
    first = GateAssignment(world.run, gate.index, gate.base.id, world.coordinator.public, 0, 1)
    assert "decided" in refused(world, first, world.coordinator)
    record = GateRecord(world.run, gate.index, gate.base.id, 0, (0, 0, 0, 0, 0), 0, False, 0)
    assert world.state.due_gate_record() == record
    for wrong in (replace(record, passed=True), replace(record, pairs=1, counts=(1, 0, 0, 0, 0))):
        assert "not what" in refused(world, wrong, world.coordinator)
    world.log(record, world.coordinator)
    assert world.state.due_release("0.1.0") is None
    assert world.state.gates.refused_since_base() == 1
    assert not gate_of(candidate(manifest, better)).is_refused_unplayed
