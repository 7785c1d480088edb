"""The log's state: the same from the entries alone, and nothing that does not fit ever changes it."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from protocol import seeds
from protocol.ed25519 import SecretKey
from protocol.envelope import Envelope
from protocol.epoch import EpochHash, EpochReveal, Share, ShareSet
from protocol.manifest import Manifest
from protocol.receipt import Tick
from protocol.record import Record
from protocol.registration import Invite, Registration
from protocol.root import VERIFIER, Role, Root
from tests.verification.manifests import digest_of, small_manifest
from tests.verification.world import World
from verification.faults import LogFault
from verification.state import LogState


def refused(world: World, record: Record, *signers: SecretKey) -> str:
    """Why the state refuses a record; fails if it does not, or if the refusal changed anything."""
    before = snapshot(world.state)
    data = record.seal(*signers).encode()
    with pytest.raises(LogFault) as fault:
        world.state.check(data)
    with pytest.raises(LogFault):
        world.state.apply(data)
    assert snapshot(world.state) == before
    return fault.value.reason


def snapshot(state: LogState) -> tuple[object, ...]:
    """What a state says, for comparison."""
    gate = state.gates.newest
    return (
        state.tree.root(),
        state.root_digest,
        state.manifest_digest,
        state.releases.all,
        tuple((peer, state.registration(peer), state.join_nonce(peer)) for peer in state.registry.peers),
        state.convictions.banned,
        tuple(
            (
                b.index,
                b.digest,
                b.q_ppm,
                b.assigned,
                b.beacon,
                b.verdict,
                b.opening,
                b.decision,
                b.released_at,
                b.dropped,
                b.leaving,
                tuple(
                    (look.index, look.assigned, look.beacon, look.verdict, look.opening, look.decision, look.chosen)
                    for look in b.looks[1:]
                ),
            )
            for b in state.batches.all
        ),
        tuple(
            (each.peer, each.accepted, tuple(each.accepted_at), each.out_at, each.replayed, each.scrutiny, each.tally)
            for each in state.batches.identities
        ),
        state.convictions.pardons,
        tuple(sorted(state.subjects.distrusted)),
        tuple(check.key for check in state.batches.looking),
        tuple(b.index for b in state.batches.open),
        state.batches.total(),
        tuple(window.record for window in state.windows),
        tuple(state.trainings),
        tuple(state.given_up),
        state.statements.missing,
        state.statements.all,
        None if gate is None else (gate.index, tuple(gate.scores), gate.decision, gate.record, gate.barred),
        tuple(state.faults),
        state.beacons.covered,
        tuple(state.beacon(index) for index in range(state.size)),
    )


def test_the_log_alone_rebuilds_the_state(grown: World) -> None:
    again = LogState(grown.run)
    for entry in grown.entries:
        assert again.check(entry) == again.apply(entry)
    assert snapshot(again) == snapshot(grown.state)
    assert again.release.number == 2
    assert again.release_by_id(again.release.id) == again.release
    assert again.previous_release is not None
    assert again.previous_release.number == 1


def test_every_single_byte_of_an_entry_counts(grown: World) -> None:
    """No entry can be changed by a bit and still be applied to the same state with the same root."""
    for index in (2, 5, 9, 14):
        state = LogState(grown.run)
        for entry in grown.entries[:index]:
            state.apply(entry)
        entry = grown.entries[index]
        for at in range(0, len(entry), 37):
            changed = entry[:at] + bytes([entry[at] ^ 1]) + entry[at + 1 :]
            with pytest.raises(LogFault):
                state.apply(changed)
        assert state.size == index


def test_bytes_that_are_no_entry(world: World) -> None:
    for data in (b"", b"\x80", b"\xc1", b"\x81\xa1a\x01", bytes(70000), Envelope("application/x", b"", ()).encode()):
        with pytest.raises(LogFault, match="The entry is wrong"):
            world.state.apply(data)


# ---- beginning


def test_a_log_begins_with_root_and_manifest() -> None:
    world = World()
    state = LogState(world.run)
    with pytest.raises(LogFault, match="begins with root"):
        state.apply(world.entries[1])
    state.apply(world.entries[0])
    with pytest.raises(LogFault, match="begins with root"):
        state.apply(world.entries[2])
    state.apply(world.entries[1])
    assert state.manifest == world.manifest
    with pytest.raises(LogFault, match="first entry"):
        state.apply(world.entries[0])
    with pytest.raises(LogFault, match="second entry"):
        state.apply(world.entries[1])


def test_a_run_id_certifies_root_and_manifest() -> None:
    world, other = World(), World(word="b")
    state = LogState(other.run)
    state.apply(world.entries[0])
    with pytest.raises(LogFault, match="another run id"):
        state.apply(world.entries[1])


def test_root_and_manifest_need_the_roots_signatures() -> None:
    world = World()
    stranger = world.key("stranger")
    state = LogState(world.run)
    with pytest.raises(LogFault, match="0 of the root's keys"):
        state.apply(world.root.seal(stranger).encode())
    with pytest.raises(LogFault, match="not the root's"):
        state.apply(world.root.seal(world.root_key, stranger).encode())
    state.apply(world.entries[0])
    with pytest.raises(LogFault, match="0 of the root's keys"):
        state.apply(world.manifest.seal(stranger).encode())


def test_a_new_root_is_signed_by_old_and_new_threshold(world: World) -> None:
    new_key, late = world.key("root 2"), world.key("verifier late")
    roles = (*world.root.roles, Role(VERIFIER, late.public, "late"))
    root = Root(world.run, 2, 1, (new_key.public,), roles, 2)
    assert "0 of the root's keys" in refused(world, root, new_key)
    assert "0 of the root's keys" in refused(world, root, world.root_key)
    assert "does not follow" in refused(world, replace(root, version=3), new_key, world.root_key)
    world.log(root, world.root_key, new_key)
    assert world.state.root == root
    assert len(world.state.verifiers()) == 2
    assert world.state.role_of(late.public) is not None


def test_manifest_versions_rise(world: World) -> None:
    second = replace(world.manifest, run=world.run, version=2, name="again")
    assert "does not follow" in refused(world, replace(second, version=3), world.root_key)
    assert "another run" in refused(world, replace(second, run=digest_of("x")), world.root_key)
    world.log(second, world.root_key)
    assert world.state.manifest.name == "again"
    assert world.state.release.manifest == world.manifest.digest()


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda m: replace(m, gate=replace(m.gate, kind="sprt", elo1=1000)), "normalised Elo"),
        (lambda m: replace(m, gate=replace(m.gate, kind="elo-threshold", elo0=4001, elo1=4002)), "threshold"),
        (lambda m: replace(m, network=replace(m.network, features=2)), "input features 2"),
        (
            lambda m: replace(
                m,
                selfplay=replace(m.selfplay, semantics="gonode/search/2"),
                gate_search=replace(m.gate_search, semantics="gonode/search/2"),
            ),
            "searches by gonode/search/2; this build knows gonode/search/1",
        ),
        (lambda m: replace(m, openings=()), None),
        (lambda m: replace(m, openings=(replace(m.openings[0], selfplay_weight=0),)), "no opening"),
        (lambda m: replace(m, openings=(replace(m.openings[0], moves=(5, 5)),)), "cannot be played"),
        (lambda m: replace(m, openings=(replace(m.openings[0], moves=(49, 49)),)), "ends the game"),
        (lambda m: replace(m, network=replace(m.network, channels=512)), "cannot be played"),
        (lambda m: replace(m, selfplay=replace(m.selfplay, root_temperature_micro=0)), "cannot be played"),
    ],
)
def test_a_manifest_that_cannot_be_played(change: Callable[[Manifest], Manifest], why: str | None) -> None:
    manifest = change(small_manifest())
    if why is None:
        assert World(manifest).state.release.number == 0
    else:
        with pytest.raises(LogFault, match=why):
            World(manifest)


# ---- roles


def test_only_the_coordinator_speaks_for_the_run(world: World) -> None:
    tick = Tick(world.run, world.state.size, 0)
    assert "not signed by a coordinator" in refused(world, tick, world.verifiers[0])
    assert "not signed by a coordinator" in refused(world, tick, world.coordinator, world.key("stranger"))
    assert "for a log of" in refused(world, replace(tick, log_size=3), world.coordinator)
    assert "another run" in refused(world, replace(tick, run=digest_of("x")), world.coordinator)
    world.log(tick, world.coordinator)


def test_roles_expire_with_log_entries() -> None:
    world = World()
    roles = tuple(replace(role, expires=world.state.size + 3) for role in world.root.roles)
    world.log(replace(world.root, run=world.run, version=2, roles=roles), world.root_key)
    world.ticks(2)
    assert "not signed by a coordinator" in refused(world, Tick(world.run, world.state.size, 0), world.coordinator)


# ---- registration


def registration(world: World, key: SecretKey, invite: bytes, **changes: object) -> Registration:
    size = world.state.size
    record = Registration(world.run, key.public, "eve", b"", size, world.state.tree.root(), invite, 0)
    return replace(record, **changes)  # type: ignore[arg-type]


def test_registration_needs_an_unused_invite_of_the_coordinator(world: World) -> None:
    eve = world.key("eve")
    used = world.invite("ada")
    assert "used already" in refused(world, registration(world, eve, used), eve)
    assert "by invite only" in refused(world, registration(world, eve, b""), eve)
    forged = Invite(world.run, bytes(16), 10**6).seal(eve).encode()
    assert "not signed by this run's coordinator" in refused(world, registration(world, eve, forged), eve)
    assert "invite is wrong" in refused(world, registration(world, eve, b"\x80"), eve)
    late = world.invite("late", last_index=world.state.size - 1)
    assert "ended with" in refused(world, registration(world, eve, late), eve)
    other = Invite(digest_of("x"), bytes(16), 10**6).seal(world.coordinator).encode()
    assert "another run" in refused(world, registration(world, eve, other), eve)
    good = world.invite("eve")
    assert "not signed by the key" in refused(world, registration(world, eve, good), world.peers["ada"])
    wrong = registration(world, eve, good, root_hash=digest_of("x"))
    assert "not of this log" in refused(world, wrong, eve)
    world.log(registration(world, eve, good), eve)
    assert world.state.registration(eve.public) is not None
    assert "registered already" in refused(world, registration(world, eve, world.invite("eve 2")), eve)


def test_keys_with_a_role_do_not_register(world: World) -> None:
    key = world.verifiers[0]
    assert "with a role" in refused(world, registration(world, key, world.invite("v")), key)


def test_join_nonce_waits_for_the_beacon(world: World) -> None:
    eve = world.key("eve")
    index = world.log(registration(world, eve, world.invite("eve")), eve)
    assert world.state.join_nonce(eve.public) is None
    world.share_set()
    beacon = world.state.beacon(index)
    assert beacon is not None
    assert world.state.join_nonce(eve.public) == seeds.join_nonce(world.run, eve.public, beacon)


# ---- epochs and beacons


def test_the_first_full_set_that_covers_an_index_makes_its_beacon(world: World) -> None:
    index = world.state.size
    world.ticks(1)
    assert world.state.beacon(index) is None
    world.share_set([])
    assert world.state.beacon(index) is None
    assert not world.state.beacons.has_share(world.verifiers[0].public, index + 1)
    at = world.share_set()
    value = world.state.beacon(index)
    assert value is not None
    world.ticks(1)
    world.share_set()
    assert world.state.beacon(index) == value
    found = world.state.beacons.find(index)
    assert found is not None
    assert found.set_index == at
    assert world.state.beacons.has_share(world.verifiers[0].public, found.size)


def test_the_threshold_of_three_verifiers_is_two() -> None:
    world = World(verifiers=3)
    index = world.state.size
    world.ticks(1)
    world.share_set(world.verifiers[:1])
    assert world.state.beacon(index) is None
    world.share_set(world.verifiers[:2])
    assert world.state.beacon(index) is not None


def test_share_sets_that_do_not_fit(world: World) -> None:
    world.ticks(1)
    size, root, verifier = world.state.size, world.state.tree.root(), world.verifiers[0]
    share = world.share(verifier, size)
    good = ShareSet(world.run, size, root, world.state.beacons.covered, (share.encode(),))
    assert "not signed by a coordinator" in refused(world, good, verifier)
    assert "cannot follow" in refused(world, replace(good, size=size + 1), world.coordinator)
    assert "another root hash" in refused(world, replace(good, root_hash=digest_of("x")), world.coordinator)
    assert "last set that made" in refused(world, replace(good, previous_size=0), world.coordinator)
    assert "one a verifier" in refused(world, replace(good, shares=good.shares * 2), world.coordinator)
    assert "share of the set is wrong" in refused(world, replace(good, shares=(b"\x80",)), world.coordinator)
    record = Share.open(share)
    for changed, why in (
        (replace(record, epoch=7).seal(verifier), "not made under"),
        (replace(record, size=size - 1).seal(verifier), "another tree"),
        (record.seal(world.key("stranger")), "not signed by the verifier"),
    ):
        assert why in refused(world, replace(good, shares=(changed.encode(),)), world.coordinator)
    world.log(good, world.coordinator)
    assert "cannot follow" in refused(world, good, world.coordinator)


def test_epochs_follow_each_other(world: World) -> None:
    verifier = world.verifiers[0]
    again = EpochHash(world.run, verifier.public, 0, digest_of("x"))
    assert "next epoch is 1" in refused(world, again, verifier)
    assert "not signed by a verifier" in refused(
        world, EpochHash(world.run, world.peers["ada"].public, 0, digest_of("x")), world.peers["ada"]
    )
    same = EpochHash(
        world.run,
        verifier.public,
        1,
        world.state.epochs.all(verifier.public)[0].secret_hash,
    )
    assert "before" in refused(world, same, verifier)
    world.begin_epoch(verifier)
    newest = world.state.epochs.newest(verifier.public)
    assert newest is not None
    assert newest.epoch == 1


def test_a_false_reveal_is_refused(world: World) -> None:
    verifier = world.verifiers[0]
    world.begin_epoch(verifier)
    false = EpochReveal(world.run, verifier.public, 0, digest_of("x"))
    assert "not the one that epoch 0 committed to" in refused(world, false, verifier)
    assert "no epoch 5" in refused(world, replace(false, epoch=5), verifier)
    world.reveal(verifier, 0)
    honest = EpochReveal(world.run, verifier.public, 0, world.secret(verifier, 0))
    assert "revealed already" in refused(world, honest, verifier)


def test_a_secret_is_kept_until_its_batches_are_judged(world: World) -> None:
    verifier = world.verifiers[0]
    batch = world.play(world.peers["ada"])
    world.begin_epoch(verifier)
    early = EpochReveal(world.run, verifier.public, 0, world.secret(verifier, 0))
    assert world.state.batches.unjudged(verifier.public, 0)
    assert f"entry {batch.index}" in refused(world, early, verifier)
    world.judge(batch)
    assert not world.state.batches.unjudged(verifier.public, 0)
    world.reveal(verifier, 0)
    assert world.state.faults == []


def test_after_a_draining_reveal_the_verifier_takes_nothing(world: World) -> None:
    verifier = world.verifiers[0]
    world.reveal(verifier, 0)
    ada = world.peers["ada"]
    header = world.header(ada, world.games(ada, 2))
    assert "No verifier takes batches now" in refused(world, header, ada)
    world.begin_epoch(verifier)
    header = world.header(ada, world.games(ada, 2))
    world.log(header, ada)


def test_a_reveal_shows_false_shares(world: World) -> None:
    verifier = world.verifiers[0]
    world.ticks(1)
    size, root = world.state.size, world.state.tree.root()
    false = Share(world.run, verifier.public, 0, size, root, digest_of("x")).seal(verifier).encode()
    world.log(ShareSet(world.run, size, root, world.state.beacons.covered, (false,)), world.coordinator)
    world.begin_epoch(verifier)
    assert world.state.faults == []
    world.reveal(verifier, 0)
    assert [fault.verifier for fault in world.state.faults] == [verifier.public]
    assert f"false beacon share for tree size {size}" in world.state.faults[0].reason
