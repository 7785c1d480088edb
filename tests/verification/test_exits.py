"""Exits: who falls silent has games drawn once more, and is released or kept out."""

from protocol.orders import Exit
from protocol.seeds import PPM
from tests.verification import edits
from tests.verification.test_batches import policy
from tests.verification.test_state import refused, snapshot
from tests.verification.verdicts import accept, accepted, accuse, rebuilt
from tests.verification.world import World
from verification.identities import EXIT, BatchInfo, batch_of


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
