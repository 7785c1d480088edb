"""Listen addresses: what is one, and ports that are settled once."""

import socket

import pytest

from node.founding.listening import ListenError, check_address, settle_port
from node.peering.transport import address_key
from tests.node.keys import secret

KEY = secret(1).public


def test_a_port_is_kept() -> None:
    settled = settle_port("/ip4/192.0.2.1/tcp/4001", KEY)
    assert settled.startswith("/ip4/192.0.2.1/tcp/4001/p2p/")
    assert address_key(settled) == KEY


def test_port_zero_becomes_a_free_one() -> None:
    settled = settle_port("/ip4/127.0.0.1/tcp/0", KEY)
    port = int(settled.split("/")[4])
    assert 1024 <= port <= 65535
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", port))


def test_port_zero_at_an_address_of_another_machine() -> None:
    with pytest.raises(ListenError, match="name a port"):
        settle_port("/ip4/192.0.2.1/tcp/0", KEY)


def test_addresses() -> None:
    assert check_address("/ip4/0.0.0.0/tcp/0") == ("0.0.0.0", 0)
    assert check_address("/ip4/10.1.2.3/tcp/65535") == ("10.1.2.3", 65535)
    assert check_address("/ip4/10.1.2.3/tcp/65535/ws") == ("10.1.2.3", 65535)
    assert settle_port("/ip4/10.1.2.3/tcp/1/ws", KEY).startswith("/ip4/10.1.2.3/tcp/1/ws/p2p/")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "/",
        "/ip4",
        "127.0.0.1:4001",
        "/ip4/127.0.0.1/tcp/",
        "/ip4/127.0.0.1/tcp/65536",
        "/ip4/127.0.0.1/tcp/-1",
        "/ip4/127.0.0.1/tcp/1/",
        "/ip4/127.0.0.1/tcp/1/wss",
        "/ip4/127.0.0.1/tcp/1/ws/",
        "/ip4/127.0.0.1/tcp/1\n",
        "/ip4/127.0.0.256/tcp/1",
        "/ip4/127.0.0/tcp/1",
        "/ip4/\u0661\u0662\u0663.0.0.1/tcp/1",
        "/ip6/::1/tcp/1",
        "/dns4/localhost/tcp/1",
        "/ip4/127.0.0.1/udp/1",
        "x" * 10_000,
    ],
)
def test_what_is_none(text: str) -> None:
    with pytest.raises(ListenError, match="expected /ip4/ADDRESS/tcp/PORT") as caught:
        check_address(text)
    assert len(str(caught.value)) < 200
