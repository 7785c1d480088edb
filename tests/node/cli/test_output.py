"""The options of what a node prints and where it serves metrics: what is refused, before anything starts."""

import socket
from pathlib import Path

import pytest

from tests.node.cli.gonode import gonode
from tests.node.homes import TICKET


@pytest.mark.parametrize("place", ["x", "localhost:9100", "127.0.0.1:99999", ":9100"])
def test_no_place_for_metrics(place: str, tmp_path: Path) -> None:
    assert "--metrics" in gonode("relay", TICKET, "--dir", tmp_path / "relay", "--metrics", place).refusal()
    assert not (tmp_path / "relay").exists()


def test_a_port_that_is_taken(tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = str(other.getsockname()[1])
        refusal = gonode("relay", TICKET, "--dir", tmp_path / "relay", "--metrics", port).refusal()
    assert refusal.startswith(f"Metrics cannot be served at 127.0.0.1:{port}: Address already in use.")


def test_no_such_level() -> None:
    assert "'loud'" in gonode("relay", TICKET, "--log-level", "loud").refusal()
