"""Who may sign what at which log index: the run's root versions and manifest versions, as logged.

Spec: `docs/spec/root.md`, `docs/spec/manifest.md`. Invariants: versions rise by one; a new root is signed by the old and
the new threshold, a manifest by the root's; what is logged at an index is judged by what was logged before it.
"""

from collections.abc import Callable

from protocol.entries import Entry
from protocol.manifest import Manifest
from protocol.root import COORDINATOR, VERIFIER, Role, Root
from protocol.seeds import run_id
from verification.faults import LogFault
from verification.gate import check_policy
from verification.root_versions import RootVersions, require_next_root, require_threshold
from verification.setup import check_playable

Change = Callable[[], None]
"""What a checked entry changes; calling it cannot fail."""


class Roles:
    """The root and manifest in force."""

    def __init__(self, run: bytes) -> None:
        self.run = run
        self.roots = RootVersions()
        self.manifests: list[tuple[int, Manifest]] = []
        self.root_digest = b""
        self.manifest_digest = b""
        self._root_payload = b""
        self._by_digest: dict[bytes, Manifest] = {}

    @property
    def root(self) -> Root:
        """The newest root version; LogFault before the log's first entry."""
        return self.roots.newest

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
        return self.roots.at(index)

    def role_of(self, key: bytes, index: int) -> Role | None:
        """The role that `key` holds for an entry at `index`."""
        return self.roots.role(key, index)

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
            require_threshold(entry, root, root.keys)
        else:
            require_next_root(entry, root, self.root)

        def change() -> None:
            self.roots = self.roots.followed_by(index, root)
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
