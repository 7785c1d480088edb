"""The alarm that pauses bans: when several contributors fail alike, a build, kernel or CPU may be to blame, not they.

Spec: `docs/spec/proof.md` ("Alarm"). Counted in log entries. It pauses bans of those who share what the others failed with.
Who failed stays suspended meanwhile: nothing of theirs enters a window.
"""

from collections import Counter
from dataclasses import dataclass

from protocol.header import BatchHeader
from verification.roles import Roles


@dataclass(frozen=True, slots=True)
class Failure:
    """A contributor whose search a verdict logged at `index` contradicts, and what played it."""

    index: int
    peer: bytes
    traits: "Traits"


Traits = tuple[tuple[str, str], ...]


def traits_of(header: BatchHeader) -> Traits:
    """What a header says that its games were played by."""
    return (("build", header.build), ("kernel", header.kernel), ("CPU", header.cpu))


class Alarm:
    """The contributors that failed lately."""

    def __init__(self, roles: Roles) -> None:
        self._roles = roles
        self._failures: dict[bytes, Failure] = {}
        self._cleared_at = 0

    def add(self, header: BatchHeader, index: int) -> None:
        """A verdict at `index` says that a ply of this batch was searched otherwise."""
        self._failures.setdefault(header.peer, Failure(index, header.peer, traits_of(header)))

    def remove(self, peer: bytes) -> None:
        """The verdict fell away."""
        self._failures.pop(peer, None)

    def clear(self, index: int) -> None:
        """The root's keys signed a manifest, logged at `index`: they have seen what came before."""
        self._cleared_at = index

    def reason(self, header: BatchHeader, index: int) -> str | None:
        """Why a ban for a ply of this batch is paused at `index`, in one sentence; None if it is not."""
        least = self._roles.manifest.admission.alarm_identities
        recent = self._recent(index)
        for name, value in traits_of(header):
            alike = sum((name, value) in failure.traits for failure in recent)
            if 0 < least <= alike:
                return f"Bans are paused: {alike} contributors with {name} {value} failed within a short time."
        return None

    def reasons(self, index: int) -> tuple[str, ...]:
        """All traits for which bans are paused at `index`, a sentence each."""
        least, recent = self._roles.manifest.admission.alarm_identities, self._recent(index)
        alike = Counter(trait for failure in recent for trait in failure.traits)
        return tuple(
            f"Bans are paused: {count} contributors with {name} {value} failed within a short time."
            for (name, value), count in alike.items()
            if 0 < least <= count
        )

    def _recent(self, index: int) -> list[Failure]:
        since = max(self._cleared_at, index - self._roles.manifest.admission.exit_entries)
        return [failure for failure in self._failures.values() if failure.index >= since]
