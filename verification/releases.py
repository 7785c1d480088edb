"""Releases: which networks may be played with, from release 0 (drawn from the manifest) to the newest gated one.

Spec: `docs/spec/release.md`. A header's release is live if it is the newest one, or the one before it for
`final_entries` after the newer one was logged.
"""

from dataclasses import dataclass, fields
from hashlib import sha256

from native.network import Network
from protocol.entries import Entry
from protocol.manifest import Manifest
from protocol.release import FirstRelease, Release
from protocol.window import TrainRecord, WindowCommitment
from verification.faults import LogFault
from verification.roles import Change, Roles

FIRST_NAME = "first"


@dataclass(frozen=True, slots=True)
class ReleaseInfo:
    """A release as logged at `index`. Release 0 is not logged: it counts from the manifest's entry on.

    `network` is the SHA-256 of the network's file, empty for uniform evaluation; release 0 has no blobs, its file is
    recomputed from the manifest. `manifest` is the digest of the manifest version that its games follow.
    """

    id: bytes
    number: int
    name: str
    parent: bytes
    network: bytes
    network_blob: bytes
    network_len: int
    shape: str
    weights_blob: bytes
    manifest: bytes
    steps: int
    samples: int
    rows: int
    index: int
    train_record: int
    gate_record: int


def first_network(manifest: Manifest, manifest_digest: bytes) -> bytes | None:
    """The file of release 0's network as the manifest draws it, or None for uniform evaluation."""
    if manifest.network.first == "uniform":
        return None
    return Network.first(manifest_digest, manifest.network.blocks, manifest.network.channels)


def release_name(manifest: Manifest, shape: str, samples: int, rows: int) -> str:
    """`<run>-b6c96-s<training samples>-d<data plies>`, the run's name cut so that all fits in 64 characters."""
    tail = f"-{shape}-s{samples}-d{rows}"
    return manifest.name[: 64 - len(tail)] + tail


class Releases:
    """All releases, in order of number."""

    def __init__(self, roles: Roles) -> None:
        self._roles = roles
        self._all: list[ReleaseInfo] = []
        self._by_id: dict[bytes, ReleaseInfo] = {}

    @property
    def all(self) -> tuple[ReleaseInfo, ...]:
        """Release 0 and the logged ones."""
        return tuple(self._all)

    @property
    def newest(self) -> ReleaseInfo:
        """The release that new games are played with; LogFault before the manifest."""
        if not self._all:
            raise LogFault("The log has no manifest yet.")
        return self._all[-1]

    @property
    def previous(self) -> ReleaseInfo | None:
        """The release before the newest."""
        return self._all[-2] if len(self._all) > 1 else None

    def find(self, release_id: bytes) -> ReleaseInfo | None:
        """A release by its id."""
        return self._by_id.get(release_id)

    def is_live(self, release: ReleaseInfo, index: int) -> bool:
        """Whether headers for `release` may be logged at `index`, as far as its age goes."""
        newest = self.newest
        if release.number == newest.number:
            return True
        last = newest.index + self._roles.manifest.admission.final_entries
        return release.number == newest.number - 1 and index <= last

    def begin(self, manifest: Manifest, digest: bytes, index: int) -> None:
        """Adds release 0 of the manifest version 1 logged at `index`."""
        file = first_network(manifest, digest)
        network = b"" if file is None else sha256(file).digest()
        record = FirstRelease(self._roles.run, digest, 0, network)
        length = 0 if file is None else len(file)
        self._add(
            ReleaseInfo(
                record.digest(),
                0,
                FIRST_NAME,
                b"",
                network,
                b"",
                length,
                manifest.network.shape,
                b"",
                digest,
                0,
                0,
                0,
                index,
                0,
                0,
            )
        )

    def propose(
        self,
        train_index: int,
        train: TrainRecord,
        window: WindowCommitment,
        gate_index: int,
        code_version: str,
    ) -> Release:
        """The release that a passed candidate becomes."""
        manifest = self._roles.manifest
        return Release(
            run=self._roles.run,
            manifest=self._roles.manifest_digest,
            number=self.newest.number + 1,
            parent=self.newest.id,
            name=release_name(manifest, train.shape, train.samples, window.total_rows),
            network=train.network,
            network_blob=train.network_blob,
            network_len=train.network_len,
            weights_blob=train.weights_blob,
            train_record=train_index,
            gate_record=gate_index,
            config=manifest.selfplay.digest(),
            gate_config=manifest.gate_search.digest(),
            openings=manifest.openings_digest(),
            training=manifest.training.digest(),
            semantics=manifest.selfplay.semantics,
            shape=train.shape,
            steps=train.steps,
            samples=train.samples,
            rows=window.total_rows,
            code_version=code_version,
        )

    def change_release(self, entry: Entry, record: Release, due: Release, index: int) -> Change:
        """Checks a release against the one that is `due`; raises LogFault."""
        self._roles.require_coordinator(entry, index)
        for field in fields(due):
            if getattr(record, field.name) != getattr(due, field.name):
                raise LogFault(f"The release's {field.name} is not what its gated candidate gives.")
        info = ReleaseInfo(
            id=entry.envelope.digest,
            number=record.number,
            name=record.name,
            parent=record.parent,
            network=record.network,
            network_blob=record.network_blob,
            network_len=record.network_len,
            shape=record.shape,
            weights_blob=record.weights_blob,
            manifest=record.manifest,
            steps=record.steps,
            samples=record.samples,
            rows=record.rows,
            index=index,
            train_record=record.train_record,
            gate_record=record.gate_record,
        )
        return lambda: self._add(info)

    def _add(self, info: ReleaseInfo) -> None:
        self._all.append(info)
        self._by_id[info.id] = info
