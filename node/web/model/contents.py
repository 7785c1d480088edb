"""Rows of what batches and gate results hold: which blob, by whom, under which rules. `write_content`.

Page: docs/pages.md. A row never changes once it is written. Whether a blob is here the log does not say (`node.web.games`).
"""

import sqlite3
from typing import Final

from node.web.model.sums import capped
from protocol.entries import Entry
from protocol.gate import GateResult
from protocol.header import BatchHeader
from protocol.manifest import Manifest
from verification.gate_state import GateResultInfo
from verification.state import LogState

TRAINING: Final = "training"
GATE: Final = "gate"

TABLES: Final = """
CREATE TABLE contents (
    entry INTEGER PRIMARY KEY, kind TEXT NOT NULL, digest BLOB NOT NULL, manifest BLOB NOT NULL, blob BLOB NOT NULL,
    blob_bytes INTEGER NOT NULL, raw_bytes INTEGER NOT NULL, root BLOB NOT NULL, first_counter INTEGER NOT NULL,
    games INTEGER NOT NULL, signer BLOB NOT NULL, release INTEGER NOT NULL, candidate INTEGER, unix_s INTEGER
) STRICT;
CREATE INDEX contents_by_blob ON contents (blob);
CREATE INDEX contents_by_candidate ON contents (candidate) WHERE candidate IS NOT NULL;
CREATE INDEX contents_by_time ON contents (unix_s, games);
CREATE TABLE rules (
    manifest BLOB PRIMARY KEY, ko TEXT NOT NULL, suicide INTEGER NOT NULL, pass_alive INTEGER NOT NULL,
    settled_end INTEGER NOT NULL, move_cap_factor INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
"""
"""`release` is the number of the one that played, at a gate of the base; `candidate` the entry of its train record."""


def write_content(db: sqlite3.Connection, state: LogState, index: int, entry: Entry, unix_s: int | None) -> None:
    """Writes what an entry says of a blob with games, if it is about one; `state` is one in which it is applied."""
    match entry.record:
        case BatchHeader() as header:
            _write_batch(db, state, index, entry, header, unix_s)
        case GateResult() as result:
            _write_gate_result(db, state, index, entry, result, unix_s)


def _write_batch(
    db: sqlite3.Connection, state: LogState, index: int, entry: Entry, header: BatchHeader, unix_s: int | None
) -> None:
    release = state.releases.find(header.release)
    if release is None or not header.games:
        return
    row = (header.blob_digest, header.blob_len, header.raw_len, header.batch_root, capped(header.first_counter))
    values = (*row, header.games, header.peer, release.number, None, unix_s)
    name, manifest = header.manifest, state.release_manifest(release)
    _write(db, index, TRAINING, entry.envelope.digest, name, manifest, values)


def _write_gate_result(
    db: sqlite3.Connection, state: LogState, index: int, entry: Entry, result: GateResult, unix_s: int | None
) -> None:
    info = state.subjects.by_digest.get(entry.envelope.digest)
    if not isinstance(info, GateResultInfo) or not result.pairs:
        return
    gate = state.gates.by_candidate(info.assignment.candidate)
    if gate is None:
        return
    first = capped(2 * info.assignment.first_pair)
    row = (result.blob_digest, result.blob_len, result.raw_len, result.batch_root, first)
    values = (*row, 2 * len(result.pairs), result.player, gate.base.number, gate.index, unix_s)
    _write(db, index, GATE, entry.envelope.digest, gate.manifest.digest(), gate.manifest, values)


def _write(
    db: sqlite3.Connection,
    index: int,
    kind: str,
    digest: bytes,
    name: bytes,
    manifest: Manifest,
    values: tuple[object, ...],
) -> None:
    rules = manifest.rules
    db.execute(
        "INSERT OR IGNORE INTO rules VALUES (?, ?, ?, ?, ?, ?)",
        (name, rules.ko, rules.suicide, rules.pass_alive, rules.settled_end, rules.move_cap_factor),
    )
    marks = ", ".join("?" * (4 + len(values)))
    db.execute(f"INSERT INTO contents VALUES ({marks})", (index, kind, digest, name, *values))
