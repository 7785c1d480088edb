"""Key files: round trips, and one clear error for each way in which they do not open."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.ed25519 import SecretKey
from protocol.errors import BadKeyFile
from protocol.keyfile import encode_key, is_encrypted, parse_key

SECRET = SecretKey(bytes(range(32)))


@pytest.fixture(scope="module")
def sealed() -> bytes:
    return encode_key(SECRET, "p\u00e4ssword")


def test_plain_files_round_trip() -> None:
    data = encode_key(SECRET, None)
    assert parse_key(data, None) == SECRET
    assert parse_key(data, "not looked at") == SECRET
    assert not is_encrypted(data)


def test_sealed_files_round_trip_and_hide_the_seed(sealed: bytes) -> None:
    assert parse_key(sealed, "p\u00e4ssword") == SECRET
    assert SECRET.seed.hex().encode() not in sealed
    assert is_encrypted(sealed)


def test_a_passphrase_is_the_same_in_every_unicode_form(sealed: bytes) -> None:
    assert parse_key(sealed, "pa\u0308ssword") == SECRET


def test_each_failure_has_its_sentence(sealed: bytes) -> None:
    with pytest.raises(BadKeyFile, match="needs a passphrase"):
        parse_key(sealed, None)
    with pytest.raises(BadKeyFile, match="does not open"):
        parse_key(sealed, "password")
    with pytest.raises(BadKeyFile, match="passphrase is empty"):
        parse_key(sealed, "")
    with pytest.raises(BadKeyFile, match="not valid Unicode"):
        parse_key(sealed, "\ud800")
    with pytest.raises(BadKeyFile, match="not a gonode key file"):
        parse_key(b"-----BEGIN PRIVATE KEY-----", None)
    with pytest.raises(BadKeyFile, match="passphrase is empty"):
        encode_key(SECRET, "")


@settings(deadline=None, max_examples=200)
@given(st.data())
def test_any_changed_byte_is_damage(data: st.DataObject) -> None:
    whole = encode_key(SECRET, None)
    at = data.draw(st.integers(0, len(whole) - 1))
    changed = whole[:at] + bytes([whole[at] ^ data.draw(st.integers(1, 255))]) + whole[at + 1 :]
    with pytest.raises(BadKeyFile, match="damaged"):
        parse_key(changed, None)


def test_two_files_of_one_key_and_passphrase_differ(sealed: bytes) -> None:
    assert encode_key(SECRET, "p\u00e4ssword") != sealed
