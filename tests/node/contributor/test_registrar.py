"""Entering a run: once, with an invite, until the beacon has given a join nonce."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import trio
import trio.testing

from node.contributor.registrar import Registrar, RegistrationRefused
from node.disk.store import Head, Store
from node.peering.call import CallRefused
from node.peering.transport import Unreachable
from protocol.ed25519 import SecretKey
from protocol.registration import Registration
from tests.node.keys import secret
from tests.node.world_member import WorldMember
from tests.sim.inline_engine import InlineEngine
from tests.verification.manifests import digest_of
from tests.verification.world import World

KEY = secret(1)


@pytest.fixture
def member(tmp_path: Path) -> Iterator[WorldMember]:
    with Store(tmp_path / "node.db") as store:
        yield WorldMember(World(), store)


def registration(world: World, invite: str) -> Registration:
    """The registration of KEY in a world as it is."""
    size, root = world.state.size, world.state.tree.root()
    return Registration(world.run, KEY.public, "ada", b"", size, root, world.invite(invite), 0)


def registrar(member: WorldMember, invite: bytes, key: SecretKey = KEY, recovery_hash: bytes = b"") -> Registrar:
    """One that registers a key with an invite, or without."""
    return Registrar(member, key, InlineEngine(), invite, "ada", recovery_hash)  # type: ignore[arg-type]


async def entered(member: WorldMember, invite: bytes) -> None:
    """Registers, with a coordinator that makes the beacon a second later."""

    async def beacon() -> None:
        await member.until(lambda: member.state.registry.find(KEY.public))
        await trio.sleep(1)
        member.world.share_set()

    async with trio.open_nursery() as nursery:
        if member.state.registry.find(KEY.public) is None:
            nursery.start_soon(beacon)
        await registrar(member, invite).register()
        nursery.cancel_scope.cancel()


async def test_a_key_registers_once_and_waits_for_its_nonce(
    member: WorldMember, autojump_clock: trio.testing.MockClock
) -> None:
    start = trio.current_time()
    await entered(member, member.world.invite("a"))
    assert trio.current_time() - start >= 1
    assert member.state.join_nonce(KEY.public) is not None
    assert (member.posts, member.said) == (1, ["no-recovery", "registered"])
    await entered(member, b"")
    assert (member.posts, member.said) == (1, ["no-recovery", "registered", "registered"]), (
        "a registered key needs no invite"
    )


async def test_nothing_is_believed_before_it_is_cosigned(
    member: WorldMember, autojump_clock: trio.testing.MockClock
) -> None:
    member.is_witnessed = False
    entering = registrar(member, b"")
    assert entering.waiting_for == "the run's coordinator to register this key"
    with trio.move_on_after(60):
        await entered(member, member.world.invite("a"))
    assert member.state.join_nonce(KEY.public) is not None
    assert member.said == ["no-recovery"]
    assert entering.waiting_for == "the run's verifiers to witness the registration"
    member.is_witnessed = True
    await entered(member, b"")
    assert entering.waiting_for is None
    assert member.said == ["no-recovery", "registered"]


async def test_a_recovery_key_counts_at_the_registration_alone(
    member: WorldMember, autojump_clock: trio.testing.MockClock
) -> None:
    async def beacon() -> None:
        await member.until(lambda: member.state.registry.find(KEY.public))
        member.world.share_set()

    first, other = digest_of("recovery"), digest_of("other")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(beacon)
        await registrar(member, member.world.invite("a"), recovery_hash=first).register()
    info = member.state.registration(KEY.public)
    assert info is not None
    assert isinstance(info.record, Registration)
    assert info.record.recovery_hash == first
    await registrar(member, b"", recovery_hash=first).register()
    assert member.said == ["recovery", "registered", "registered"]
    await registrar(member, b"", recovery_hash=other).register()
    assert member.said[3:] == ["no-recovery", "registered"]


async def test_without_an_invite(member: WorldMember) -> None:
    with pytest.raises(RegistrationRefused, match="no invite was given"):
        await registrar(member, b"").register()
    assert member.posts == 0


async def test_the_log_of_a_fresh_copy_has_the_key_already(
    member: WorldMember, autojump_clock: trio.testing.MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Entries and the first head come while the registrar waits for that head."""
    head = member.newest_head

    def caught_up() -> Head | None:
        if member.state.registry.find(KEY.public) is None:
            member.world.log(registration(member.world, "a"), KEY)
            member.world.share_set()
        return head()

    monkeypatch.setattr(member, "newest_head", caught_up)
    await registrar(member, b"").register()
    assert (member.posts, member.said) == (0, ["registered"])


async def test_a_used_invite_is_refused_with_the_reason(
    member: WorldMember, autojump_clock: trio.testing.MockClock
) -> None:
    invite = member.world.invite("a")
    await entered(member, invite)
    with pytest.raises(RegistrationRefused, match="The coordinator does not register this key: "):
        await registrar(member, invite, secret(2)).register()


async def test_a_coordinator_that_is_away_is_tried_again(
    member: WorldMember, autojump_clock: trio.testing.MockClock
) -> None:
    member.troubles = [Unreachable("Nobody is there.") for _ in range(3)]
    await entered(member, member.world.invite("a"))
    assert member.posts == 4
    assert member.said == ["no-recovery", *["waiting"] * 3, "registered"]


async def test_a_refusal_of_what_was_logged_before_is_no_refusal(
    member: WorldMember, autojump_clock: trio.testing.MockClock
) -> None:
    """The answer to the first post was lost; the second is refused because the key is there."""
    world = member.world

    def logged_meanwhile() -> None:
        member.before_post = lambda: None
        world.log(registration(world, "b"), KEY)
        world.share_set()

    member.before_post = logged_meanwhile
    member.troubles = [CallRefused("This key is registered already.")]
    await registrar(member, world.invite("a")).register()
    assert member.said == ["no-recovery", "registered"]
