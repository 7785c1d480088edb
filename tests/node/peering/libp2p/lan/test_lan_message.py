"""What is believed of multicast DNS packets, whoever wrote them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from zeroconf._dns import DNSPointer, DNSQuestion, DNSText
from zeroconf._protocol.outgoing import DNSOutgoing

from node.peering.libp2p.lan.mdns import near_addresses
from node.peering.libp2p.lan.message import MAX_HEARD, NOTHING, Heard, answer, hear, question, service_of
from node.peering.libp2p.told import MAX_TOLD
from node.peering.transport import peer_id

RUN, OTHER_RUN = b"a" * 32, b"b" * 32
KEY = bytes(range(32))
OWN = f"/p2p/{peer_id(KEY)}"
SOURCE = "192.168.1.5"
PTR, TXT, IN, RESPONSE = 12, 16, 1, 0x8400


def said(*addresses: str, run: bytes = RUN, source: str = SOURCE) -> Heard:
    return hear(answer(run, "me", addresses), RUN, source)


def test_questions_and_answers_of_the_run_are_heard() -> None:
    address = f"/ip4/192.168.1.5/tcp/4001{OWN}"
    assert hear(question(RUN), RUN, SOURCE) == Heard(True, {})
    assert said(address) == Heard(False, {KEY: (address,)})
    assert hear(question(OTHER_RUN), RUN, SOURCE) == NOTHING
    assert said(address, run=OTHER_RUN) == NOTHING


def test_the_records_are_those_of_libp2p() -> None:
    """PTR and TXT of a private network by libp2p's mDNS, byte by byte."""

    def name(*labels: bytes) -> bytes:
        return b"".join(bytes([len(label)]) + label for label in labels)

    service = name(b"_p2p-6161616161616161", b"_udp", b"local") + b"\0"
    assert question(RUN) == bytes.fromhex("000000000001000000000000") + service + bytes.fromhex("000c0001")
    field = f"dnsaddr=/ip4/192.168.1.5/tcp/4001{OWN}".encode()
    packet = answer(RUN, "me", [field.removeprefix(b"dnsaddr=").decode()])
    assert packet.startswith(bytes.fromhex("000084000000000100000001") + service + bytes.fromhex("000c000100000078"))
    assert packet.endswith(bytes([0, len(field) + 1, len(field)]) + field)


@pytest.mark.parametrize(
    "address",
    [
        f"/ip4/9.9.9.9/tcp/4001{OWN}",
        f"/ip4/127.0.0.1/tcp/22{OWN}",
        f"/dns4/example.org/tcp/1{OWN}",
        f"/ip4/192.168.1.5/tcp/4001/p2p/{peer_id(bytes(32))}/p2p-circuit{OWN}",
        f"/ip4/192.168.1.5/udp/4001{OWN}",
        "/ip4/192.168.1.5/tcp/4001",
        "/ip4/192.168.1.5/tcp/4001/p2p/nobody",
        "/ip4/192.168.1.5/tcp/4001/p2p/QmYyQSo1c1Ym7orWxLYvCrM2EmxFTANf8wXmmE7DWjhx5N",
        "",
        "\udcff".encode("utf-8", "surrogatepass").decode("latin-1"),
    ],
)
def test_addresses_elsewhere_and_nowhere_are_not_heard(address: str) -> None:
    assert said(address) == NOTHING


def test_who_has_an_address_of_the_internet_may_say_so() -> None:
    address = f"/ip4/9.9.9.9/tcp/4001{OWN}"
    assert said(address, source="9.9.9.9").addresses == {KEY: (address,)}


def test_thousands_of_records_and_huge_ones() -> None:
    places = [f"/ip4/192.168.1.5/tcp/{port}{OWN}" for port in range(1, 70)]
    fields = [b"dnsaddr=" + place.encode() for place in places]
    huge = b"".join(bytes([len(field)]) + field for field in fields)
    assert len(hear(_packet([huge]), RUN, SOURCE).addresses[KEY]) == MAX_TOLD
    keys = [number.to_bytes(32, "big") for number in range(60)]
    many = [f"dnsaddr=/ip4/192.168.1.5/tcp/1/p2p/{peer_id(key)}".encode() for key in keys]
    packet = _packet([bytes([len(field)]) + field for field in many])
    assert 1 < len(hear(packet, RUN, SOURCE).addresses) <= MAX_HEARD
    assert hear(_packet([b""] * 700), RUN, SOURCE) == NOTHING
    assert hear(_packet([b"\xff" * 200, b"\x05ab", b"\0" * 500]), RUN, SOURCE) == NOTHING
    assert hear(answer(RUN, "me", [places[0]]) + bytes(9000), RUN, SOURCE) == NOTHING


def test_a_question_of_any_kind_is_one() -> None:
    for kind, expected in ((255, True), (PTR, True), (TXT, False)):
        packet = DNSOutgoing(0)
        packet.add_question(DNSQuestion(service_of(RUN).upper(), kind, IN))
        assert hear(packet.packets()[0], RUN, SOURCE).is_question == expected


@given(st.binary(max_size=400), st.booleans())
def test_no_bytes_do_more_than_say_nothing(data: bytes, is_response: bool) -> None:
    head = b"\0\0" + (b"\x84\0" if is_response else b"\0\0") + b"\0\1" * 4
    heard = hear(head + service_of(RUN).partition(".")[0].encode() + data, RUN, SOURCE)
    assert heard.addresses == {}


@given(st.integers(0, 10**6), st.integers(0, 255))
def test_no_damage_to_an_answer_does_more_than_silence_it(at: int, byte: int) -> None:
    packet = bytearray(answer(RUN, "me", [f"/ip4/192.168.1.5/tcp/4001{OWN}"]))
    packet[at % len(packet)] = byte
    for key, addresses in hear(bytes(packet), RUN, SOURCE).addresses.items():
        assert all(address.endswith(f"/p2p/{peer_id(key)}") for address in addresses)


def test_own_addresses_on_the_lan() -> None:
    told = [f"/ip4/{host}/tcp/1{OWN}" for host in ("127.0.0.1", "192.168.1.5", "9.9.9.9")]
    assert near_addresses([*told, f"/dns4/a.org/tcp/1{OWN}"]) == told[1:]


def _packet(texts: list[bytes]) -> bytes:
    """One packet with a pointer and these TXT records."""
    service = service_of(RUN)
    packet = DNSOutgoing(RESPONSE)
    packet.add_answer_at_time(DNSPointer(service, PTR, IN, 120, f"me.{service}"), 0)
    for number, text in enumerate(texts):
        packet.add_answer_at_time(DNSText(f"{number}.{service}", TXT, IN, 120, text), 0)
    return max(packet.packets(), key=len)
