"""A node's directory: its ticket, and that it belongs to one run."""

from dataclasses import replace
from pathlib import Path

import pytest

from node.disk.home import Home, HomeError, read_ticket
from protocol.ticket import Ticket
from tests.node.homes import ADDRESS

TICKET = Ticket(bytes(range(32)), bytes(32), (ADDRESS,))


def test_a_ticket_is_kept_and_renewed(tmp_path: Path) -> None:
    home = Home(tmp_path / "node")
    home.store_ticket(TICKET)
    assert home.load_ticket() == TICKET
    moved = replace(TICKET, addresses=(ADDRESS.replace("/9/", "/10/"),))
    home.store_ticket(moved)
    assert home.load_ticket() == moved
    assert [file.name for file in home.directory.iterdir()] == ["ticket"]


def test_a_directory_belongs_to_one_run(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.store_ticket(TICKET)
    with pytest.raises(HomeError, match="lives here"):
        home.store_ticket(replace(TICKET, run=bytes(32)))
    assert home.load_ticket() == TICKET


def test_a_damaged_ticket_is_renewed(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.ticket.write_text("half a tick")
    with pytest.raises(HomeError, match="A ticket starts with gonode1"):
        home.load_ticket()
    home.store_ticket(TICKET)
    assert home.load_ticket() == TICKET


def test_no_ticket(tmp_path: Path) -> None:
    with pytest.raises(HomeError, match="no run is here"):
        Home(tmp_path).load_ticket()


def test_tickets_are_text_or_files(tmp_path: Path) -> None:
    assert read_ticket(TICKET.encode()) == TICKET
    assert read_ticket(f"\n {TICKET.encode()} \n") == TICKET
    (tmp_path / "file").write_text(TICKET.encode() + "\n")
    assert read_ticket(str(tmp_path / "file")) == TICKET
    with pytest.raises(HomeError, match="cannot be used"):
        read_ticket(TICKET.encode()[:-1])
    with pytest.raises(HomeError, match="neither"):
        read_ticket("x\0y")


def test_every_role_has_its_own_files(tmp_path: Path) -> None:
    home = Home(tmp_path)
    keys = [home.key(role) for role in ("host", "coordinator", "verifier", "root")]
    paths = [home.database, home.public, home.training, home.proofs, home.control, home.ticket, *keys]
    assert len(set(paths)) == len(paths)
    assert all(path.is_relative_to(tmp_path) for path in paths)
