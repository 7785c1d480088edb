"""The in-toto statement with SLSA provenance: how a release's files came to be.

Spec: `docs/spec/statement.md` ("provenance.dsse.json"); in-toto Statement v1, SLSA Provenance v1. A pure function of the
log and of the weights' SHA-256.
"""

from typing import Final
from urllib.parse import quote

from protocol.record import Record
from protocol.statement.stated import Stated
from protocol.statement.text import Json, encode_json, readable
from protocol.types import ZERO

STATEMENT_TYPE: Final = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE: Final = "https://slsa.dev/provenance/v1"
BUILD_TYPE: Final = "gonode:training-cycle/v1"
BLOB: Final = "gonodeBlob"
"""The name of the digest that peers fetch a file by."""


def provenance(about: Stated, weights_sha256: bytes, key: bytes) -> bytes:
    """The statement's JSON; `key` is the coordinator's that signs it."""
    release = about.release
    return encode_json(
        {
            "_type": STATEMENT_TYPE,
            "subject": [
                _file(about.network_name, release.network, release.network_blob),
                _file(about.weights_name, weights_sha256, release.weights_blob),
            ],
            "predicateType": PREDICATE_TYPE,
            "predicate": {"buildDefinition": _definition(about), "runDetails": _details(about, key)},
        }
    )


def _definition(about: Stated) -> Json:
    train, release = about.train, about.release
    needed: list[Json] = [
        {"name": "manifest", "digest": {"sha256": about.manifest.digest().hex()}},
        {"name": "parent-release", "digest": {"sha256": release.parent.hex()}},
        {"name": "window", "uri": _entry(about, train.window), "digest": {"sha256": about.window.digest().hex()}},
        {"name": "gonode", "uri": _package("generic/gonode", release.code_version)},
        {"name": "torch", "uri": _package("pypi/torch", train.torch)},
    ]
    if train.parent_state != ZERO:
        needed.append({"name": "parent-train-state", "digest": {BLOB: train.parent_state.hex()}})
    return {
        "buildType": BUILD_TYPE,
        "externalParameters": {
            "run": release.run.hex(),
            "cycle": str(train.cycle),
            "window": readable(about.window.to_value()),
            "training": readable(about.manifest.training.to_value()),
            "seed": train.seed.hex(),
            "shape": train.shape,
        },
        "internalParameters": {
            "device": train.device,
            "processes": str(train.processes),
            "threads": str(train.threads),
            "capability": train.capability,
        },
        "resolvedDependencies": needed,
    }


def _details(about: Stated, key: bytes) -> Json:
    train, release = about.train, about.release
    return {
        "builder": {
            "id": f"gonode:{release.run.hex()}/coordinator/{key.hex()}",
            "version": {"gonode": release.code_version, "torch": train.torch},
        },
        "metadata": {"invocationId": _entry(about, release.train_record)},
        "byproducts": [
            _record(about, "train-record", release.train_record, train),
            _record(about, "gate-record", release.gate_record, about.gate),
            _record(about, "release", about.index, release),
            *({"name": f"train-state-{point.step}", "digest": {BLOB: point.state.hex()}} for point in train.states),
        ],
    }


def _file(name: str, digest: bytes, blob: bytes) -> Json:
    return {"name": name, "digest": {"sha256": digest.hex(), BLOB: blob.hex()}}


def _record(about: Stated, name: str, index: int, record: Record) -> Json:
    """A record of the log: where it is, the SHA-256 of its payload, and what it says."""
    return {
        "name": name,
        "uri": _entry(about, index),
        "digest": {"sha256": record.digest().hex()},
        "annotations": {name: readable(record.to_value())},
    }


def _entry(about: Stated, index: int) -> str:
    return f"gonode:{about.release.run.hex()}/entry/{index}"


def _package(name: str, version: str) -> str:
    """A package URL."""
    return f"pkg:{name}@{quote(version, safe='')}"
