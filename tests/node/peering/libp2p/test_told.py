"""Addresses that others tell are kept by form, by how far they reach, and in bounded number."""

import pytest

from node.peering.libp2p.told import MAX_TOLD, accepted, place_of
from node.peering.transport import peer_id

KEY = bytes(range(32))
OWN = f"/p2p/{peer_id(KEY)}"
RELAY = peer_id(bytes(32))
WORLD, LAN, MACHINE = "9.9.9.9", "192.168.1.5", "127.0.0.1"


@pytest.mark.parametrize(
    ("place", "teller"),
    [
        ("/ip4/9.9.9.9/tcp/4001", WORLD),
        ("/ip6/2600::1/tcp/4001", WORLD),
        ("/dns4/example.org/tcp/443/wss", WORLD),
        (f"/ip4/9.9.9.9/tcp/4001/p2p/{RELAY}/p2p-circuit", WORLD),
        ("/ip4/192.168.1.9/tcp/4001/ws", LAN),
        ("/ip4/9.9.9.9/tcp/4001", LAN),
        ("/ip4/127.0.0.1/tcp/4001", MACHINE),
    ],
)
def test_what_is_kept(place: str, teller: str) -> None:
    assert accepted([place], KEY, teller) == (place + OWN,)
    assert accepted([place + OWN, place], KEY, teller) == (place + OWN,)


@pytest.mark.parametrize(
    ("place", "teller"),
    [
        ("/ip4/192.168.1.9/tcp/4001", WORLD),
        ("/ip4/127.0.0.1/tcp/22", WORLD),
        ("/ip4/127.0.0.1/tcp/22", LAN),
        ("/ip6/::1/tcp/22", LAN),
        ("/ip6/::ffff:127.0.0.1/tcp/22", LAN),
        ("/ip4/224.0.0.251/tcp/5353", MACHINE),
        ("/ip4/0.0.0.0/tcp/1", MACHINE),
        ("/ip4/255.255.255.255/tcp/1", MACHINE),
        ("/ip4/9.9.9.9/udp/4001/quic-v1", MACHINE),
        ("/ip4/9.9.9.9/tcp/0", MACHINE),
        ("/ip4/9.9.9.9/tcp/99999", MACHINE),
        ("/ip4/2600::1/tcp/1", MACHINE),
        ("/ip4/9.9.9/tcp/1", MACHINE),
        (f"/ip4/9.9.9.9/tcp/1/p2p/{RELAY}", MACHINE),
        (f"/ip4/9.9.9.9/tcp/1/p2p/{RELAY[:-1]}/p2p-circuit", MACHINE),
        (f"/dns4/{'a' * 250}/tcp/1", WORLD),
        ("/dns4/a\nb/tcp/1", MACHINE),
        ("/dns4/a..b/tcp/1", MACHINE),
        ("/dns/-a/tcp/1", MACHINE),
        ("/dns6/2600::1/tcp/1", MACHINE),
        ("", MACHINE),
        ("/ip4/9.9.9.9/tcp/1", "224.0.0.1"),
    ],
)
def test_what_is_passed_over(place: str, teller: str) -> None:
    assert accepted([place], KEY, teller) == ()


def test_no_more_than_a_few_are_kept_or_looked_at() -> None:
    many = [f"/ip4/9.9.9.9/tcp/{port}" for port in range(1, 20)]
    assert len(accepted(many, KEY, WORLD)) == MAX_TOLD
    assert accepted([*["/bad"] * 1000, "/ip4/9.9.9.9/tcp/1"], KEY, WORLD) == ()


def test_places_that_lead_to_a_peer_directly() -> None:
    assert place_of(f"/ip4/9.9.9.9/tcp/5{OWN}") == ("9.9.9.9", 5)
    assert place_of(f"/ip4/9.9.9.9/tcp/5/p2p/{RELAY}/p2p-circuit{OWN}") is None
    assert place_of(f"/dns4/a.org/tcp/5{OWN}") is None
