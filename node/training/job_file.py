"""The job that a trainer is given, as its files `manifest` and `job.json`: `TrainingJob`.

Spec: `docs/spec/train-state.md` ("Job"). The coordinator's cycles, `gonode train` and audits write it here. All paths in it
are absolute. What a trainer takes is decided by `trainer.job.Job.load`, which no node imports.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from node.disk.blob_store import BlobStore
from node.disk.files import write_file
from protocol.manifest import Manifest
from verification.identities import BatchInfo


@dataclass(frozen=True, slots=True)
class JobSegment:
    """The part of a cycle that is repeated: from a recorded state (None: its beginning) until so many of its steps are
    done. `parent`: the blob digest of the cycle's parent state, zero for none."""

    state: Path | None
    parent: bytes
    until: int


@dataclass(frozen=True, slots=True)
class TrainingJob:
    """One cycle of training on `batches`, whose blobs lie in `blobs`.

    `parent_state` None: a network drawn from `seed`. `out` is the folder of the job's own files and of what it leaves.
    """

    out: Path
    manifest: Manifest
    batches: Sequence[BatchInfo]
    blobs: BlobStore
    parent_state: Path | None
    parent_step: int
    shape: str
    seed: bytes
    samples: int
    device: str
    state_every_steps: int
    workers: int
    cache: Path
    segment: JobSegment | None = None

    @property
    def path(self) -> Path:
        """Where the job lies once it is stored."""
        return self.out / "job.json"

    def encode(self) -> bytes:
        """The bytes of `job.json`."""
        job: dict[str, Any] = {
            "out": _text(self.out),
            "manifest": _text(self._manifest),
            "manifest_digest": self.manifest.digest().hex(),
            "batches": [self._batch(batch) for batch in self.batches],
            "parent_state": None if self.parent_state is None else _text(self.parent_state),
            "parent_step": self.parent_step,
            "shape": self.shape,
            "seed": self.seed.hex(),
            "samples": self.samples,
            "device": self.device,
            "threads": self.manifest.training.threads,
            "state_every_steps": self.state_every_steps,
            "workers": self.workers,
            "cache": _text(self.cache),
        }
        if self.segment is not None:
            job["segment"] = {
                "state": None if self.segment.state is None else _text(self.segment.state),
                "parent": self.segment.parent.hex(),
                "until": self.segment.until,
            }
        return json.dumps(job, indent=1).encode()

    def store(self) -> Path:
        """Writes the manifest, then the job, each whole; gives the job's path."""
        write_file(self._manifest, self.manifest.encode())
        write_file(self.path, self.encode())
        return self.path

    @property
    def _manifest(self) -> Path:
        return self.out / "manifest"

    def _batch(self, batch: BatchInfo) -> dict[str, str | int]:
        return {
            "path": _text(self.blobs.path(batch.header.blob_digest)),
            "raw_len": batch.header.raw_len,
            "blob_digest": batch.header.blob_digest.hex(),
            "header_digest": batch.digest.hex(),
        }


def _text(path: Path) -> str:
    return str(path.absolute())
