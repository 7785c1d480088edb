"""Key replacements: who may, once, from where on; what of the history stays, and what of the thief's is left of it."""

from dataclasses import replace

import pytest

from protocol.orders import Scrutiny
from protocol.proof import Ban
from protocol.seeds import PPM
from tests.verification import edits
from tests.verification.replaced import register, replace_key, replacement
from tests.verification.test_batches import policy
from tests.verification.test_state import refused, registration, snapshot
from tests.verification.verdicts import accept, accepted, rebuilt
from tests.verification.world import World
from verification.identities import BatchInfo

WRONG = edits.of_game(0, edits.value(0))


@pytest.fixture
def world() -> World:
    """A run where ada has a recovery key, and a probation of two batches."""
    world = World(policy(probation_batches=2, hold_back_batches=2))
    register(world, "ada")
    return world


def stolen(world: World, honest: int = 3) -> BatchInfo:
    """A wrong batch that a thief sent under ada's key after so many of her own; its verdict is logged."""
    for _ in range(honest):
        accepted(world)
    while True:  # until its draw finds it
        batch = world.play(world.peers["ada"], edit=WRONG)
        if world.judge(batch) is not None:
            return batch
        world.admit()


# ---- who may


def test_both_keys_sign(world: World) -> None:
    record, recovery, new = replacement(world, "ada"), world.key("recovery ada"), world.key("new ada")
    for signers in ([new], [recovery], [world.key("ada"), new], [recovery, new, world.key("ada")]):
        assert "signed by the recovery key and the new key" in refused(world, record, *signers)
    world.log(record, new, recovery)  # in any order


def test_only_the_registered_recovery_key_replaces(world: World) -> None:
    eve, new = world.key("eve"), world.key("new ada")
    wrong = replace(replacement(world, "ada"), recovery=eve.public)
    assert "not registered with this recovery key" in refused(world, wrong, eve, new)
    bob = world.register("bob")  # with none
    record = replace(replacement(world, "ada"), peer=bob.public)
    assert "not registered with this recovery key" in refused(world, record, world.key("recovery ada"), new)


def test_an_unknown_key_is_not_replaced(world: World) -> None:
    record = replacement(world, "carol")
    assert "is not registered" in refused(world, record, world.key("recovery carol"), world.key("new carol"))


def test_the_new_key_is_fresh(world: World) -> None:
    recovery, bob, verifier = world.key("recovery ada"), world.register("bob"), world.verifiers[0]
    record = replacement(world, "ada")
    taken = replace(record, replacement=bob.public)
    assert "new key is registered already" in refused(world, taken, recovery, bob)
    role = replace(record, replacement=verifier.public)
    assert "with a role" in refused(world, role, recovery, verifier)


def test_a_key_is_replaced_once(world: World) -> None:
    recovery, new = world.key("recovery ada"), replace_key(world, "ada")
    third = world.key("third")
    again = replace(replacement(world, "ada"), replacement=third.public)
    assert "replaced already" in refused(world, again, recovery, third)
    next_one = replace(again, peer=new.public)
    assert "not registered with this recovery key" in refused(world, next_one, recovery, third)
    late = registration(world, new, world.invite("new"))
    assert "registered already" in refused(world, late, new)


def test_nothing_of_the_future_is_called_invalid(world: World) -> None:
    record = replacement(world, "ada", world.state.size + 1)
    signers = world.key("recovery ada"), world.key("new ada")
    assert "not logged yet" in refused(world, record, *signers)
    world.log(replace(record, invalid_from=world.state.size), *signers)


# ---- what stays


def test_the_history_goes_on_under_the_new_key(world: World) -> None:
    batches = [accepted(world) for _ in range(4)]
    state, old = world.state, world.peers["ada"]
    before, tally = state.batches.identity(old.public), state.batches.tally(old.public)
    assert before is not None
    nonce, q = state.join_nonce(old.public), before.share_of_replay(world.manifest.admission, state.size)
    assert q < PPM
    new = replace_key(world, "ada")
    info = state.registration(new.public)
    assert info is not None
    assert info.index == state.size - 2
    identity = state.batches.identity(new.public)
    assert identity is state.batches.identity(old.public) is before
    assert state.batches.identities == (identity,)
    assert state.batches.total() == state.batches.tally(new.public) == tally
    assert (identity.peer, identity.accepted) == (new.public, 4)
    assert identity.credit == (tally.credit_plies, tally.credit_visits)
    assert state.join_nonce(new.public) not in (None, nonce)
    assert state.next_counter(new.public, state.release.id) == 0
    more = accepted(world, "new ada")
    assert (more.header.first_counter, more.header.registration) == (0, info.index)
    assert more.q_ppm == q
    assert identity.accepted_at == [batch.index for batch in (*batches, more)]
    assert batches[2].released_at is not None  # by a batch of the new key
    assert identity.credit[0] == tally.credit_plies + more.header.plies
    assert snapshot(rebuilt(world)) == snapshot(state)


def test_the_old_key_sends_nothing_more(world: World) -> None:
    old = world.peers["ada"]
    header = world.header(old, world.games(old, 2))
    replace_key(world, "ada")
    assert "has another key now" in refused(world, header, old)
    assert world.state.batches.is_out(old.public)
    assert old.public not in world.state.active_players()


def test_a_replacement_before_the_first_batch(world: World) -> None:
    new = replace_key(world, "ada")
    assert world.state.batches.identity(new.public) is None
    batch = world.batch(new)
    assert batch.is_accepted_batch
    assert [each.peer for each in world.state.batches.identities] == [new.public]
    assert snapshot(rebuilt(world)) == snapshot(world.state)


def test_a_scrutiny_goes_on_too(world: World) -> None:
    for _ in range(4):
        accepted(world)
    peer = world.peers["ada"].public
    record = Scrutiny(world.run, peer, PPM, world.state.size + 50, False, "odd")
    world.log(record, world.coordinator)
    replace_key(world, "ada")
    assert world.play(world.peers["new ada"]).q_ppm == PPM


# ---- what the thief sent


def test_batches_of_the_thief_are_dropped_without_a_ban(world: World) -> None:
    own = [accepted(world) for _ in range(3)]
    since = world.state.size
    theirs = [accepted(world), world.play(world.peers["ada"])]
    state, old = world.state, world.peers["ada"].public
    credit = sum(batch.header.plies for batch in own)
    released = [batch for batch in state.batches.released if batch in theirs]
    assert own[1] in state.batches.released
    new = replace_key(world, "ada", since)
    identity = state.batches.identity(new.public)
    assert identity is not None
    assert all(batch.dropped for batch in theirs)
    assert state.batches.open == ()
    assert not [batch for batch in released if batch in state.batches.released]
    assert not state.is_banned(old)
    assert not state.batches.is_out(new.public)
    assert identity.credit[0] == credit
    assert identity.tally.rejected == sum(batch.games for batch in theirs)
    assert (identity.accepted, identity.accepted_at) == (0, [batch.index for batch in own])
    for _ in range(2):  # on probation anew
        assert world.batch(new).q_ppm == PPM
    assert identity.first_passed(world.manifest.admission)
    assert own[2] in state.batches.released
    assert snapshot(rebuilt(world)) == snapshot(state)


def test_an_accused_batch_of_the_thief_accuses_nobody(world: World) -> None:
    bad = stolen(world)
    state, old = world.state, world.peers["ada"].public
    assert state.batches.is_suspended(old)
    proof = world.accusation(bad)
    new = replace_key(world, "ada", bad.index)
    assert not state.batches.is_suspended(new.public)
    assert state.batches.accusing() == []
    assert state.due_decisions() == []
    assert "pardoned" in refused(world, Ban(world.run, old, proof), world.coordinator)
    assert world.play(new).q_ppm == PPM
    assert snapshot(rebuilt(world)) == snapshot(state)


def test_a_ban_for_a_stolen_batch_ends_with_the_key(world: World) -> None:
    bad = stolen(world)
    plies = world.state.batches.tally(world.peers["ada"].public).credit_plies
    world.admit()
    state, old = world.state, world.peers["ada"].public
    assert state.is_banned(old)
    new = replace_key(world, "ada", bad.index)
    identity = state.batches.identity(new.public)
    assert identity is not None
    assert (identity.out_at, identity.accepted) == (None, 0)
    assert identity.credit[0] == plies
    assert not state.batches.is_out(new.public)
    assert not state.is_banned(new.public)
    assert world.batch(new).q_ppm == PPM
    assert world.batch(new).is_accepted_batch
    assert bad not in state.batches.released
    assert snapshot(rebuilt(world)) == snapshot(state)


def test_nobody_flees_from_its_own_wrong_batch(world: World) -> None:
    bad = stolen(world)
    record, signers = replacement(world, "ada"), (world.key("recovery ada"), world.key("new ada"))
    late = replace(record, invalid_from=bad.index + 1)
    assert "was its owner's" in refused(world, late, *signers)  # accused
    world.admit()
    assert "was its owner's" in refused(world, late, *signers)  # banned
    world.log(replace(late, invalid_from=bad.index), *signers)


def test_nobody_flees_from_a_rejection_without_a_proof(world: World) -> None:
    accepted(world)
    key = world.peers["ada"]
    header = world.header(key, world.games(key, 2))
    index = world.log(replace(header, plies=header.plies + 1), key)
    world.share_set()
    batch = world.state.batch(index)
    assert batch is not None
    world.judge(batch)
    world.admit()
    assert world.state.batches.is_out(key.public)
    assert not world.state.is_banned(key.public)
    signers = world.key("recovery ada"), world.key("new ada")
    assert "was its owner's" in refused(world, replacement(world, "ada"), *signers)
    new = replace_key(world, "ada", index)
    assert not world.state.batches.is_out(new.public)


def test_looks_at_a_thiefs_batch_end_with_it(world: World) -> None:
    for _ in range(3):
        accepted(world)
    since = world.state.size
    theirs = world.play(world.peers["ada"])
    accept(world, theirs)
    replace_key(world, "ada", since)
    assert world.state.due_decisions() == []
    assert world.admit() is None
