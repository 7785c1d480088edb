"""Releases: the networks that everybody plays with, each named by the SHA-256 of its payload.

Spec: `docs/spec/release.md`. Release 0 follows from the manifest and needs neither gate nor signature.
"""

from dataclasses import dataclass
from typing import Annotated

from protocol.record import Record
from protocol.types import U32, U64, Digest, MaybeDigest, Name, Range, Semantics, Shape


@dataclass(frozen=True, slots=True)
class FirstRelease(Record):
    """Release 0: the manifest's seed-drawn network, or uniform evaluation when `network` is empty."""

    NAME = "first-release"

    run: Digest
    manifest: Digest
    number: Annotated[int, Range(0, 0)]
    network: MaybeDigest


@dataclass(frozen=True, slots=True)
class Release(Record):
    """A gated network. `network` is the plain SHA-256 of its file, `network_blob` what peers fetch it by."""

    NAME = "release"

    run: Digest
    manifest: Digest
    number: Annotated[int, Range(1, 2**32 - 1)]
    parent: Digest
    name: Name
    network: Digest
    network_blob: Digest
    network_len: U32
    weights_blob: Digest
    train_record: U64
    gate_record: U64
    config: Digest
    gate_config: Digest
    openings: Digest
    training: Digest
    semantics: Semantics
    shape: Shape
    steps: U64
    samples: U64
    rows: U64
    code_version: Name
