"""Scenarios of the stamp of a registration."""

from collections.abc import Mapping
from dataclasses import replace
from hashlib import sha256

from protocol.registration import Registration
from protocol.stamp import stamp_message, stamp_number, verify_stamp
from tests.vectors.scenario import Json, Runner, Scenario, unhex

NONCE = 7
"""The first nonce of REGISTRATION that is a stamp of difficulty 16."""

HARDEST = 21
"""The highest difficulty that NONCE reaches."""


def _id(name: str) -> bytes:
    return sha256(name.encode()).digest()


REGISTRATION = Registration(_id("run"), _id("peer"), "ada", _id("recovery"), 1238, _id("root"), b"", NONCE)


def run_stamp(given: Mapping[str, Json]) -> Json:
    """Verifies the stamp of the `registration` (its payload) at `difficulty`; what it is made for, and its number."""
    registration = Registration.parse(unhex(given["registration"]))
    verify_stamp(registration, given["difficulty"])
    message = stamp_message(registration)
    return {"message": message.hex(), "number": stamp_number(message, registration.stamp)}


RUNNERS: dict[str, Runner] = {"stamp": run_stamp}


def _case(name: str, expect: str, description: str, registration: Registration, difficulty: int = 16) -> Scenario:
    given = {"registration": registration.encode().hex(), "difficulty": difficulty}
    return Scenario("stamp", name, description, expect, given)


SCENARIOS: list[Scenario] = [
    _case("found", "ok", "The first nonce that reaches difficulty 16.", REGISTRATION),
    _case("hardest", "ok", "The highest difficulty that this nonce reaches.", REGISTRATION, HARDEST),
    _case("too-hard", "bad stamp", "One more than this nonce reaches.", REGISTRATION, HARDEST + 1),
    _case("one-before", "bad stamp", "The nonce before.", replace(REGISTRATION, stamp=NONCE - 1)),
    _case("difficulty-1", "ok", "Every nonce reaches difficulty 1.", replace(REGISTRATION, stamp=2**64 - 1), 1),
    _case("difficulty-0", "ok", "Difficulty 0 counts as 1.", replace(REGISTRATION, stamp=1), 0),
    _case("no-stamp", "bad stamp", "Nonce 0 is no stamp, at any difficulty.", replace(REGISTRATION, stamp=0), 1),
    _case("no-recovery-key", "ok", "Without a recovery key.", replace(REGISTRATION, recovery_hash=b"", stamp=5), 1),
    _case("other-run", "bad stamp", "The stamp of another run.", replace(REGISTRATION, run=_id("other"))),
    _case("other-key", "bad stamp", "The stamp of another key.", replace(REGISTRATION, peer=_id("other"))),
    _case("other-name", "bad stamp", "The stamp of another name.", replace(REGISTRATION, name="adb")),
    _case("other-recovery", "bad stamp", "Of another recovery key.", replace(REGISTRATION, recovery_hash=_id("other"))),
    _case("other-size", "bad stamp", "The stamp of another tree size.", replace(REGISTRATION, log_size=1240)),
    _case("other-tree", "bad stamp", "The stamp of another tree.", replace(REGISTRATION, root_hash=_id("other"))),
]
