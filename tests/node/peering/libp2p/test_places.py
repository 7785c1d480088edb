"""Multiaddrs: where to listen, where that can be dialed, what leads through a relay, what counts as one address."""

import pytest
from multiaddr import Multiaddr  # type: ignore[import-untyped]

from node.peering.addresses import CIRCUIT
from node.peering.libp2p.places import listen_place, reachable_places, resolved, split_circuit
from node.peering.transport import CannotListen, Unreachable, peer_id
from tests.node.keys import secret

KEY, RELAY, PEER = (secret(number).public for number in (1, 2, 3))
AT_RELAY = f"/ip4/192.0.2.1/tcp/4001/p2p/{peer_id(RELAY)}"


@pytest.mark.parametrize(
    "place", ["/ip4/0.0.0.0/tcp/0", "/ip6/::/tcp/1", "/ip4/192.0.2.1/tcp/65535/ws", "/ip6/::1/tcp/1/ws"]
)
def test_listening_places(place: str) -> None:
    assert str(listen_place(place, KEY)) == place
    assert str(listen_place(f"{place}/p2p/{peer_id(KEY)}", KEY)) == place


@pytest.mark.parametrize(
    "place",
    [
        "",
        "/ip4/1.2.3.4",
        "/ip4/1.2.3.4/udp/1",
        "/ip4/1.2.3.4/tcp/1/wss",
        "/ip4/1.2.3.4/tcp/1/ws/ws",
        "/ip4/1.2.3.4/ws/tcp/1",
        "/dns4/localhost/tcp/1",
        f"/ip4/1.2.3.4/tcp/1/p2p/{peer_id(PEER)}",
        f"{AT_RELAY}{CIRCUIT}",
    ],
)
def test_no_listening_places(place: str) -> None:
    with pytest.raises(CannotListen, match="not an address to listen at"):
        listen_place(place, KEY)


def test_a_wildcard_becomes_addresses_and_tcp_comes_first() -> None:
    wild = [Multiaddr("/ip4/0.0.0.0/tcp/2/ws"), Multiaddr("/ip4/0.0.0.0/tcp/1"), Multiaddr("/ip4/192.0.2.1/tcp/3")]
    places = reachable_places(wild)
    assert places == list(dict.fromkeys(places))
    assert not any("0.0.0.0" in place for place in places)
    kinds = ["/ws" in place for place in places]
    assert kinds == sorted(kinds)
    assert {place.split("/")[4] for place in places} == {"1", "2", "3"}
    assert all(place.endswith("/tcp/2/ws") for place in places if "/ws" in place)


def test_circuits_are_split() -> None:
    assert split_circuit(AT_RELAY) is None
    assert split_circuit(f"{AT_RELAY}{CIRCUIT}/p2p/{peer_id(PEER)}") == AT_RELAY


@pytest.mark.parametrize(
    "address",
    [
        f"{AT_RELAY}{CIRCUIT}/p2p/{peer_id(RELAY)}",
        f"{AT_RELAY}{CIRCUIT}/p2p/{peer_id(PEER)}{CIRCUIT}/p2p/{peer_id(KEY)}",
        f"/ip4/192.0.2.1/tcp/4001{CIRCUIT}/p2p/{peer_id(PEER)}",
        f"{CIRCUIT}/p2p/{peer_id(PEER)}",
        f"{AT_RELAY}{CIRCUIT}/p2p/nobody",
    ],
)
def test_circuits_that_lead_through_no_one_relay(address: str) -> None:
    with pytest.raises(Unreachable):
        split_circuit(address)


async def test_names_are_resolved_and_what_follows_stays() -> None:
    rest = f"tcp/1/ws/p2p/{peer_id(PEER)}"
    assert [str(place) for place in await resolved(Multiaddr(f"/dns4/localhost/{rest}"))] == [f"/ip4/127.0.0.1/{rest}"]
    with pytest.raises(Unreachable, match="leads to no address"):
        await resolved(Multiaddr("/dns4/name.invalid/tcp/1"))
