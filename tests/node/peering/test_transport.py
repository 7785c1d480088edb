"""Peer ids and addresses."""

import socket
from typing import Any

import pytest
import trio

from node.peering.transport import Unreachable, address_key, id_key, peer_id, peer_key
from tests.node.keys import secret


def test_peer_id_is_libp2ps() -> None:
    from libp2p.crypto.ed25519 import create_new_key_pair
    from libp2p.peer.id import ID

    for number in range(5):
        key = secret(number)
        theirs = ID.from_pubkey(create_new_key_pair(key.seed).public_key)
        assert str(theirs) == peer_id(key.public)
        assert id_key(theirs.to_bytes()) == key.public
        assert peer_key(peer_id(key.public)) == key.public


@pytest.mark.parametrize(
    "text",
    ["", "x", "12D3KooW", "QmYyQSo1c1Ym7orWxLYvCrM2EmxFTANf8wXmmE7DWjhx5N", "l" * 52, "1" * 52, "z" * 60],
)
def test_other_ids_are_refused(text: str) -> None:
    with pytest.raises(Unreachable):
        peer_key(text)


def test_each_changed_letter_is_another_peer_or_none() -> None:
    good = peer_id(secret(1).public)
    for place in range(len(good)):
        bad = good[:place] + ("2" if good[place] != "2" else "3") + good[place + 1 :]
        try:
            assert peer_id(peer_key(bad)) == bad
        except Unreachable:
            continue


@pytest.mark.parametrize(
    "address", ["", "/ip4/127.0.0.1/tcp/1", "ip4/1.2.3.4/p2p/x", "/p2p/", "/ip4/1.2.3.4/tcp/1/p2p/no"]
)
def test_addresses_need_a_peer(address: str) -> None:
    with pytest.raises(Unreachable):
        address_key(address)


def test_address_key() -> None:
    key = secret(2).public
    assert address_key(f"/dns4/example.org/tcp/4001/p2p/{peer_id(key)}") == key


class Names(trio.abc.HostnameResolver):
    """Names that lead where a test wants."""

    async def getaddrinfo(self, host: Any, port: Any, family: int = 0, type: int = 0, *_: Any, **__: Any) -> Any:
        if host != b"run.example":
            raise socket.gaierror("no such name")
        assert family == socket.AF_INET
        return [(socket.AF_INET, type, 6, "", (address, 0)) for address in ("127.0.0.9", "127.0.0.1", "127.0.0.1")]

    async def getnameinfo(self, sockaddr: Any, flags: int) -> Any:
        raise NotImplementedError


async def test_a_name_is_dialed_at_each_of_its_addresses() -> None:
    from node.peering.libp2p.opening import open_libp2p

    trio.socket.set_custom_hostname_resolver(Names())  # for this test's run
    with trio.fail_after(30):
        async with open_libp2p(secret(1)) as far, open_libp2p(secret(2)) as near:
            (address,) = far.addresses()
            with pytest.raises(Unreachable, match=r"The name 'other\.example' leads to no address"):
                await near.dial(address.replace("/ip4/127.0.0.1/", "/dns4/other.example/"))
            assert await near.dial(address.replace("/ip4/127.0.0.1/", "/dns4/run.example/")) == far.key
            assert near.peers() == (far.key,)
