"""Stamps: what they bind, how many tries they take, and what is none."""

from collections.abc import Callable
from dataclasses import replace
from hashlib import scrypt, sha256

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from protocol import stamp
from protocol.errors import BadStamp
from protocol.registration import Registration
from protocol.seeds import first_u64

A, B, C = (bytes([n]) * 32 for n in range(1, 4))
PLAIN = Registration(A, B, "ada", b"", 5, C, b"", 7)


@pytest.fixture
def cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tries by a hash in the place of scrypt, for tests of what is made of a try's number."""

    def number(message: bytes, nonce: int) -> int:
        return first_u64(sha256(message + nonce.to_bytes(8, "little")).digest())

    monkeypatch.setattr(stamp, "stamp_number", number)


def test_the_formula() -> None:
    message = b"gonode/stamp/v1\0" + A + B + (3).to_bytes(8, "little") + b"ada" + bytes(8)
    message += (5).to_bytes(8, "little") + C
    assert stamp.stamp_message(PLAIN) == message
    word = scrypt(message, salt=(7).to_bytes(8, "little"), n=16384, r=8, p=1, dklen=32, maxmem=1 << 26)
    assert stamp.stamp_number(message, 7) == int.from_bytes(word[:8], "little")
    assert not stamp.is_stamp(replace(PLAIN, stamp=0), 0), "no nonce is no stamp, however easy it is"
    assert stamp.is_stamp(PLAIN, 1)


@pytest.mark.usefixtures("cheap")
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(1, 2**64 - 1), st.integers(0, 2**32 - 1))
def test_a_stamp_is_a_number_below_the_difficultys_share(nonce: int, difficulty: int) -> None:
    record = replace(PLAIN, stamp=nonce)
    number = stamp.stamp_number(stamp.stamp_message(record), nonce)
    share = 2**64 / max(1, difficulty)
    if abs(number - share) > share / 2**40:  # a float is not exact
        assert stamp.is_stamp(record, difficulty) == (number < share)
    if stamp.is_stamp(record, difficulty):
        stamp.verify_stamp(record, difficulty)
    else:
        with pytest.raises(BadStamp, match="does not reach"):
            stamp.verify_stamp(record, difficulty)


@pytest.mark.usefixtures("cheap")
def test_a_stamp_takes_as_many_tries_as_the_difficulty_on_the_average() -> None:
    record = replace(PLAIN, stamp=0)
    found = 0
    for _ in range(400):
        record, is_found = stamp.find_stamp(record, 64, 1_000_000)
        found += is_found
    assert found == 400
    assert 55 * 400 < record.stamp < 73 * 400


@pytest.mark.usefixtures("cheap")
@given(st.integers(1, 50))
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_search_in_steps_finds_what_one_in_one_go_does(step: int) -> None:
    start = replace(PLAIN, stamp=0)
    whole, is_found = stamp.find_stamp(start, 100, 10_000)
    assert is_found
    record, is_found = start, False
    calls = 0
    while not is_found:
        record, is_found = stamp.find_stamp(record, 100, step)
        calls += 1
    assert record == whole
    assert calls == -(-whole.stamp // step)


CHANGES: dict[str, Callable[[Registration], Registration]] = {
    "run": lambda record: replace(record, run=C),
    "peer": lambda record: replace(record, peer=C),
    "name": lambda record: replace(record, name="adb"),
    "recovery_hash": lambda record: replace(record, recovery_hash=A),
    "log_size": lambda record: replace(record, log_size=6),
    "root_hash": lambda record: replace(record, root_hash=A),
    "stamp": lambda record: replace(record, stamp=8),
}


@pytest.mark.parametrize("field", CHANGES)
def test_everything_that_is_registered_is_bound(field: str) -> None:
    changed = CHANGES[field](PLAIN)
    message = stamp.stamp_message(changed)
    assert (message, changed.stamp) != (stamp.stamp_message(PLAIN), PLAIN.stamp)
    assert stamp.stamp_number(message, changed.stamp) != stamp.stamp_number(stamp.stamp_message(PLAIN), PLAIN.stamp)


def test_parts_do_not_run_into_each_other() -> None:
    """A name and a recovery key's hash have lengths before them."""
    a, b = replace(PLAIN, name="a", recovery_hash=b"b" * 32), replace(PLAIN, name="a" + "b" * 32)
    assert stamp.stamp_message(a) != stamp.stamp_message(b)


def test_a_wrong_stamp_costs_one_try_and_none_no_try(monkeypatch: pytest.MonkeyPatch) -> None:
    tries = []

    def number(message: bytes, nonce: int) -> int:
        tries.append(nonce)
        return 2**64 - 1

    monkeypatch.setattr(stamp, "stamp_number", number)
    with pytest.raises(BadStamp, match="does not reach the difficulty of 2"):
        stamp.verify_stamp(PLAIN, 2)
    assert tries == [7]
    with pytest.raises(BadStamp, match="neither an invite nor a stamp"):
        stamp.verify_stamp(replace(PLAIN, stamp=0), 2)
    assert tries == [7]
