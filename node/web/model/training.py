"""Rows of releases and candidates: where they come from, how their gates stand, and how strong they are.

Page: docs/pages.md. There are few of them, so that whatever may have changed is written again.
"""

import sqlite3
from collections.abc import Mapping
from typing import Final

from node.matches.ratings import gate_ratings
from node.web.model.events import TimeOf
from node.web.model.signings import RELEASE, STATEMENT, HeadOf, write_head, write_manifest, write_release
from node.web.model.sums import capped
from protocol.entries import Entry
from protocol.gate import GateRecord
from protocol.record import Record
from protocol.release import Release
from protocol.statement.record import ReleaseStatement
from protocol.window import TrainRecord
from verification.gate_state import GateState
from verification.releases import ReleaseInfo
from verification.state import LogState

OPEN: Final = "open"
PASSED: Final = "passed"
REFUSED: Final = "refused"

RELEASES_CHANGE: Final[tuple[type[Record], ...]] = (Release, ReleaseStatement)
GATES_CHANGE: Final[tuple[type[Record], ...]] = (TrainRecord, GateRecord, Release)


def write_releases(
    db: sqlite3.Connection, state: LogState, entries: Mapping[int, Entry], time_of: TimeOf, head_of: HeadOf
) -> None:
    """Writes releases that are new or stated, with who signed them; `entries` are the newest ones."""
    known = dict(db.execute("SELECT number, statement_entry FROM releases"))
    for info in state.releases.all:
        statement = state.statements.find(info.index)
        stated = None if statement is None else statement.index
        if stated is not None and known.get(info.number) != stated:
            write_release(db, state, info.number, STATEMENT, stated, entries[stated], time_of(stated))
        if info.number not in known:
            _write_signers(db, state, info, entries[info.index], time_of, head_of)
        if info.number in known:
            if known[info.number] != stated:
                db.execute("UPDATE releases SET statement_entry = ? WHERE number = ?", (stated, info.number))
            continue
        db.execute(
            f"INSERT INTO releases VALUES ({', '.join('?' * 15)})",
            (
                info.number,
                info.id,
                info.name,
                info.parent,
                info.network,
                info.network_len,
                info.shape,
                capped(info.steps),
                capped(info.samples),
                capped(info.rows),
                info.index,
                time_of(info.index),
                info.train_record,
                info.gate_record,
                stated,
            ),
        )


def write_gates(db: sqlite3.Connection, state: LogState, time_of: TimeOf) -> None:
    """Writes the gates of all candidates, rated anew."""
    times = dict(db.execute("SELECT entry, unix_s FROM gates"))
    ratings = gate_ratings(state)
    released = {info.train_record: info.number for info in state.releases.all[1:]}
    for gate in state.gates.all:
        unix_s = times[gate.index] if gate.index in times else time_of(gate.index)
        is_rated = gate.record is not None and gate.record.pairs > 0 and gate.index in ratings
        rating = ratings[gate.index] if is_rated else (None, None)
        db.execute(
            f"INSERT OR REPLACE INTO gates VALUES ({', '.join('?' * 21)})",
            (*_of_train(state, gate), *_of_gate(gate), released.get(gate.index), unix_s, *rating),
        )


def write_open_gate(db: sqlite3.Connection, state: LogState) -> None:
    """Writes how the open gate stands."""
    gate = state.gates.open
    if gate is not None:
        pairs, played, counts, llr_micro, passed, record = _of_gate(gate)
        db.execute(
            "UPDATE gates SET pairs = ?, played = ?, counts = ?, llr_micro = ?, state = ?, record_entry = ? WHERE entry = ?",
            (pairs, played, counts, llr_micro, passed, record, gate.index),
        )


def _write_signers(
    db: sqlite3.Connection, state: LogState, info: ReleaseInfo, entry: Entry, time_of: TimeOf, head_of: HeadOf
) -> None:
    """Who signed a release, and the first head that has it."""
    unix_s = time_of(info.index)
    if info.number == 0:
        write_manifest(db, state, info.index, entry, unix_s)
    else:
        write_release(db, state, info.number, RELEASE, info.index, entry, unix_s)
    write_head(db, info.number, head_of(info.index))


def phase_of(state: LogState) -> str:
    """What the run waits for next: `rows`, `training`, `gate` or `release`."""
    if state.passed_gate is not None:
        return "release"
    if state.gates.open is not None:
        return "gate"
    return "rows" if state.untrained_window is None else "training"


def _of_train(state: LogState, gate: GateState) -> tuple[object, ...]:
    train, policy = gate.train, gate.manifest.gate
    window = state.cycles.window_at(train.window)
    return (
        gate.index,
        train.cycle,
        train.network,
        train.shape,
        capped(train.steps),
        capped(train.samples),
        0 if window is None else capped(window.record.total_rows),
        gate.base.number,
        policy.kind,
        policy.elo0,
        policy.elo1,
    )


def _of_gate(gate: GateState) -> tuple[object, ...]:
    if gate.record is not None:
        word = PASSED if gate.record.passed else REFUSED
        record = gate.record
        return (
            capped(record.pairs),
            capped(record.pairs),
            _counts(record.counts),
            record.llr_micro,
            word,
            gate.record_index,
        )
    decision = gate.decision
    return decision.pairs, capped(gate.played_pairs), _counts(decision.counts), decision.llr_micro, OPEN, None


def _counts(counts: tuple[int, ...]) -> str:
    return ",".join(map(str, counts))
