"""Envelopes: DSSE's pre-authentication encoding, order of signatures, verification and its memory of good ones."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol import ed25519
from protocol.ed25519 import SecretKey
from protocol.envelope import MAX_SIGNATURES, Envelope, Signature, forget_verified, pae, payload_type, seal
from protocol.errors import BadSignature, NotCanonical, ParseError, ProtocolError, TooLarge, WrongSigner

KEYS = [SecretKey(bytes([n]) * 32) for n in range(1, 5)]
TYPE = payload_type("example")


def test_pae_is_that_of_dsse() -> None:
    assert pae("http://example.com/HelloWorld", b"hello world") == (
        b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"
    )


def test_payload_type() -> None:
    assert payload_type("batch-header") == "application/vnd.gonode.batch-header.v1+msgpack"
    for name in ("", "Batch", "batch_header", "-batch", "batch\n"):
        with pytest.raises(ParseError):
            payload_type(name)


@settings(deadline=None, max_examples=50)
@given(
    st.binary(max_size=200), st.lists(st.sampled_from(KEYS), unique_by=lambda key: key.public, min_size=1, max_size=4)
)
def test_sealed_envelopes_parse_and_verify_in_any_order_of_keys(payload: bytes, keys: list[SecretKey]) -> None:
    envelope = seal(TYPE, payload, *keys)
    assert envelope == seal(TYPE, payload, *reversed(keys))
    assert Envelope.parse(envelope.encode()) == envelope
    assert envelope.signers == tuple(sorted(key.public for key in keys))
    envelope.verify()


@settings(deadline=None, max_examples=200)
@given(st.data())
def test_any_changed_byte_is_refused(data: st.DataObject) -> None:
    whole = seal(TYPE, b"payload", KEYS[0], KEYS[1]).encode()
    at = data.draw(st.integers(0, len(whole) - 1))
    changed = whole[:at] + bytes([whole[at] ^ data.draw(st.integers(1, 255))]) + whole[at + 1 :]
    with pytest.raises(ProtocolError):
        Envelope.parse(changed).verify()


@settings(deadline=None, max_examples=200)
@given(st.binary(max_size=200))
def test_arbitrary_bytes_are_refused_by_name(data: bytes) -> None:
    with pytest.raises(ProtocolError):
        Envelope.parse(data)


def test_a_type_is_part_of_what_is_signed() -> None:
    envelope = seal(TYPE, b"payload", KEYS[0])
    with pytest.raises(BadSignature):
        Envelope(payload_type("other"), envelope.payload, envelope.signatures).verify()


def test_verify_needs_a_signature_and_no_key_twice() -> None:
    with pytest.raises(BadSignature, match="no signature"):
        Envelope(TYPE, b"payload", ()).verify()
    envelope = seal(TYPE, b"payload", KEYS[0])
    with pytest.raises(BadSignature, match="twice"):
        Envelope(TYPE, b"payload", envelope.signatures * 2).verify()


def test_unsorted_signatures_are_not_canonical() -> None:
    envelope = seal(TYPE, b"payload", KEYS[0], KEYS[1])
    with pytest.raises(NotCanonical):
        Envelope(TYPE, b"payload", envelope.signatures[::-1])


def test_the_number_of_signatures_is_bounded() -> None:
    many = tuple(Signature(bytes([n]) * 32, bytes(64)) for n in range(MAX_SIGNATURES + 1))
    with pytest.raises(TooLarge):
        Envelope(TYPE, b"payload", many)


def test_verify_signer() -> None:
    envelope = seal(TYPE, b"payload", KEYS[0])
    envelope.verify_signer(KEYS[0].public)
    with pytest.raises(WrongSigner):
        envelope.verify_signer(KEYS[1].public)
    with pytest.raises(WrongSigner):
        seal(TYPE, b"payload", KEYS[0], KEYS[1]).verify_signer(KEYS[0].public)


def test_good_signatures_are_remembered_and_false_ones_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[bytes] = []
    real = ed25519.verify

    def counted(key: bytes, message: bytes, signature: bytes) -> None:
        calls.append(key)
        real(key, message, signature)

    monkeypatch.setattr(ed25519, "verify", counted)
    good = seal(TYPE, b"remembered once", KEYS[2])
    good.verify()
    Envelope.parse(good.encode()).verify()
    assert len(calls) == 1
    false = Envelope(TYPE, b"another payload", good.signatures)
    for _ in range(2):
        with pytest.raises(BadSignature):
            false.verify()
    assert len(calls) == 3
    forget_verified()
    good.verify()
    assert len(calls) == 4
