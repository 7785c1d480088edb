"""The stamp of a registration: a nonce that takes memory and processor time to find, and one try to check.

Spec: docs/spec/registration.md ("Stamp"). A try is scrypt (N = 2^14, r = 8, p = 1: 16 MiB and about 40 ms of a core) over
everything that the registration says but the nonce, so that a stamp is good for one key and for one tree of the log. Tries
do not depend on each other: whoever begins anew has lost nothing but the tries so far, of which none was worth more.
"""

from dataclasses import replace
from hashlib import scrypt
from typing import Final

from protocol.errors import BadStamp
from protocol.registration import Registration
from protocol.seeds import first_u64, lp, u64

NO_STAMP: Final = 0
"""The nonce of a registration without a stamp; the first try is nonce 1."""

_COST: Final = {"n": 1 << 14, "r": 8, "p": 1, "dklen": 32, "maxmem": 1 << 25}


def stamp_message(registration: Registration) -> bytes:
    """What the stamp is made for: all that the registration says but `stamp` and `invite`, which is empty beside a stamp."""
    return b"".join(
        (
            b"gonode/stamp/v1\0",
            registration.run,
            registration.peer,
            lp(registration.name.encode()),
            lp(registration.recovery_hash),
            u64(registration.log_size),
            registration.root_hash,
        )
    )


def stamp_number(message: bytes, nonce: int) -> int:
    """The u64 that a nonce gives; one try. ParseError for a nonce outside 0 to 2^64 - 1."""
    return first_u64(scrypt(message, salt=u64(nonce), **_COST))


def is_stamp(registration: Registration, difficulty: int) -> bool:
    """Whether the registration's nonce is a stamp: its number is below 2^64 / difficulty.

    `difficulty` is how many tries one takes on the average; 0 counts as 1, to which every nonce but NO_STAMP is a stamp.
    """
    if registration.stamp == NO_STAMP:
        return False
    return stamp_number(stamp_message(registration), registration.stamp) * max(1, difficulty) < 1 << 64


def verify_stamp(registration: Registration, difficulty: int) -> None:
    """Raises BadStamp unless the registration's nonce is a stamp of this difficulty; one try, none without a nonce."""
    if registration.stamp == NO_STAMP:
        raise BadStamp("The registration has neither an invite nor a stamp.")
    if not is_stamp(registration, difficulty):
        raise BadStamp(f"The registration's stamp does not reach the difficulty of {max(1, difficulty)}.")


def find_stamp(registration: Registration, difficulty: int, tries: int) -> tuple[Registration, bool]:
    """Tries up to so many nonces after the registration's own; it with the last one tried, and whether that is a stamp.

    With one try a call, the caller may stop, show how far it is and keep the nonce between any two of them.
    """
    for _ in range(tries):
        registration = replace(registration, stamp=registration.stamp + 1)
        if is_stamp(registration, difficulty):
            return registration, True
    return registration, False
