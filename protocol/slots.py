"""The draw of probation slots: which of the keys that wait with a stamp may be registered next.

Spec: `docs/spec/slots.md`. The list is logged before its beacon exists, so nobody chooses who wins.
"""

from dataclasses import dataclass

from protocol.record import Record
from protocol.types import Digest

MOST_LISTED = 256


@dataclass(frozen=True, slots=True)
class SlotList(Record):
    """Logged by the coordinator: digests of waiting registrations, oldest first; its beacon ranks them."""

    NAME = "slot-list"

    run: Digest
    registrations: tuple[Digest, ...]

    def check(self) -> None:
        if not 1 <= len(self.registrations) <= MOST_LISTED or len(set(self.registrations)) != len(self.registrations):
            raise self.fail(f"from 1 to {MOST_LISTED} registrations, each once")
