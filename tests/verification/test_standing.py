"""Who stands how, by the log alone: words, reasons, shares of replay, and credit that no split makes larger."""

from dataclasses import replace

from protocol.orders import Scrutiny
from protocol.registration import Registration
from protocol.seeds import PPM
from tests.verification import edits
from tests.verification.replaced import register, replace_key
from tests.verification.test_batches import policy
from tests.verification.test_ringers import opened, ringer
from tests.verification.test_state import registration
from tests.verification.verdicts import accepted
from tests.verification.world import World
from verification.standing import (
    BANNED,
    GOOD,
    LEFT,
    PROBATION,
    REJECTION,
    REPLACED,
    RINGER,
    SLOT_LOST,
    SUSPENDED,
    WAITING,
    Standing,
    standings,
    total,
)

WRONG = edits.of_game(0, edits.value(0))


def standing(world: World, name: str) -> Standing:
    """How the key of `name` stands."""
    return next(row for row in standings(world.state) if row.peer == world.key(name).public)


def test_from_registration_to_good_standing() -> None:
    world = World(policy(probation_batches=2, hold_back_batches=1))
    key = world.peers["ada"] = world.key("ada")
    index = world.log(registration(world, key, world.invite("ada"), name="ada"), key)
    row = standing(world, "ada")
    assert (row.name, row.standing, row.entry, row.last_seen) == ("ada", WAITING, index, None)
    assert (row.q_ppm, row.q_reason, row.needed) == (PPM, PROBATION, 2)
    world.share_set()
    assert standing(world, "ada").standing == PROBATION
    first = accepted(world)
    row = standing(world, "ada")
    assert (row.standing, row.passed, row.needed, row.held, row.released) == (PROBATION, 1, 2, 1, 0)
    batches = [first, *(accepted(world) for _ in range(4))]
    world.ticks(3)
    row = standing(world, "ada")
    assert (row.standing, row.reason, row.held, row.released) == (GOOD, "", 1, 4)
    assert (row.batches, row.games, row.failed_games) == (5, 10, 0)
    assert row.credit_plies == sum(batch.header.plies for batch in batches)
    assert row.credit_visits == sum(batch.header.visits for batch in batches)
    assert (row.q_ppm, row.q_reason, row.scrutiny) == (500_000, "history", "")
    assert row.last_seen == world.state.size - 1 - batches[-1].index


def test_a_scrutiny_says_why() -> None:
    world = World()
    peer = world.register("ada").public
    for _ in range(3):
        accepted(world)
    last_index = world.state.size + 3
    world.log(Scrutiny(world.run, peer, 900_000, last_index, False, "first moves"), world.coordinator)
    row = standing(world, "ada")
    assert (row.standing, row.q_ppm, row.q_reason, row.scrutiny) == (GOOD, 900_000, "scrutiny", "first moves")
    world.ticks(3)
    assert (standing(world, "ada").q_reason, standing(world, "ada").scrutiny) == ("history", "")


def test_accused_then_banned() -> None:
    world = World()
    world.register("ada")
    bad = world.play(world.peers["ada"], edit=WRONG)
    rejected = world.judge(bad)
    row = standing(world, "ada")
    assert (row.standing, row.reason, row.entry) == (SUSPENDED, str(rejected), bad.verdict_index)
    world.admit()
    row = standing(world, "ada")
    assert (row.standing, row.entry) == (BANNED, world.state.convictions.banned_at(row.peer))
    assert row.reason == f"batch at entry {bad.index}: {rejected}"
    assert (row.failed_games, row.q_ppm, row.q_reason) == (2, None, "")


def test_a_rejection_without_a_ban() -> None:
    world = World()
    key = world.register("ada")
    header = world.header(key, world.games(key, 2))
    index = world.log(replace(header, plies=header.plies + 1), key)
    world.share_set()
    batch = world.state.batch(index)
    assert batch is not None
    world.judge(batch)
    at = world.admit()
    row = standing(world, "ada")
    assert (row.standing, row.entry) == (REJECTION, at)
    assert row.reason.startswith(f"batch at entry {index}: ply count")


def test_silence() -> None:
    world = World(policy(exit_entries=10))
    world.register("ada")
    accepted(world)
    world.ticks(12)
    row = standing(world, "ada")
    assert row.standing == LEFT
    assert row.reason == f"silent for {row.last_seen} entries"
    accepted(world)
    assert standing(world, "ada").standing == GOOD


def test_a_lost_slot_and_those_who_wait() -> None:
    world = World()
    peer = world.register("ada").public
    world.state.registry.lose_slot(peer, world.state.size)
    eve = registration(world, world.key("eve"), b"")
    logged = Registration(world.run, peer, "ada", b"", 1, bytes(32), b"", 1)
    lost, waits = standings(world.state, [eve, logged])
    assert (lost.standing, lost.q_ppm) == (SLOT_LOST, None)
    assert (waits.name, waits.standing, waits.reason) == ("eve", WAITING, "for a probation slot, place 1 of 2")


# ---- credit


def test_credit_is_a_sum_over_batches() -> None:
    """One history split over three identities gives, in every way, what it gives one."""
    world = World()
    for name in ("ada", "bob", "carol"):
        world.register(name)
    batches = [accepted(world, name) for name in ("ada", "bob", "carol", "bob", "carol", "carol")]
    rows = standings(world.state)
    assert [row.name for row in rows] == sorted(
        ("ada", "bob", "carol"), key=lambda name: standing(world, name).credit_plies, reverse=True
    )
    tally = total(rows)
    assert tally.credit_plies == sum(batch.header.plies for batch in batches)
    assert tally.credit_visits == sum(batch.header.visits for batch in batches)
    assert (tally.batches, tally.games) == (6, 12)


def test_a_ban_takes_all_credit() -> None:
    world = World()
    world.register("ada")
    accepted(world)
    accepted(world)
    assert standing(world, "ada").credit_plies > 0
    while world.judge(world.play(world.peers["ada"], edit=WRONG)) is None:
        world.admit()
    world.admit()
    row = standing(world, "ada")
    assert (row.standing, row.credit_plies, row.credit_visits, row.released) == (BANNED, 0, 0, 0)
    assert row.games > 0
    assert total([row]).credit_visits == 0


def test_a_ringer_has_none() -> None:
    world = World()
    batch, ply = ringer(world)
    world.judge(batch)
    at = world.log(opened(world, batch, ply), world.coordinator)
    row = standing(world, "ringer")
    assert (row.standing, row.entry, row.credit_plies, row.games) == (RINGER, at, 0, 0)


def test_a_history_goes_on_under_a_new_key() -> None:
    world = World()
    old = register(world, "ada")
    before = [accepted(world), accepted(world)]
    was = standing(world, "ada")
    new = replace_key(world, "ada")
    rows = standings(world.state)
    assert [(row.peer, row.name) for row in rows] == [(new.public, "ada"), (old.public, "ada")]
    row, gone = rows
    assert row.credit_plies == was.credit_plies == sum(batch.header.plies for batch in before)
    assert (row.standing, row.batches, row.released, row.held) == (GOOD, 2, was.released, was.held)
    assert row.replaces == old.public
    assert (gone.standing, gone.replaced_by, gone.credit_plies, gone.batches) == (REPLACED, new.public, 0, 0)
    assert gone.entry == world.state.size - 2
    assert total(rows).credit_plies == was.credit_plies
    accepted(world, "new ada")
    accepted(world, "new ada")
    assert standing(world, "new ada").released == was.released + 2
