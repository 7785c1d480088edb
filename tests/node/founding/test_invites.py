"""Invites: made by the coordinator, good for one registration of one key in one run."""

from pathlib import Path

import pytest

from node.disk.home import Home
from node.disk.keyring import KeyringError, create_key
from node.founding.invites import PREFIX, InviteError, make_invite, read_invite
from protocol.ed25519 import SecretKey
from protocol.envelope import Envelope
from protocol.registration import Invite, Registration
from protocol.types import UNSET
from tests.node.homes import ticket_of
from tests.node.keys import secret
from tests.verification.world import World
from verification.faults import LogFault


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def home(world: World, tmp_path: Path) -> Home:
    home = Home(tmp_path / "coordinator")
    home.store_ticket(ticket_of(world))
    create_key(home.key("coordinator"), world.coordinator)
    return home


def registration(world: World, key: SecretKey, invite: bytes) -> Registration:
    return Registration(world.run, key.public, "ada", b"", world.state.size, world.state.tree.root(), invite, 0)


def test_an_invite_registers_one_key(world: World, home: Home, tmp_path: Path) -> None:
    path = tmp_path / "invite"
    path.write_text(make_invite(home) + "\n", encoding="ascii")
    invite = read_invite(path, world.run)
    world.log(registration(world, secret(1), invite), secret(1))
    assert world.state.registry.find(secret(1).public) is not None
    with pytest.raises(LogFault):
        world.log(registration(world, secret(2), invite), secret(2))


def test_invites_differ_and_end(world: World, home: Home, tmp_path: Path) -> None:
    assert make_invite(home) != make_invite(home)
    path = tmp_path / "invite"
    path.write_text(make_invite(home, last_index=world.state.size - 1), encoding="ascii")
    late = read_invite(path, world.run)
    assert Invite.open(Envelope.parse(late)).last_index == world.state.size - 1 != UNSET
    with pytest.raises(LogFault):
        world.log(registration(world, secret(1), late), secret(1))


def test_an_invite_by_somebody_else_is_refused(world: World, home: Home, tmp_path: Path) -> None:
    home.key("coordinator").unlink()
    create_key(home.key("coordinator"), secret(5))
    path = tmp_path / "invite"
    path.write_text(make_invite(home), encoding="ascii")
    with pytest.raises(LogFault):
        world.log(registration(world, secret(1), read_invite(path, world.run)), secret(1))


def test_only_the_coordinator_makes_them(home: Home) -> None:
    home.key("coordinator").unlink()
    with pytest.raises(KeyringError, match="cannot be read"):
        make_invite(home)


def test_every_damaged_letter_is_found(world: World, home: Home, tmp_path: Path) -> None:
    path = tmp_path / "invite"
    text = make_invite(home)
    for at in range(0, len(text), 7):
        path.write_text(text[:at] + ("a" if text[at] != "a" else "b") + text[at + 1 :], encoding="ascii")
        with pytest.raises(InviteError, match="damaged"):
            read_invite(path, world.run)
    for cut in (0, 3, len(PREFIX), len(text) // 2, len(text) - 1):
        path.write_text(text[:cut], encoding="ascii")
        with pytest.raises(InviteError, match="damaged"):
            read_invite(path, world.run)
