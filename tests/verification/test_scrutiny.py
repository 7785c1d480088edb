"""Scrutiny: more is replayed for a while, or probation begins anew."""

from dataclasses import replace

from protocol.orders import Scrutiny
from protocol.seeds import PPM
from tests.verification.test_batches import policy
from tests.verification.test_state import refused
from tests.verification.verdicts import accepted
from tests.verification.world import World


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
