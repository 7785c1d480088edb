"""The root versions of a log: which of them judges what, and the one rule by which a version follows another.

Spec: `docs/spec/root.md` ("Semantics"). Invariants: versions rise by one; a version holds with signatures by the threshold
of the one before it and by its own, and by no other keys.
"""

from dataclasses import dataclass

from protocol.entries import Entry, parse_entry
from protocol.root import Role, Root
from verification.faults import LogFault


@dataclass(frozen=True, slots=True)
class RootVersions:
    """The root versions of one log, oldest first, each with the log index of its entry."""

    all: tuple[tuple[int, Root], ...] = ()

    @property
    def newest(self) -> Root:
        """The last version; LogFault before the log's first entry."""
        return self._begun[-1][1]

    def at(self, index: int) -> Root:
        """The version that judges an entry at `index`, or a head of so many entries: the newest one logged before it.

        Version 1 judges itself. LogFault before the log's first entry.
        """
        begun = self._begun
        return next((root for logged, root in reversed(begun) if logged < index), begun[0][1])

    def role(self, key: bytes, index: int) -> Role | None:
        """The role that `key` holds for an entry at `index`."""
        role = self.at(index).find(key)
        return role if role is not None and role.is_valid_at(index) else None

    def followed_by(self, index: int, root: Root) -> "RootVersions":
        """With one more version, logged at `index`."""
        return RootVersions((*self.all, (index, root)))

    @property
    def _begun(self) -> tuple[tuple[int, Root], ...]:
        if not self.all:
            raise LogFault("The log has no root yet.")
        return self.all


def verify_next_root(data: bytes, before: Root, run: bytes) -> Root:
    """The root version that follows `before` in `run`, by its signatures alone; raises LogFault or ProtocolError."""
    entry = parse_entry(data)
    root = entry.record
    if not isinstance(root, Root) or root.run != run:
        raise LogFault(f"This is not the run's root version {before.version + 1}.")
    require_next_root(entry, root, before)
    return root


def require_next_root(entry: Entry, root: Root, before: Root) -> None:
    """Raises LogFault unless `root`, which `entry` holds, is the version after `before`, signed by both thresholds."""
    if root.version != before.version + 1:
        raise LogFault(f"Root version {root.version} does not follow version {before.version}.")
    known = before.keys + root.keys
    require_threshold(entry, before, known)
    require_threshold(entry, root, known)


def require_threshold(entry: Entry, root: Root, known: tuple[bytes, ...]) -> None:
    """Raises LogFault unless enough of a root's keys signed an entry, and no other keys than `known` ones."""
    missing = root.missing(entry.signers)
    if missing:
        signed = root.threshold - missing
        raise LogFault(f"{signed} of the root's keys signed the {entry.record.NAME}; {root.threshold} have to.")
    if not set(entry.signers) <= set(known):
        raise LogFault(f"A key that is not the root's signed the {entry.record.NAME}.")
