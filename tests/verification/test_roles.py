"""What the log does with later root and manifest versions: replaced, revoked and expired keys, amended manifests."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from protocol.checkpoint import SignedNote
from protocol.ed25519 import SecretKey
from protocol.errors import ParseError, WrongSigner
from protocol.receipt import Tick
from protocol.root import COORDINATOR, VERIFIER, Role, Root
from protocol.types import UNSET
from tests.verification import edits
from tests.verification.manifests import small_manifest
from tests.verification.memory_reader import MemoryReader
from tests.verification.test_admission import CHEAP
from tests.verification.world import World
from verification.audit.audit import AuditOptions, audit
from verification.faults import LogFault
from verification.proof import check_proof
from verification.witness import verify_head


def next_root(world: World, roles: Sequence[Role], **changes: object) -> Root:
    """The next root version with these roles; more than half of the verifiers that are not revoked cosign."""
    standing = sum(role.role == VERIFIER and role.invalid_from == UNSET for role in roles)
    root = replace(
        world.state.root,
        run=world.run,
        version=world.state.root.version + 1,
        roles=tuple(roles),
        witness_threshold=standing // 2 + 1,
    )
    return replace(root, **changes)  # type: ignore[arg-type]


def ended(world: World, key: SecretKey, index: int) -> list[Role]:
    """The roles, of which that of `key` ends before `index`."""
    roles = world.state.root.roles
    return [replace(role, invalid_from=index) if role.key == key.public else role for role in roles]


def hand_over(world: World, until: int | None = None) -> SecretKey:
    """Logs a root version that names another coordinator, who acts from now on; gives the old key."""
    old, new = world.coordinator, world.key("coordinator 2")
    roles = ended(world, old, world.state.size if until is None else until)
    world.log(next_root(world, [*roles, Role(COORDINATOR, new.public, "new")]), world.root_key)
    world.coordinator = new
    return old


def audited(world: World) -> dict[str, str]:
    """What an audit finds wrong, by the check's name."""
    report = audit(MemoryReader(world.public()), AuditOptions(run=world.run, sample=1, seed=1))
    return {check.name: check.detail for check in report.checks if check.ok is False}


def tick(world: World) -> Tick:
    """The next tick."""
    return Tick(world.run, world.state.size, 0)


# ---- the coordinator


def test_a_run_goes_on_under_another_coordinators_key() -> None:
    """Batches, a training cycle, a gate and a release before and after; the audit passes at each end."""
    world = World()
    ada = world.register("ada")
    world.cycle()
    before = world.note()
    old = hand_over(world)
    with pytest.raises(LogFault, match="not signed by a coordinator"):
        world.state.check(tick(world).seal(old).encode())
    world.batch(ada)
    world.register("bob")
    assert world.cycle()
    assert world.state.release.number == 2
    assert audited(world) == {}
    head = verify_head(SignedNote.parse(before), world.run, world.state.roots)  # an old head stays one
    assert head.size == world.state.roots.all[1][0]
    world.coordinator = old
    assert "not signed by" in audited(world)["head"] or "no coordinator" in audited(world)["head"]


def test_the_old_key_counts_until_its_end() -> None:
    world = World()
    old = hand_over(world, until=world.state.size + 3)
    world.log(tick(world), old)
    world.log(tick(world), world.coordinator)
    with pytest.raises(LogFault, match="not signed by a coordinator"):
        world.state.check(tick(world).seal(old).encode())


def test_invites_by_the_old_key_are_void() -> None:
    world = World()
    invite = world.invite("ada")
    hand_over(world)
    world.invite = lambda word, last_index=0: invite  # type: ignore[method-assign]
    with pytest.raises(LogFault, match="invite"):
        world.register("ada")


def test_a_proof_of_a_wrong_game_holds_across_a_change_of_coordinators() -> None:
    world = World()
    ada = world.register("ada")
    batch = world.play(ada, edit=edits.of_game(1, next(iter(CHEAP.values()))))
    assert world.judge(batch) is not None
    hand_over(world)
    world.ticks(1)
    assert check_proof(world.accusation(batch), world.run, world.networks.get).subject == ada.public
    world.convict()
    assert world.state.is_banned(ada.public)


# ---- verifiers


def test_a_revoked_verifier_says_and_cosigns_nothing_more() -> None:
    world = World(verifiers=3)
    ada = world.register("ada")
    first = world.batch(ada)
    thief = world.verifier_key(first.verdict.verifier)  # type: ignore[union-attr]
    world.log(next_root(world, ended(world, thief, first.verdict_index)), world.root_key)
    assert world.state.root.witness_threshold == 2
    assert len(world.state.verifiers()) == 2
    with pytest.raises(LogFault, match="not signed by a verifier"):
        world.begin_epoch(thief)
    with pytest.raises(LogFault, match="not signed by the verifier"):
        world.share_set()
    honest = [key for key in world.verifiers if key is not thief]
    note = world.note
    world.verifiers = [honest[0], thief]
    with pytest.raises(WrongSigner, match="cosigned by 1 verifier; 2 have to"):
        verify_head(SignedNote.parse(note()), world.run, world.state.roots)
    assert "cosigned by 1 verifier; 2 have to" in audited(world)["head"]
    world.verifiers = honest
    world.share_set()
    assert verify_head(SignedNote.parse(note()), world.run, world.state.roots).size == world.state.size
    anew = [look for look in first.looks if look is not first and look.verdict is None]
    assert anew  # what it judged from that index on is judged by another one
    for look in anew:
        assert look.assigned != thief.public
        world.judge(look)
    assert world.batch(ada).verdict.verifier != thief.public  # type: ignore[union-attr]
    assert audited(world) == {}


def test_the_only_verifier_is_revoked_and_another_one_approved_at_once() -> None:
    world = World()
    old, new = world.verifiers[0], world.key("verifier new")
    roles = [*ended(world, old, world.state.size), Role(VERIFIER, new.public, "new")]
    world.log(next_root(world, roles), world.root_key)
    world.verifiers = [new]
    world.epoch[new.public] = -1
    world.begin_epoch(new)
    world.share_set()
    ada = world.register("ada")
    assert world.batch(ada).verdict.verifier == new.public  # type: ignore[union-attr]
    assert audited(world) == {}


def test_a_role_that_expires() -> None:
    world = World(verifiers=2)
    late = world.verifiers[1]
    end = world.state.size + 4
    roles = [replace(role, expires=end) if role.key == late.public else role for role in world.state.root.roles]
    world.log(next_root(world, roles), world.root_key)
    assert world.state.root.witness_threshold == 2
    world.share_set()
    world.ticks(end - world.state.size)
    assert [role.key for role in world.state.verifiers()] == [world.verifiers[0].public]
    with pytest.raises(LogFault, match="not signed by the verifier"):
        world.share_set()
    world.ticks(1)
    with pytest.raises(WrongSigner, match="cosigned by 1 verifier; 2 have to"):
        verify_head(SignedNote.parse(world.note()), world.run, world.state.roots)
    renewed = [replace(role, invalid_from=end) if role.key == late.public else role for role in roles]
    world.log(next_root(world, renewed), world.root_key)
    world.verifiers = world.verifiers[:1]
    world.share_set()
    assert verify_head(SignedNote.parse(world.note()), world.run, world.state.roots).size == world.state.size
    assert audited(world) == {}


def test_how_many_have_to_cosign_counts_those_that_are_not_revoked() -> None:
    world = World(verifiers=3)
    roles = ended(world, world.verifiers[0], 5)
    for threshold in (1, 3):
        with pytest.raises(ParseError, match="more than half of the verifiers"):
            next_root(world, roles, witness_threshold=threshold)
    assert next_root(world, roles, witness_threshold=2).witness_threshold == 2
    everybody = [replace(role, invalid_from=5) if role.role == VERIFIER else role for role in roles]
    assert next_root(world, everybody).version == 2


# ---- the manifest


def test_the_next_cycle_follows_an_amended_manifest() -> None:
    world = World(small_manifest())
    world.register("ada")
    world.cycle()
    training = replace(world.manifest.training, learning_rate_micro=1234)
    second = replace(world.manifest, run=world.run, version=2, training=training)
    world.log(second, world.root_key)
    assert world.cycle()
    assert world.state.windows[-1].manifest == second
    assert world.state.windows[0].manifest == world.manifest
    assert world.state.release.manifest == second.digest()
    assert audited(world) == {}
    world.batch(world.peers["ada"])


def test_root_keys_of_a_threshold_sign_what_follows() -> None:
    world = World()
    keys = [world.key(f"holder {number}") for number in range(3)]
    root = next_root(world, world.state.root.roles, keys=tuple(key.public for key in keys), threshold=2)
    for signers in ([world.root_key, keys[0]], keys, [world.root_key]):
        with pytest.raises(LogFault, match="of the root's keys signed"):
            world.state.check(root.seal(*signers).encode())
    world.log(root, world.root_key, keys[0], keys[2])
    second = replace(world.manifest, run=world.run, version=2, name="again")
    with pytest.raises(LogFault, match="1 of the root's keys signed the manifest; 2 have to"):
        world.state.check(second.seal(keys[1]).encode())
    with pytest.raises(LogFault, match="0 of the root's keys"):
        world.state.check(second.seal(world.root_key).encode())
    world.log(second, keys[1], keys[2])
    assert world.state.manifest.name == "again"
