"""Strict Ed25519: the vectors of C2SP/CCTV, refused keys, and secrets that do not leak."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.ed25519 import SecretKey, check_key, verify
from protocol.errors import BadKey, BadSignature

CCTV = Path(__file__).parents[1] / "vectors" / "ed25519" / "cctv" / "ed25519vectors.json"
HARMLESS = {"low_order_component_A", "low_order_component_R"}
P = 2**255 - 19


def test_all_cctv_vectors_have_the_strict_answer() -> None:
    vectors = json.loads(CCTV.read_text())
    assert len(vectors) == 914
    accepted = 0
    for vector in vectors:
        key, message, signature = bytes.fromhex(vector["key"]), vector["msg"].encode(), bytes.fromhex(vector["sig"])
        if set(vector["flags"] or ()) <= HARMLESS:
            verify(key, message, signature)
            accepted += 1
        else:
            with pytest.raises(BadSignature):
                verify(key, message, signature)
    assert accepted == 43


def test_all_fourteen_encodings_of_low_order_points_are_refused_as_keys() -> None:
    vectors = json.loads(CCTV.read_text())
    keys = {vector["key"] for vector in vectors if "low_order_A" in (vector["flags"] or ())}
    assert len(keys) == 14
    for key in keys:
        with pytest.raises(BadKey):
            check_key(bytes.fromhex(key))


@pytest.mark.parametrize("y", range(P, 2**255))
def test_encodings_over_p_are_refused_as_keys(y: int) -> None:
    for sign in (0, 1 << 255):
        with pytest.raises(BadKey):
            check_key((y | sign).to_bytes(32, "little"))


@settings(deadline=None, max_examples=50)
@given(st.binary(min_size=32, max_size=32), st.binary(max_size=100))
def test_signatures_verify_and_changed_ones_do_not(seed: bytes, message: bytes) -> None:
    secret = SecretKey(seed)
    check_key(secret.public)
    signature = secret.sign(message)
    verify(secret.public, message, signature)
    for wrong in (signature[:-1], signature + b"\0", bytes([signature[0] ^ 1]) + signature[1:], bytes(64)):
        with pytest.raises(BadSignature):
            verify(secret.public, message, wrong)
    with pytest.raises(BadSignature):
        verify(secret.public, message + b"!", signature)


@settings(deadline=None)
@given(st.binary(max_size=40), st.binary(max_size=70))
def test_foreign_bytes_as_key_or_signature_are_refused_by_name(key: bytes, signature: bytes) -> None:
    with pytest.raises(BadSignature):
        verify(key, b"message", signature)


def test_a_secret_is_not_printed() -> None:
    secret = SecretKey(bytes(range(32)))
    assert secret.seed.hex() not in repr(secret)
    assert repr(secret.seed) not in repr(secret)


def test_secrets_are_equal_by_seed_and_new_ones_differ() -> None:
    assert SecretKey(bytes(32)) == SecretKey(bytes(32))
    assert hash(SecretKey(bytes(32))) == hash(SecretKey(bytes(32)))
    assert SecretKey.generate() != SecretKey.generate()
    with pytest.raises(BadKey):
        SecretKey(bytes(31))
