"""Tickets: round trips, and one sentence for each way in which they are wrong."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.errors import BadTicket
from protocol.ticket import Ticket

TEXT = Ticket(bytes(32), bytes(range(32)), ("/ip4/127.0.0.1/tcp/4001/p2p/12D3KooWExample",)).encode()
digests = st.binary(min_size=32, max_size=32)
addresses = st.lists(st.from_regex(r"\A(/[a-z0-9:.]{1,12}){1,5}\Z"), max_size=16)


@settings(deadline=None, max_examples=100)
@given(digests, digests, addresses, st.text(" \n\t", max_size=3))
def test_round_trip(run: bytes, root: bytes, found: list[str], space: str) -> None:
    ticket = Ticket(run, root, tuple(found))
    text = ticket.encode()
    assert text == text.strip().lower()
    assert Ticket.parse(space + text + space) == ticket


@settings(deadline=None, max_examples=300)
@given(st.data())
def test_any_changed_character_is_noticed(data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(TEXT) - 1))
    other = data.draw(st.characters(max_codepoint=0x2FF).filter(lambda char: char != TEXT[at]))
    if at in (0, len(TEXT) - 1) and other.isspace():
        return
    with pytest.raises(BadTicket):
        Ticket.parse(TEXT[:at] + other + TEXT[at + 1 :])


@settings(deadline=None, max_examples=300)
@given(st.text(max_size=80), st.booleans())
def test_arbitrary_text_is_refused_by_name(text: str, started: bool) -> None:
    with pytest.raises(BadTicket):
        Ticket.parse("gonode1" + text if started else text)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "empty"),
        (" \n", "empty"),
        ("https://example.org", "starts with gonode1"),
        (TEXT[:-8], "checksum"),
        (TEXT + "aaaaaaaa", "checksum"),
        (TEXT[:9] + "!" + TEXT[10:], "alphabet"),
        (TEXT[:30] + "\n" + TEXT[30:], "alphabet"),
        ("gonode1" + "a" * 5000, "at most"),
    ],
)
def test_sentences(text: str, sentence: str) -> None:
    with pytest.raises(BadTicket, match=sentence) as caught:
        Ticket.parse(text)
    assert str(caught.value).endswith(".")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("address", ["", "x", "/", "//a", "/a b", "/a\n", "/" + "a" * 300, "/\u00e9"])
def test_addresses_that_are_none(address: str) -> None:
    with pytest.raises(BadTicket):
        Ticket(bytes(32), bytes(32), (address,))


def test_counts_and_lengths() -> None:
    with pytest.raises(BadTicket):
        Ticket(bytes(31), bytes(32), ())
    with pytest.raises(BadTicket):
        Ticket(bytes(32), bytes(32), ("/a",) * 17)
    with pytest.raises(BadTicket, match="longer than"):
        Ticket(bytes(32), bytes(32), ("/" + "a" * 255,) * 16).encode()
