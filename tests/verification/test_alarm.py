"""The alarm: contributors that fail alike pause bans; and what is held back meanwhile."""

from dataclasses import replace

from protocol.admission import REJECTED, Admission
from protocol.proof import Ban
from tests.verification import edits
from tests.verification.test_batches import policy
from tests.verification.test_pardons import pardon
from tests.verification.test_state import refused
from tests.verification.verdicts import accept, accepted, accuse
from tests.verification.world import World
from verification.identities import BatchInfo


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
