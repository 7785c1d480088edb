"""Gates in the log: order of counting, reassignment, replay, records, releases."""

from dataclasses import replace

import pytest

from protocol.game_block import GameBlock
from protocol.gate import GateAssignment, GatePair, GateRecord, GateResult
from protocol.verdict import ACCEPT, Verdict
from protocol.window import RoundingReport
from tests.verification import edits
from tests.verification.gates import LOST, SPLIT, WON, accept, answer, assign, candidate, gate_of, gated
from tests.verification.manifests import digest_of
from tests.verification.test_state import refused
from verification.faults import LogFault, Rejected
from verification.replay import Replayed
from verification.subjects import GateSubject


def test_pairs_count_in_order_of_assignment() -> None:
    world = candidate(gated(replay_ppm=10**6, games=8))
    first, second = assign(world, "ada"), assign(world, "bob")
    gate = gate_of(world)
    accept(world, answer(world, second, "bob", [WON, WON]))
    assert (gate.scores, gate.played_pairs) == ([], 2)
    info = answer(world, first, "ada", [LOST, SPLIT])
    assert (gate.scores, gate.played_pairs) == ([], 4)
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
