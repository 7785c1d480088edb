"""Messages of the directory: written as libp2p's, read within limits."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from libp2p.kad_dht.pb.kademlia_pb2 import Message
from multiaddr import Multiaddr  # type: ignore[import-untyped]

from node.peering.libp2p.kad.message import KadMessage, Kind, MalformedMessage, Told, content_key, content_target, parse
from node.peering.transport import MAX_FOUND, id_bytes, peer_id

KEY = bytes(range(32))
ADDRESS = f"/ip4/9.9.9.9/tcp/5/p2p/{peer_id(KEY)}"
MACHINE = "127.0.0.1"


def test_a_message_is_read_as_it_was_written() -> None:
    told = Told(KEY, (ADDRESS,))
    message = KadMessage(Kind.GET_PROVIDERS, content_target(KEY), (told,), (told,))
    assert parse(message.encode(), MACHINE) == message
    assert parse(KadMessage(Kind.PING).encode(), MACHINE) == KadMessage(Kind.PING)
    assert content_key(content_target(KEY)) == KEY
    assert content_key(KEY) is None


def test_the_bytes_are_those_of_libp2p() -> None:
    """`type` 3, `key` 2 and `providerPeers` 9 of the specification of libp2p's Kademlia, by hand."""
    message = KadMessage(Kind.ADD_PROVIDER, content_target(KEY), providers=(Told(KEY, (ADDRESS,)),))
    place = Multiaddr("/ip4/9.9.9.9/tcp/5").to_bytes()
    peer = b"\x0a\x26" + id_bytes(KEY) + b"\x12" + bytes([len(place)]) + place + b"\x18\x02"
    expected = b"\x08\x02" + b"\x12\x22\x12\x20" + KEY + b"\x4a" + bytes([len(peer)]) + peer
    assert message.encode() == expected


@pytest.mark.parametrize(
    "message",
    [
        Message(type=Message.PUT_VALUE, key=b"k"),
        Message(type=Message.GET_VALUE, key=b"k"),
        Message(type=Message.FIND_NODE),
        Message(type=Message.FIND_NODE, key=b"k" * 65),
        Message(type=9, key=b"k"),  # type: ignore[arg-type]
        Message(),
    ],
)
def test_other_messages_are_refused(message: Message) -> None:
    with pytest.raises(MalformedMessage):
        parse(message.SerializeToString(), MACHINE)


def test_peers_beyond_the_limits_are_passed_over() -> None:
    message = Message(type=Message.FIND_NODE, key=b"k")
    message.closerPeers.add(id=b"\x12\x20" + KEY)
    message.closerPeers.add(id=b"x" * 5000)
    message.closerPeers.add(id=id_bytes(KEY), addrs=[b"\xff" * 40, b"", b"\x04\x09\x09\x09\x09\x06\x00\x05"])
    message.closerPeers.add(id=id_bytes(KEY), addrs=[])
    for number in range(100):
        message.closerPeers.add(id=id_bytes(number.to_bytes(32, "big")))
    told = parse(message.SerializeToString(), MACHINE).closer
    assert told[0] == Told(KEY, (ADDRESS,))
    assert len(told) == MAX_FOUND - 3


@given(st.binary(max_size=300))
def test_no_bytes_do_more_than_be_refused(data: bytes) -> None:
    try:
        parse(data, MACHINE)
    except MalformedMessage:
        return


def test_nothing_of_the_librarys_kademlia_runs() -> None:
    """It answers under /ipfs/kad/1.0.0 whatever prefix it is given; only its message classes are used."""
    folder = Path(__file__).parents[5] / "node" / "peering" / "libp2p"
    text = "".join(path.read_text() for path in folder.rglob("*.py"))
    imports = [line for line in text.splitlines() if "import" in line and "kad_dht" in line]
    assert imports == ["from libp2p.kad_dht.pb.kademlia_pb2 import Message"]
