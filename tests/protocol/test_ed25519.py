"""Strict Ed25519: the vectors of C2SP/CCTV, refused keys, and secrets that do not leak.

The vectors' flags give the expected answer by the rule of docs/spec/envelope.md: verified without the cofactor
(`low_order_residue` and `reencoded_k` fail), key and R of low order or not canonical refused, a component of low order
allowed.
"""

import json
from pathlib import Path

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.ed25519 import SecretKey, check_key, verify
from protocol.errors import BadKey, BadSignature

CCTV = Path(__file__).parents[1] / "vectors" / "ed25519" / "cctv" / "ed25519vectors.json"
HARMLESS = {"low_order_component_A", "low_order_component_R"}
P = 2**255 - 19


def cctv() -> list[tuple[bytes, bytes, bytes, set[str]]]:
    """The vectors as (key, message, signature, flags)."""
    return [
        (bytes.fromhex(each["key"]), each["msg"].encode(), bytes.fromhex(each["sig"]), set(each["flags"] or ()))
        for each in json.loads(CCTV.read_text())
    ]


def test_all_cctv_vectors_have_the_strict_answer() -> None:
    vectors = cctv()
    assert len(vectors) == 914
    accepted = 0
    for key, message, signature, flags in vectors:
        if flags <= HARMLESS:
            verify(key, message, signature)
            accepted += 1
        else:
            with pytest.raises(BadSignature):
                verify(key, message, signature)
    assert accepted == 43


def test_the_library_alone_accepts_165_vectors_more() -> None:
    false_accepts = 0
    for key, message, signature, flags in cctv():
        try:
            Ed25519PublicKey.from_public_bytes(key).verify(signature, message)
        except (InvalidSignature, ValueError):
            assert not flags <= HARMLESS
        else:
            false_accepts += not flags <= HARMLESS
    assert false_accepts == 165


def test_all_fourteen_encodings_of_low_order_points_are_refused_as_keys() -> None:
    keys = {key for key, _, _, flags in cctv() if "low_order_A" in flags}
    assert len(keys) == 14
    for key in keys:
        with pytest.raises(BadKey):
            check_key(key)


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
