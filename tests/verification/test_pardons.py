"""Pardons: who is forgiven a lone wrong ply, and after what."""

from protocol.proof import Ban, Pardon
from protocol.seeds import PPM
from tests.verification import edits
from tests.verification.test_batches import policy
from tests.verification.test_state import refused, snapshot
from tests.verification.verdicts import accept, accepted, accuse, rebuilt
from tests.verification.world import World
from verification.identities import PARDON, BatchInfo, batch_of


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
