"""Checks done once more: after a void epoch, under a new root, and of games that the beacon picks."""

from dataclasses import replace

from protocol.epoch import EpochReveal
from protocol.orders import VoidEpoch
from protocol.seeds import PPM, is_picked
from tests.verification import edits
from tests.verification.test_batches import policy
from tests.verification.test_state import refused, snapshot
from tests.verification.verdicts import accept, accepted, accuse, rebuilt
from tests.verification.world import World
from verification.identities import REPEAT, batch_of


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
