"""Who may sign what at which log index: the run's root versions and manifest versions, as logged.

Spec: `docs/spec/root.md`, `docs/spec/manifest.md`. Invariants: versions rise by one; a new root is signed by the old and
the new threshold, a manifest by the root's; what is logged at an index is judged by what was logged before it.
"""

from collections.abc import Callable

from protocol.entries import Entry, parse_entry
from protocol.manifest import Manifest
from protocol.root import COORDINATOR, VERIFIER, Role, Root
from protocol.seeds import run_id
from verification.faults import LogFault
from verification.gate import check_policy
from verification.setup import check_playable

Change = Callable[[], None]
"""What a checked entry changes; calling it cannot fail."""


class Roles:
    """The root and manifest in force."""

    def __init__(self, run: bytes) -> None:
        self.run = run
        self.roots: list[tuple[int, Root]] = []
        self.manifests: list[tuple[int, Manifest]] = []
        self.root_digest = b""
        self.manifest_digest = b""
        self._root_payload = b""
        self._by_digest: dict[bytes, Manifest] = {}

    @property
    def root(self) -> Root:
        """The newest root version; LogFault before the log's first entry."""
        if not self.roots:
            raise LogFault("The log has no root yet.")
        return self.roots[-1][1]

    @property
    def manifest(self) -> Manifest:
        """The newest manifest version; LogFault before the log's second entry."""
        if not self.manifests:
            raise LogFault("The log has no manifest yet.")
        return self.manifests[-1][1]

    def manifest_by_digest(self, digest: bytes) -> Manifest | None:
        """A logged manifest version by the SHA-256 of its payload."""
        return self._by_digest.get(digest)

    def root_at(self, index: int) -> Root:
        """The root version that judges an entry at `index`: the newest one logged before it."""
        for logged, root in reversed(self.roots):
            if logged < index or root.version == 1:
                return root
        raise LogFault("The log has no root yet.")

    def role_of(self, key: bytes, index: int) -> Role | None:
        """The role that `key` holds for an entry at `index`."""
        role = self.root_at(index).find(key)
        return role if role is not None and role.is_valid_at(index) else None

    def verifiers(self, index: int) -> tuple[Role, ...]:
        """The verifiers' roles that are valid for an entry at `index`."""
        return tuple(role for role in self.root_at(index).verifiers if role.is_valid_at(index))

    def require_coordinator(self, entry: Entry, index: int) -> None:
        """Raises LogFault unless the coordinator alone signed."""
        self._require_role(entry, COORDINATOR, index)

    def require_verifier(self, entry: Entry, key: bytes, index: int) -> None:
        """Raises LogFault unless the verifier with `key` alone signed."""
        if entry.signers != (key,):
            raise LogFault(f"The {entry.record.NAME} is not signed by the verifier that it names.")
        self._require_role(entry, VERIFIER, index)

    def change_root(self, entry: Entry, root: Root, index: int) -> Change:
        """Checks a root version; raises LogFault."""
        if root.version == 1:
            if index != 0:
                raise LogFault("Root version 1 is the log's first entry and no other.")
        elif root.version != self.root.version + 1:
            raise LogFault(f"Root version {root.version} does not follow version {self.root.version}.")
        else:
            require_threshold(entry, self.root, self.root.keys + root.keys)
        require_threshold(entry, root, root.keys + (self.root.keys if self.roots else ()))

        def change() -> None:
            self.roots.append((index, root))
            self.root_digest = entry.envelope.digest
            if index == 0:
                self._root_payload = entry.envelope.payload

        return change

    def change_manifest(self, entry: Entry, manifest: Manifest, index: int) -> Change:
        """Checks a manifest version; raises LogFault."""
        if manifest.version == 1:
            if index != 1:
                raise LogFault("Manifest version 1 is the log's second entry and no other.")
            if run_id(self._root_payload, entry.envelope.payload) != self.run:
                raise LogFault("The log's root and manifest make another run id.")
        elif manifest.version != self.manifest.version + 1:
            raise LogFault(f"Manifest version {manifest.version} does not follow version {self.manifest.version}.")
        require_threshold(entry, self.root, self.root.keys)
        check_policy(manifest.gate)
        check_playable(manifest)

        def change() -> None:
            self.manifests.append((index, manifest))
            self.manifest_digest = entry.envelope.digest
            self._by_digest[self.manifest_digest] = manifest

        return change

    def _require_role(self, entry: Entry, role: str, index: int) -> None:
        found = self.role_of(entry.signers[0], index) if len(entry.signers) == 1 else None
        if found is None or found.role != role:
            raise LogFault(f"The {entry.record.NAME} is not signed by a {role} whose role is valid at entry {index}.")


def verify_next_root(data: bytes, before: Root, run: bytes) -> Root:
    """The root version that follows `before` in `run`, by its signatures alone; raises LogFault or ProtocolError."""
    entry = parse_entry(data)
    root = entry.record
    if not isinstance(root, Root) or root.run != run or root.version != before.version + 1:
        raise LogFault(f"This is not the run's root version {before.version + 1}.")
    known = before.keys + root.keys
    require_threshold(entry, before, known)
    require_threshold(entry, root, known)
    return root


def require_threshold(entry: Entry, root: Root, known: tuple[bytes, ...]) -> None:
    """Raises LogFault unless enough of a root's keys signed an entry, and no other keys than `known` ones."""
    signed = sum(key in root.keys for key in entry.signers)
    if signed < root.threshold:
        raise LogFault(f"{signed} of the root's keys signed the {entry.record.NAME}; {root.threshold} have to.")
    if not set(entry.signers) <= set(known):
        raise LogFault(f"A key that is not the root's signed the {entry.record.NAME}.")
