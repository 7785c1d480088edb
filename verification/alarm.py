"""The alarm that pauses bans: when several contributors fail alike, a build, kernel or CPU may be to blame, not they.

Spec: `docs/spec/proof.md` ("Alarm"). Counted in log entries. Who failed stays suspended; nothing of theirs is used.
"""

from collections import defaultdict
from dataclasses import dataclass

from protocol.header import BatchHeader
from verification.roles import Roles


@dataclass(frozen=True, slots=True)
class Failure:
    """A contributor whose search a verdict logged at `index` contradicts, and what played it."""

    index: int
    peer: bytes
    traits: tuple[tuple[str, str], ...]


class Alarm:
    """The contributors that failed lately."""

    def __init__(self, roles: Roles) -> None:
        self._roles = roles
        self._failures: dict[bytes, Failure] = {}
        self._cleared_at = 0

    def add(self, header: BatchHeader, index: int) -> None:
        """A verdict at `index` says that a ply of this batch was searched otherwise."""
        traits = (("build", header.build), ("kernel", header.kernel), ("CPU", header.cpu))
        self._failures.setdefault(header.peer, Failure(index, header.peer, traits))

    def remove(self, peer: bytes) -> None:
        """The verdict fell away."""
        self._failures.pop(peer, None)

    def clear(self, index: int) -> None:
        """The root's keys signed a manifest, logged at `index`: they have seen what came before."""
        self._cleared_at = index

    def has(self, peer: bytes, index: int) -> bool:
        """Whether `peer` is one of those that failed lately."""
        return any(failure.peer == peer for failure in self._recent(index))

    def reason(self, index: int) -> str | None:
        """Why bans for searched plies are paused at `index`, in one sentence; None if they are not."""
        least = self._roles.manifest.admission.alarm_identities
        alike: defaultdict[tuple[str, str], set[bytes]] = defaultdict(set)
        for failure in self._recent(index):
            for trait in failure.traits:
                alike[trait].add(failure.peer)
        for (name, value), peers in alike.items():
            if 0 < least <= len(peers):
                return f"Bans are paused: {len(peers)} contributors with {name} {value} failed within a short time."
        return None

    def _recent(self, index: int) -> list[Failure]:
        since = max(self._cleared_at, index - self._roles.manifest.admission.exit_entries)
        return [failure for failure in self._failures.values() if failure.index >= since]
