"""The job of one training cycle, as the coordinator writes it: `Job.load` reads a JSON file.

Spec: docs/spec/train-state.md ("Job"). A job that exists is valid; whatever is wrong is one sentence in BadJob. `digest`
names what decides the result (never a path), so that a state tells which job it belongs to, on any machine.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from native.errors import EngineError
from native.netfile import Architecture
from protocol.blob import blob_digest
from protocol.codec import Value, encode
from protocol.errors import ProtocolError
from protocol.manifest import Manifest
from trainer.errors import BadJob

DEVICES: Final = ("cpu", "cuda")

_FIELDS: Final = {
    *("out", "manifest", "manifest_digest", "batches", "parent_state", "parent_step", "shape"),
    *("seed", "samples", "device", "threads", "state_every_steps", "workers", "cache"),
}
_SEGMENT_FIELDS: Final = {"state", "parent", "until"}


@dataclass(frozen=True, slots=True)
class BatchFile:
    """An admitted batch: where its compressed blob lies, and what it has to be."""

    path: Path
    raw_len: int
    blob_digest: bytes
    header_digest: bytes

    @property
    def name(self) -> str:
        """How people are told of it."""
        return self.header_digest.hex()[:16]


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of a cycle that is repeated: from `state`, which the cycle recorded (None: its beginning), until `until` of
    its steps are done. It leaves the state there and exports nothing."""

    state: Path | None
    until: int


@dataclass(frozen=True, slots=True)
class Job:
    """One cycle. `samples` rows are drawn, in whole minibatches.

    `parent_state` None: from the seeded float network, the run's first or, after `parent_step` steps, a grown one.
    `parent_digest` is the blob digest of its file. `segment`: only that part of the cycle is trained.
    `workers` processes read and lay out data, `cache` keeps rows between cycles: neither decides a byte of the result.
    """

    out: Path
    manifest: Manifest
    batches: tuple[BatchFile, ...]
    parent_state: Path | None
    parent_digest: bytes
    parent_step: int
    shape: Architecture
    seed: bytes
    samples: int
    device: str
    threads: int
    state_every_steps: int
    workers: int
    cache: Path | None
    segment: Segment | None = None

    @property
    def steps(self) -> int:
        """Optimiser steps of the cycle, at least 1."""
        return max(1, self.samples // self.manifest.training.minibatch)

    @property
    def first_quantised(self) -> int:
        """Steps of the cycle before those that train the network as it will be rounded."""
        return self.steps - self.steps * self.manifest.training.quantised_share_ppm // 10**6

    def digest(self) -> bytes:
        """SHA-256 of everything that decides the resulting bytes on one machine; a segment's is its cycle's."""
        headers = hashlib.sha256(b"".join(batch.header_digest for batch in self.batches)).digest()
        facts: dict[str, Value] = {
            "manifest": self.manifest.digest(),
            "headers": headers,
            "parent_state": self.parent_digest,
            "parent_step": self.parent_step,
            "shape": self.shape.encode(),
            "seed": self.seed,
            "samples": self.samples,
            "device": self.device,
            "threads": self.threads,
            "state_every_steps": self.state_every_steps,
        }
        return hashlib.sha256(b"gonode/train-job/v1\0" + encode(facts)).digest()

    @classmethod
    def load(cls, path: Path) -> Job:
        """Reads a job file, its manifest and its parent state's digest; raises BadJob."""
        try:
            value = json.loads(_read(path, "job"))
        except (ValueError, RecursionError) as error:
            raise BadJob(f"The job {path} is not JSON.") from error
        if not isinstance(value, dict) or value.keys() - {"segment"} != _FIELDS:
            odd = sorted(_FIELDS ^ (value.keys() - {"segment"})) if isinstance(value, dict) else ["everything"]
            raise BadJob(f"The job {path} has a missing or unknown field: {str(odd[0])[:40]}.")
        manifest_bytes = _read(_path(value, "manifest"), "manifest")
        if hashlib.sha256(manifest_bytes).digest() != _digest(value, "manifest_digest"):
            raise BadJob("The job's manifest has another digest than the job says.")
        try:
            manifest = Manifest.parse(manifest_bytes)
        except ProtocolError as error:
            raise BadJob(f"The job's manifest cannot be read: {error}") from error
        listed = value["batches"]
        if not isinstance(listed, list) or not listed:
            raise BadJob("The job names no batches.")
        parent = None if value["parent_state"] is None else _path(value, "parent_state")
        parent_digest = bytes(32) if parent is None else blob_digest(_read(parent, "parent state"))
        segment = None
        if value.get("segment") is not None:
            segment, parent_digest = _segment(value["segment"], parent_digest if parent is not None else None)
        job = cls(
            out=_path(value, "out"),
            manifest=manifest,
            batches=tuple(_batch(item, index) for index, item in enumerate(listed)),
            parent_state=parent,
            parent_digest=parent_digest,
            parent_step=_number(value, "parent_step", 0, 2**63 - 1),
            shape=_shape(value),
            seed=_digest(value, "seed"),
            samples=_number(value, "samples", 1, 2**40),
            device=_device(value),
            threads=_number(value, "threads", 1, 256),
            state_every_steps=_number(value, "state_every_steps", 1, 2**40),
            workers=_number(value, "workers", 0, 64),
            cache=None if value["cache"] is None else _path(value, "cache"),
            segment=segment,
        )
        if segment is not None and segment.until > job.steps:
            raise BadJob(f"The job's segment ends after step {segment.until} of a cycle of {job.steps}.")
        return job


def _segment(item: Any, parent: bytes | None) -> tuple[Segment, bytes]:
    """The part of the cycle, and the digest of the cycle's parent state, which has to be `parent`'s if that is here."""
    if not isinstance(item, dict) or item.keys() != _SEGMENT_FIELDS:
        raise BadJob("The job's segment needs state, parent and until.")
    digest = _digest(item, "parent")
    if parent is not None and parent != digest:
        raise BadJob("The job's parent state is not the one that its segment names.")
    state = None if item["state"] is None else _path(item, "state")
    return Segment(state, _number(item, "until", 1, 2**40)), digest


def _batch(item: Any, index: int) -> BatchFile:
    if not isinstance(item, dict) or item.keys() != {"path", "raw_len", "blob_digest", "header_digest"}:
        raise BadJob(f"The job's batch {index} needs path, raw_len, blob_digest and header_digest.")
    return BatchFile(
        path=_path(item, "path"),
        raw_len=_number(item, "raw_len", 0, 2**26),
        blob_digest=_digest(item, "blob_digest"),
        header_digest=_digest(item, "header_digest"),
    )


def _read(path: Path, what: str) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise BadJob(f"The {what} {path} cannot be read: {error.strerror}.") from error
    except ValueError as error:
        raise BadJob(f"The {what} cannot be read: it has no path.") from error


def _text(value: Mapping[str, Any], field: str) -> str:
    found = value[field]
    if not isinstance(found, str) or not found:
        raise BadJob(f"The job's {field} must be text.")
    return found


def _path(value: Mapping[str, Any], field: str) -> Path:
    found = _text(value, field)
    try:
        usable = b"\0" not in os.fsencode(found)
    except ValueError:
        usable = False
    if not usable:
        raise BadJob(f"The job's {field} is not a path.")
    return Path(found)


def _shape(value: Mapping[str, Any]) -> Architecture:
    try:
        return Architecture.parse(_text(value, "shape"))
    except EngineError as error:
        raise BadJob(f"The job's shape cannot be read: {error}") from error


def _device(value: Mapping[str, Any]) -> str:
    found = _text(value, "device")
    if found not in DEVICES:
        raise BadJob(f"The job's device must be one of {', '.join(DEVICES)}.")
    return found


def _number(value: Mapping[str, Any], field: str, low: int, high: int) -> int:
    found = value[field]
    if type(found) is not int or not low <= found <= high:
        raise BadJob(f"The job's {field} must be an integer from {low} to {high}.")
    return found


def _digest(value: Mapping[str, Any], field: str) -> bytes:
    text = _text(value, field)
    try:
        digest = bytes.fromhex(text)
    except ValueError:
        digest = b""
    if len(digest) != 32 or text != digest.hex():
        raise BadJob(f"The job's {field} must be 64 hexadecimal digits.")
    return digest
