"""Real nodes of a run whose ticket leads nowhere find each other on the LAN, unless they are told not to."""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from node.control import ControlError, ask
from tests.node.homes import TICKET
from tests.node.peering.libp2p.lan.multicast import lan

FOUND_WITHIN_S = 30.0


@contextmanager
def node(directory: Path, *options: str) -> Iterator[None]:
    """A node without a role on every network of this machine; it has to end well."""
    command = [sys.executable, "-m", "node", "relay", TICKET, "--dir", str(directory), "--json", *options]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        yield
    finally:
        process.terminate()
        _, errors = process.communicate(timeout=20)
    assert errors == ""


def peers_of(directory: Path) -> int | None:
    """How many peers the node in a directory is connected to; None while it does not answer."""
    try:
        return int(ask(directory / "control.sock", "status")["peers"])
    except ControlError:
        return None


def test_nodes_find_each_other_unless_told_not_to(tmp_path: Path) -> None:
    one, two, hermit = (tmp_path / name for name in ("one", "two", "hermit"))
    with lan(), node(one), node(two), node(hermit, "--no-lan"):
        deadline = time.monotonic() + FOUND_WITHIN_S
        while not (peers_of(one) and peers_of(two)):
            if time.monotonic() > deadline:
                pytest.fail("the nodes did not find each other")
            time.sleep(0.3)
        assert not peers_of(hermit)
