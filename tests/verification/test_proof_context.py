"""What a proof rests on when the run has changed: later roots and manifests, seeds of others, replaced keys."""

from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256

import pytest

from native.network import Kernel
from protocol.ed25519 import SecretKey
from protocol.envelope import Envelope
from protocol.errors import BadProof, ProtocolError
from protocol.proof import PLY, Ban, FraudProof, LoggedEntry
from protocol.recovery import KeyReplacement
from protocol.registration import Registration
from protocol.root import COORDINATOR, VERIFIER, Role
from tests.verification import edits
from tests.verification.test_fills import ask, crowd, end, peer
from tests.verification.world import World
from verification.identities import BatchInfo
from verification.proof import Finding, check_proof
from verification.proof_builder import Evidence, build_proof
from verification.setup import selfplay_job


def check(world: World, proof: bytes) -> Finding:
    return check_proof(proof, world.run, world.networks.get, Kernel.SCALAR)


def logged(world: World, index: int) -> LoggedEntry:
    return LoggedEntry(world.entry(index), index, world.state.tree.inclusion_proof(index))


def wrong_batch(world: World, key: SecretKey) -> tuple[BatchInfo, bytes]:
    """A batch with one wrong value, and the proof of it."""
    batch = world.play(key, edit=edits.of_game(1, edits.value(6)))
    ply = world.content(batch).games[1].plies[6]
    evidence = Evidence(PLY, 1, ply)
    return batch, build_proof(world.state, world.entry, world.note(), batch, world.content(batch), evidence)


# ---- later versions


@pytest.fixture(scope="module")
def changed() -> tuple[World, bytes]:
    """A run with other root and role keys and a second manifest, under which its newest release plays; a proof."""
    world = World()
    ada = world.register("ada")
    second = replace(
        world.root,
        run=world.run,
        version=2,
        keys=(world.key("new root").public,),
        roles=(*world.root.roles, Role(VERIFIER, world.key("late").public, "late")),
        witness_threshold=2,
    )
    world.log(second, world.root_key, world.key("new root"))
    world.verifiers.append(world.key("late"))
    world.epoch[world.key("late").public] = -1
    world.begin_epoch(world.key("late"))
    world.share_set(world.verifiers[:1])
    third = replace(
        second,
        version=3,
        roles=(Role(COORDINATOR, world.key("coordinator 2").public, "coordinator-2"), *second.verifiers),
    )
    world.log(third, world.key("new root"))
    world.coordinator = world.key("coordinator 2")
    world.share_set()
    changed = replace(world.manifest, run=world.run, version=2, name="changed")
    world.log(changed, world.key("new root"))
    world.cycle()
    assert world.state.release.manifest == changed.digest()
    batch, proof = wrong_batch(world, ada)
    assert batch.header.manifest == changed.digest()
    return world, proof


def test_a_proof_under_a_later_manifest_and_root(changed: tuple[World, bytes]) -> None:
    world, proof = changed
    parsed = FraudProof.parse(proof)
    assert [Envelope.parse(item.entry).type.split(".")[2] for item in parsed.later] == ["root", "root", "manifest"]
    found = check(world, proof)
    assert found.subject == world.peers["ada"].public
    world.state.check(Ban(world.run, found.subject, proof).seal(world.coordinator).encode())


def test_a_peer_of_before_and_a_head_of_after() -> None:
    """The share set of an early registration was judged by the first root, the head by the newest."""
    world = World()
    ada = world.register("ada")
    early, _ = wrong_batch(world, ada)
    roles = (Role(COORDINATOR, world.key("other").public, "other"), *world.root.verifiers)
    world.log(replace(world.root, run=world.run, version=2, roles=roles), world.root_key)
    before, world.coordinator = world.coordinator, world.key("other")
    content = world.content(early)
    evidence = Evidence(PLY, 1, content.games[1].plies[6])
    assert (
        check(world, build_proof(world.state, world.entry, world.note(), early, content, evidence)).entry == early.index
    )
    world.coordinator = before
    with pytest.raises(ProtocolError, match="not signed"):
        check(world, build_proof(world.state, world.entry, world.note(), early, content, evidence))


def _without(position: int) -> Callable[[World, FraudProof], FraudProof]:
    return lambda world, p: replace(p, later=p.later[:position] + p.later[position + 1 :])


def _edited(position: int, **changes: object) -> Callable[[World, FraudProof], FraudProof]:
    """A version that nobody signed in place of one that is logged."""

    def forge(world: World, proof: FraudProof) -> FraudProof:
        envelope = Envelope.parse(proof.later[position].entry)
        entry = replace(envelope, **changes).encode()  # type: ignore[arg-type]
        later = list(proof.later)
        later[position] = replace(later[position], entry=entry)
        return replace(proof, later=tuple(later))

    return forge


def _signed_by(position: int, name: str) -> Callable[[World, FraudProof], FraudProof]:
    def forge(world: World, proof: FraudProof) -> FraudProof:
        record = world.state.roots.all[position + 1][1] if position < 2 else world.state.manifest
        later = list(proof.later)
        later[position] = replace(later[position], entry=record.seal(world.key(name)).encode())
        return replace(proof, later=tuple(later))

    return forge


FORGED: dict[str, Callable[[World, FraudProof], FraudProof]] = {
    "no later versions": lambda world, p: replace(p, later=()),
    "no second root": _without(0),
    "no third root": _without(1),
    "no manifest": _without(2),
    "roots in another order": lambda world, p: replace(p, later=(p.later[1], p.later[0], p.later[2])),
    "the manifest first": lambda world, p: replace(p, later=(p.later[2], *p.later[:2])),
    "two manifests": lambda world, p: replace(p, later=(*p.later, p.later[2])),
    "a root twice": lambda world, p: replace(p, later=(p.later[0], *p.later)),
    "a root by its old key alone": _signed_by(0, "root"),
    "a root by its new key alone": _signed_by(0, "new root"),
    "a root by a stranger": _signed_by(1, "stranger"),
    "a manifest by the old root key": _signed_by(2, "root"),
    "a root without signatures": _edited(0, signatures=()),
    "an entry that is neither": lambda world, p: replace(p, later=(*p.later[:2], p.header)),
    "another place of a root": lambda world, p: replace(
        p, later=(replace(p.later[0], index=p.later[0].index + 1), *p.later[1:])
    ),
    "manifest 2 as the first": lambda world, p: replace(p, manifest=p.later[2].entry, later=p.later[:2]),
    "root 2 as the first": lambda world, p: replace(p, root=p.later[0].entry, later=p.later[1:]),
}


@pytest.mark.parametrize("name", FORGED)
def test_other_versions_fail(changed: tuple[World, bytes], name: str) -> None:
    world, proof = changed
    with pytest.raises(ProtocolError):
        check(world, FORGED[name](world, FraudProof.parse(proof)).encode())


# ---- seeds of others


def test_a_proof_about_a_fill_rests_on_the_owners_registration() -> None:
    world = crowd("ada bob cyd", timeout_entries=200)
    fill = end(world, "ada")
    player, release = ask(world), world.state.release
    jobs = [selfplay_job(world.state, release, fill.owner, n, world.player(release)) for n in (2, 3)]
    header = world.header(player, edits.of_game(0, edits.value(0))(world.play_blocks(jobs)), release=release)
    index = world.log(replace(header, first_counter=2, fill_for=fill.owner), player)
    world.share_set()
    batch = world.state.batch(index)
    assert batch is not None
    world.judge(batch)
    proof = FraudProof.parse(world.accusation(batch))
    owner, own = world.state.registration(fill.owner), world.state.registration(player.public)
    assert owner is not None
    assert own is not None
    assert proof.registration.index == owner.index
    assert check(world, proof.encode()).subject == player.public == batch.header.peer
    assert peer(world, fill.owner) is not player
    with pytest.raises(BadProof, match="not that of the seeds' owner"):
        check(world, replace(proof, registration=logged(world, own.index)).encode())


def test_a_proof_against_a_replaced_key() -> None:
    """Its join nonce comes from the beacon of the replacement."""
    world = World()
    old, recovery, new = world.key("old"), world.key("recovery"), world.key("new")
    size = world.state.size
    record = Registration(
        world.run,
        old.public,
        "ada",
        sha256(recovery.public).digest(),
        size,
        world.state.tree.root(),
        world.invite("ada"),
        0,
    )
    world.log(record, old)
    world.share_set()
    replacement = KeyReplacement(world.run, old.public, recovery.public, new.public, world.state.size)
    index = world.log(replacement, recovery, new)
    world.share_set()
    batch, proof = wrong_batch(world, new)
    parsed = FraudProof.parse(proof)
    assert parsed.registration.index == batch.header.registration == index
    assert check(world, proof).subject == new.public
    info = world.state.registration(old.public)
    assert info is not None
    with pytest.raises(BadProof, match="not that of the seeds' owner"):
        check(world, replace(parsed, registration=logged(world, info.index)).encode())
    half = replacement.seal(new).encode()
    with pytest.raises(ProtocolError):
        check(world, replace(parsed, registration=replace(parsed.registration, entry=half)).encode())
