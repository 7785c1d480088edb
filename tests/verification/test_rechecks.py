"""Orders to look again: second verifiers, exits, void epochs, convicted verifiers, pardons, repeats, scrutiny, the alarm."""

from dataclasses import replace

import pytest

from protocol.admission import REJECTED, Admission
from protocol.epoch import EpochReveal
from protocol.orders import Exit, Scrutiny, VoidEpoch
from protocol.proof import Ban, Pardon
from protocol.seeds import PPM, is_picked, is_second_assigned
from tests.verification import edits
from tests.verification.manifests import digest_of
from tests.verification.test_batches import policy
from tests.verification.test_state import refused, snapshot
from tests.verification.world import World
from verification.faults import Rejected
from verification.identities import EXIT, PARDON, REPEAT, VOID, BatchInfo, batch_of
from verification.replay import Replayed
from verification.state import LogState
from verification.subjects import BatchSubject


def accept(world: World, check: BatchSubject) -> None:
    """A verdict that nobody replayed for, with its opening: the games are those that the secret draws."""
    verifier = world.verifier_key(check.assigned)
    drawn = check.draw(world.secret(verifier, check.candidates[verifier.public]))
    world.say(check, Replayed(drawn, (digest_of("d"),) * (check.header.plies if drawn else 0), None), None)


def accepted(world: World, peer: str = "ada", games: int | None = None) -> BatchInfo:
    """A batch that all its verifiers accept."""
    batch = world.play(world.peers[peer], games)
    accept(world, batch)
    if batch.second is not None:
        accept(world, batch.second)
    world.admit()
    return batch


def accuse(world: World, check: BatchSubject, game: int = 0, index: int = 0) -> None:
    """A verdict that says that searched ply `index` of a game is wrong, whatever is true."""
    ply = world.content(batch_of(check)).games[game].plies[index]
    verifier = world.verifier_key(check.assigned)
    drawn = check.draw(world.secret(verifier, check.candidates[verifier.public]))
    replayed = Replayed(tuple(each for each in drawn if each <= game), (digest_of("d"),) * (index + 1), None)
    world.say(check, replayed, Rejected("value", "It is another one.", game, ply))


def rebuilt(world: World) -> LogState:
    """The state that the log alone gives."""
    state = LogState(world.run)
    for entry in world.entries:
        state.apply(entry)
    return state


# ---- second verifiers


def with_second(world: World) -> BatchInfo:
    """The first batch of ada's that is for two verifiers."""
    while True:
        batch = world.play(world.peers["ada"], 1)
        if batch.second is not None:
            return batch
        accept(world, batch)
        world.admit()


@pytest.fixture
def pair() -> tuple[World, BatchInfo]:
    """A world of three verifiers and a batch that two of them have to judge."""
    world = World(policy(games_per_batch=1, probation_batches=1, hold_back_batches=0), verifiers=3)
    world.register("ada")
    return world, with_second(world)


def test_one_batch_in_ten_is_for_a_second_verifier(pair: tuple[World, BatchInfo]) -> None:
    world, batch = pair
    for each in world.state.batches.all:
        assert (each.second is not None) == is_second_assigned(each.beacon or b"", each.digest)
    assert batch.second is not None
    assert batch.second.assigned not in (None, batch.assigned)
    assert batch.second.index == batch.index


def test_a_decision_waits_for_both_verifiers(pair: tuple[World, BatchInfo]) -> None:
    world, batch = pair
    assert batch.second is not None
    accept(world, batch)
    assert world.state.due_decisions() == []
    assert world.state.batches_awaiting_verdict(batch.assigned or b"") == []
    assert world.state.batches_awaiting_verdict(batch.second.assigned or b"") == [batch.second]
    accept(world, batch.second)
    world.admit()
    assert batch.is_accepted_batch


def test_a_second_verifier_who_does_not_come_is_waited_for_no_longer(pair: tuple[World, BatchInfo]) -> None:
    world, batch = pair
    accept(world, batch)
    world.ticks(2 * world.manifest.admission.timeout_entries)
    assert [due.decision.outcome for due in world.state.due_decisions()] == ["accepted"]


def test_one_verifier_does_not_judge_twice(pair: tuple[World, BatchInfo]) -> None:
    world, batch = pair
    accept(world, batch)
    world.ticks(world.manifest.admission.timeout_entries + 1)
    assert batch.assigned is not None
    assert batch.second not in world.state.batches_awaiting_verdict(batch.assigned)


def test_what_the_second_verifier_rejects_is_rejected() -> None:
    world = World(policy(games_per_batch=1, hold_back_batches=0), verifiers=3)
    world.register("ada")
    good = with_second(world)
    assert good.second is not None
    accept(world, good)
    accept(world, good.second)
    world.admit()
    while True:
        batch = world.play(world.peers["ada"], 1, edits.of_game(0, edits.value(0)))
        if batch.second is not None:
            break
        accept(world, batch)
        world.admit()
    accept(world, batch)
    accuse(world, batch.second)
    assert world.state.batches.is_suspended(batch.header.peer)
    assert world.state.due_decisions() == []
    world.admit()
    assert batch.decision is not None
    assert batch.decision.outcome == "rejected"
    assert batch.decision.verifier == batch.second.assigned
    assert snapshot(rebuilt(world)) == snapshot(world.state)


# ---- accusations and proofs


def test_nobody_is_rejected_before_a_proof_is_logged(world: World) -> None:
    batch = world.play(world.peers["ada"], edit=edits.of_game(0, edits.value(0)))
    assert world.judge(batch) is not None
    assert world.state.batches.accusing() == [batch]
    assert world.state.due_decisions() == []
    header = world.header(world.peers["ada"], world.games(world.peers["ada"], 2))
    assert "being checked" in refused(world, header, world.peers["ada"])
    world.convict()
    assert [due.decision.outcome for due in world.state.due_decisions()] == ["rejected"]
    world.admit()
    assert world.state.batches.accusing() == []


def test_the_verdict_of_a_convicted_verifier_falls_away_and_others_judge() -> None:
    world = World(policy(hold_back_batches=1, exit_entries=0), verifiers=3)
    world.register("ada")
    first = accepted(world)
    batch = world.play(world.peers["ada"])
    liar = world.verifier_key(batch.assigned)
    accuse(world, batch)
    assert world.state.batches.is_suspended(batch.header.peer)
    world.log(Ban(world.run, liar.public, world.accusation(batch, against_verifier=True)), world.coordinator)
    assert not world.state.batches.is_suspended(batch.header.peer)
    assert batch.verdict is None
    assert batch.assigned not in (None, liar.public)
    again = [each for each in first.rechecks if each.purpose == VOID]
    assert len(again) == (1 if first.verdict is not None and first.verdict.verifier == liar.public else 0)
    assert liar.public not in world.state.subjects.candidates(world.state.size)
    accept(world, batch)
    world.share_set()
    for each in again:
        accept(world, each)
    world.admit()
    assert batch.is_accepted_batch
    assert first.released_at is not None
    assert snapshot(rebuilt(world)) == snapshot(world.state)


# ---- exits


def silent(world: World, batches: int = 4) -> list[BatchInfo]:
    """Batches of ada's, who then says nothing for long."""
    made = [accepted(world) for _ in range(batches)]
    world.ticks(world.manifest.admission.exit_entries + 1)
    return made


def leaving() -> World:
    world = World(policy(hold_back_batches=9, exit_entries=15, probation_batches=1, exit_ppm=PPM))
    world.register("ada")
    return world


def test_who_falls_silent_has_its_games_drawn_once_more_and_released() -> None:
    world = leaving()
    made = silent(world)
    ada = world.peers["ada"].public
    assert world.state.rechecks.silent(world.state.size) == [ada]
    world.log(Exit(world.run, (ada,)), world.coordinator)
    assert world.state.rechecks.silent(world.state.size) == []
    world.share_set()
    checks = [batch.rechecks[-1] for batch in made]
    assert {check.purpose for check in checks} == {EXIT}
    for check in checks[:-1]:
        accept(world, check)
    world.admit()
    assert world.state.batches.released == ()  # all or nothing
    accept(world, checks[-1])
    world.admit()
    assert world.state.batches.released == tuple(made)
    assert snapshot(rebuilt(world)) == snapshot(world.state)


def test_one_wrong_game_of_who_left_keeps_everything_out() -> None:
    world = leaving()
    accepted(world)
    bad = world.play(world.peers["ada"], edit=edits.of_game(0, edits.value(0)))
    accept(world, bad)
    world.admit()
    world.ticks(16)
    world.log(Exit(world.run, (world.peers["ada"].public,)), world.coordinator)
    world.share_set()
    for check in world.state.batches.looking:
        if batch_of(check) is bad:
            accuse(world, check)
        else:
            accept(world, check)
    world.admit()
    assert world.state.batches.released == ()
    assert world.state.is_banned(world.peers["ada"].public)
    assert world.state.batches.looking == ()


def test_exits_that_are_not_due() -> None:
    world = leaving()
    ada = world.peers["ada"].public
    assert "no batch in the log" in refused(world, Exit(world.run, (ada,)), world.coordinator)
    accepted(world)
    assert "not silent" in refused(world, Exit(world.run, (ada,)), world.coordinator)
    waiting = world.play(world.peers["ada"])
    world.ticks(16)
    assert "only wait for later ones" in refused(world, Exit(world.run, (ada,)), world.coordinator)
    accept(world, waiting)
    world.admit()
    assert "not signed by a coordinator" in refused(world, Exit(world.run, (ada,)), world.verifiers[0])
    world.log(Exit(world.run, (ada,)), world.coordinator)
    assert "only wait for later ones" in refused(world, Exit(world.run, (ada,)), world.coordinator)


# ---- void epochs


def voiding(verifiers: int = 3) -> World:
    world = World(
        policy(hold_back_batches=1, timeout_entries=10, exit_entries=50, probation_batches=1), verifiers=verifiers
    )
    world.register("ada")
    return world


def test_an_epoch_that_is_not_revealed_is_void_and_its_batches_are_judged_anew() -> None:
    world = voiding()
    made = [accepted(world) for _ in range(6)]
    silent_one = world.verifier_key(made[0].assigned)
    record = VoidEpoch(world.run, silent_one.public, 0)
    assert "may still be revealed" in refused(world, record, world.coordinator)
    world.begin_epoch(silent_one)
    world.ticks(9)
    assert "may still be revealed" in refused(world, record, world.coordinator)
    world.ticks(2)
    assert [(epoch.verifier, epoch.epoch) for epoch in world.state.rechecks.overdue(world.state.size)] == [
        (silent_one.public, 0)
    ]
    released = world.state.batches.released
    world.log(record, world.coordinator)
    assert "void already" in refused(world, record, world.coordinator)
    late = EpochReveal(world.run, silent_one.public, 0, world.secret(silent_one, 0))
    assert "too late" in refused(world, late, silent_one)
    theirs = [batch for batch in made if batch.verdict is not None and batch.verdict.verifier == silent_one.public]
    assert theirs
    assert [batch_of(check) for check in world.state.batches.looking] == theirs
    assert world.state.batches.released == released  # a window may hold them until they turn out to be wrong
    world.share_set()
    later = accepted(world)
    assert silent_one.public not in later.candidates
    assert not any(batch.released_at is not None for batch in theirs if batch not in released)
    for check in world.state.batches.looking:
        assert check.assigned not in (None, silent_one.public)
        accept(world, check)
    world.admit()
    assert world.state.batches.released == tuple(made)
    assert snapshot(rebuilt(world)) == snapshot(world.state)


def test_a_released_batch_that_a_void_epoch_let_through_is_purged() -> None:
    world = voiding()
    accepted(world)
    bad = world.play(world.peers["ada"], edit=edits.of_game(0, edits.value(0)))
    accept(world, bad)
    if bad.second is not None:
        accept(world, bad.second)
    world.admit()
    accepted(world)
    assert bad in world.state.batches.released
    verifier = world.verifier_key(bad.verdict.verifier if bad.verdict else None)
    world.begin_epoch(verifier)
    world.ticks(11)
    world.log(VoidEpoch(world.run, verifier.public, 0), world.coordinator)
    world.share_set()
    for check in world.state.batches.looking:
        if batch_of(check) is bad:
            accuse(world, check)
    world.admit()
    assert world.state.batches.released == ()
    assert world.state.is_banned(bad.header.peer)


def test_verdicts_that_a_new_root_calls_invalid_are_judged_anew() -> None:
    world = voiding()
    made = [accepted(world) for _ in range(4)]
    bad = world.verifier_key(made[-1].assigned)
    since = made[-1].verdict_index
    roles = tuple(replace(role, invalid_from=since) if role.key == bad.public else role for role in world.root.roles)
    world.log(replace(world.root, run=world.run, version=2, roles=roles), world.root_key)
    assert [batch_of(check) for check in world.state.batches.looking] == [
        batch
        for batch in made
        if batch.verdict and batch.verdict.verifier == bad.public and batch.verdict_index >= since
    ]
    assert bad.public not in world.state.subjects.candidates(world.state.size)


# ---- repeats


def test_after_a_reveal_the_beacon_picks_accepted_games_to_repeat() -> None:
    world = World(policy(repeat_ppm=500_000, hold_back_batches=0), verifiers=2)
    world.register("ada")
    made = [accepted(world) for _ in range(5)]
    verifier = world.verifier_key(made[0].assigned)
    world.begin_epoch(verifier)
    revealed = world.reveal(verifier, 0)
    assert world.state.batches.looking == ()
    world.share_set()
    value = world.state.beacon(revealed)
    assert value is not None
    expected = {
        batch.index: tuple(
            game for game in (0, 1) if is_picked("repeat", value, batch.digest + game.to_bytes(4, "little"), 500_000)
        )
        for batch in made
        if batch.verdict is not None and batch.verdict.verifier == verifier.public
    }
    checks = world.state.batches.looking
    assert {batch_of(check).index: check.chosen for check in checks} == {k: v for k, v in expected.items() if v}
    assert checks
    for check in checks:
        assert check.purpose == REPEAT
        assert check.assigned not in (None, verifier.public)
        assert batch_of(check).released_at is not None
        accept(world, check)
    world.admit()
    assert world.state.batches.looking == ()


def test_a_repeat_without_another_verifier_is_left_to_the_coordinator() -> None:
    world = World(policy(repeat_ppm=PPM))
    world.register("ada")
    batch = accepted(world)
    world.begin_epoch(world.verifiers[0])
    world.reveal(world.verifiers[0], 0)
    world.share_set()
    assert world.state.rechecks.alone == [(batch, (0, 1))]
    assert world.state.batches.looking == ()


# ---- pardons


def pardoning(pardon_plies: int) -> World:
    world = World(policy(hold_back_batches=2, probation_batches=1, pardon_plies=pardon_plies))
    world.register("ada")
    return world


def flipped(world: World) -> BatchInfo:
    """A batch with one wrong ply, found."""
    batch = world.play(world.peers["ada"], edit=edits.of_game(0, edits.value(0)))
    accuse(world, batch)
    return batch


def pardon(world: World, batch: BatchInfo) -> Pardon:
    return Pardon(world.run, batch.header.peer, world.accusation(batch))


def test_a_newcomer_has_no_pardon() -> None:
    world = pardoning(10**6)
    accepted(world)
    batch = flipped(world)
    assert not world.state.rechecks.may_pardon(batch, world.state.size)
    assert "none to use" in refused(world, pardon(world, batch), world.coordinator)


def test_a_lone_wrong_ply_is_forgiven_once_everything_held_is_replayed() -> None:
    world = pardoning(1)
    made = [accepted(world) for _ in range(3)]
    batch = flipped(world)
    assert world.state.rechecks.may_pardon(batch, world.state.size)
    world.log(pardon(world, batch), world.coordinator)
    assert "decided already" in refused(world, pardon(world, batch), world.coordinator)
    ban = Ban(world.run, batch.header.peer, world.accusation(batch))
    assert "is pardoned" in refused(world, ban, world.coordinator)
    held = [each for each in made if each.released_at is None]
    assert [(batch_of(each), each.purpose, each.q_ppm) for each in world.state.batches.looking] == [
        (each, PARDON, PPM) for each in held
    ]
    world.admit()
    assert batch.decision is not None
    assert batch.decision.outcome == "rejected"
    assert not world.state.batches.is_out(batch.header.peer)
    before = world.state.batches.released
    world.share_set()
    accepted(world)
    accepted(world)
    assert world.state.batches.released == before  # all that is held waits for the replays
    for check in world.state.batches.looking:
        accept(world, check)
    world.admit()
    assert world.state.batches.released == tuple(made)
    assert snapshot(rebuilt(world)) == snapshot(world.state)


def test_pardons_are_earned_by_replayed_plies() -> None:
    worlds = ((plies, pardoning(plies)) for plies in range(90, 0, -10))
    world = next(world for plies, world in worlds if accepted(world).header.plies >= plies)
    batch = flipped(world)
    world.log(pardon(world, batch), world.coordinator)
    world.share_set()
    for check in world.state.batches.looking:
        accept(world, check)
    world.admit()
    again = flipped(world)
    assert not world.state.rechecks.may_pardon(again, world.state.size)


def test_a_second_accusation_leaves_nothing_to_forgive() -> None:
    world = pardoning(1)
    accepted(world)
    two = [world.play(world.peers["ada"], edit=edits.of_game(0, edits.value(0))) for _ in range(2)]
    for batch in two:
        accuse(world, batch)
    assert "none to use" in refused(world, pardon(world, two[0]), world.coordinator)


# ---- scrutiny


def scrutiny(world: World, **changes: object) -> Scrutiny:
    made = Scrutiny(world.run, world.peers["ada"].public, 700_000, world.state.size + 100, False, "Odd results.")
    return replace(made, **changes)  # type: ignore[arg-type]


def test_scrutiny_has_more_replayed_for_a_while() -> None:
    world = World(policy(q_min_ppm=50_000, probation_batches=1))
    world.register("ada")
    assert "no batch in the log" in refused(world, scrutiny(world), world.coordinator)
    for _ in range(3):
        accepted(world)
    assert "before it begins" in refused(world, scrutiny(world, last_index=world.state.size), world.coordinator)
    world.log(scrutiny(world, last_index=world.state.size + 20), world.coordinator)
    assert "cannot lessen" in refused(world, scrutiny(world, q_ppm=600_000), world.coordinator)
    assert accepted(world).q_ppm == 700_000
    world.ticks(20)
    assert accepted(world).q_ppm == 250_000


def test_scrutiny_may_begin_probation_anew() -> None:
    world = World(policy(q_min_ppm=50_000, probation_batches=2, hold_back_batches=0))
    world.register("ada")
    for _ in range(5):
        accepted(world)
    world.log(scrutiny(world, restart=True, last_index=world.state.size + 1), world.coordinator)
    world.ticks(2)
    one, two = accepted(world), accepted(world)
    assert (one.q_ppm, two.q_ppm) == (PPM, PPM)
    three = accepted(world)
    assert three.q_ppm == PPM
    assert accepted(world).q_ppm == 666_667
    assert one.released_at == two.decided_at  # nothing was released before both were accepted


# ---- the alarm


def alarmed() -> tuple[World, list[BatchInfo]]:
    world = World(policy(alarm_identities=2, exit_entries=60, timeout_entries=10))
    batches = []
    for name in ("ada", "bob"):
        world.register(name)
    for name in ("ada", "bob"):
        batch = world.play(world.peers[name], edit=edits.of_game(0, edits.value(0)))
        accuse(world, batch)
        batches.append(batch)
    return world, batches


def ban_of(world: World, batch: BatchInfo) -> Ban:
    return Ban(world.run, batch.header.peer, world.accusation(batch))


def test_contributors_that_fail_alike_pause_bans() -> None:
    world, batches = alarmed()
    assert "Bans are paused: 2 contributors with build" in refused(world, ban_of(world, batches[0]), world.coordinator)
    assert world.state.batches.is_suspended(batches[0].header.peer)
    assert world.state.convictions.alarm.reasons(world.state.size)
    world.ticks(70)
    world.log(ban_of(world, batches[0]), world.coordinator)


def test_a_new_manifest_ends_the_alarm() -> None:
    world, batches = alarmed()
    world.log(replace(world.manifest, run=world.run, version=2), world.root_key)
    world.log(ban_of(world, batches[0]), world.coordinator)


def test_who_failed_in_an_alarm_may_be_pardoned() -> None:
    world, batches = alarmed()
    world.log(pardon(world, batches[0]), world.coordinator)
    (due,) = world.state.due_decisions()
    world.log(Admission(world.run, (due.decision,)), world.coordinator)
    assert due.decision.outcome == REJECTED
    assert not world.state.batches.is_out(batches[0].header.peer)


def test_who_shares_nothing_with_those_that_failed_is_banned() -> None:
    world, _ = alarmed()
    header = world.state.batches.all[0].header
    alarm = world.state.convictions.alarm
    assert alarm.reason(replace(header, build="2.0", kernel="scalar", cpu="other"), world.state.size) is None
    assert alarm.reason(replace(header, build="2.0", kernel="scalar"), world.state.size) is not None


def test_nothing_of_who_is_accused_enters_a_window_meanwhile() -> None:
    world = World(policy(hold_back_batches=0, alarm_identities=1))
    world.register("ada")
    good = accepted(world)
    assert world.state.released_rows == good.header.plies
    batch = world.play(world.peers["ada"], edit=edits.of_game(0, edits.value(0)))
    accuse(world, batch)
    assert world.state.batches.released == ()
    assert world.state.released_rows == 0
    world.log(pardon(world, batch), world.coordinator)
    world.admit()
    assert world.state.batches.released == (good,)
    assert world.state.released_rows == good.header.plies


def test_release_waits_for_earlier_batches() -> None:
    world = World(policy(hold_back_batches=1))
    world.register("ada")
    first = accepted(world)
    slow, two, three = (world.play(world.peers["ada"]) for _ in range(3))
    accept(world, two)
    accept(world, three)
    world.admit()
    assert world.state.batches.released == (first,)
    accept(world, slow)
    world.admit()
    assert world.state.batches.released == (first, slow, two)
