"""Rows of what the log says once and for all: verdicts, bans and pardons.

Page: docs/pages.md. A row never changes once it is written. Times are those by which a head that witnesses saw covered an
entry; the log has none.
"""

import sqlite3
from collections.abc import Callable
from hashlib import sha256
from typing import Final

from node.web.model.sums import hour_of
from protocol.entries import Entry
from protocol.proof import PLY, RULES, SETUP, VERIFIER, Ban, FraudProof, Pardon
from protocol.verdict import REJECT, Verdict
from verification.state import LogState
from verification.subjects import BatchSubject

TimeOf = Callable[[int], int | None]
"""By when an entry was in the log, in Unix seconds, as far as heads say."""

MOST_DELAY_S: Final = 10 * 366 * 86_400
"""A verdict's delay is at most this: times are what witnesses say, and sums must hold them."""
BATCH: Final = "batch"
GATE: Final = "gate"
_WRONG: Final = {
    PLY: "the search of a ply is not as the batch says",
    RULES: "what follows from the rules is not as the batch says",
    SETUP: "the setup is not what its seed gives",
}


def write_event(db: sqlite3.Connection, state: LogState, index: int, entry: Entry, unix_s: int | None) -> None:
    """Writes what an entry says for good; `state` is one in which it is applied."""
    match entry.record:
        case Verdict() as verdict:
            _write_verdict(db, state, index, verdict, unix_s)
        case Ban() | Pardon() as record:
            _write_conviction(db, index, record, unix_s)


def proof_id(proof: bytes) -> bytes:
    """The id under which a proof has its page: its SHA-256."""
    return sha256(proof).digest()


def claim_of(proof: FraudProof) -> str:
    """What a proof claims, in a sentence's words."""
    wrong = f"in game {proof.game_index} of the batch at entry {proof.header.index} {_WRONG[proof.kind]}"
    return f"a verdict says otherwise: {wrong}" if proof.accused == VERIFIER else wrong


def _write_verdict(db: sqlite3.Connection, state: LogState, index: int, verdict: Verdict, unix_s: int | None) -> None:
    subject = state.subjects.by_digest[verdict.subject]
    kind = BATCH if isinstance(subject, BatchSubject) else GATE
    ordered = None
    if verdict.index == subject.index:
        found = db.execute("SELECT unix_s FROM batches WHERE number = ?", (subject.index,)).fetchone()
        ordered = None if found is None else found[0]
    delay_s = None if unix_s is None or ordered is None else min(max(0, unix_s - ordered), MOST_DELAY_S)
    is_rejection = verdict.outcome == REJECT
    db.execute(
        "INSERT INTO verdicts VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            index,
            verdict.verifier,
            kind,
            subject.index,
            len(verdict.drawn),
            verdict.outcome,
            verdict.evidence,
            verdict.game,
            verdict.ply,
            verdict.reason,
            unix_s,
            index - verdict.index,
            delay_s,
        ),
    )
    db.execute(
        "INSERT INTO verdict_hours VALUES (?, ?, 1, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET verdicts = verdicts + 1,"
        " drawn = drawn + excluded.drawn, rejections = rejections + excluded.rejections,"
        " timed = timed + excluded.timed, delay_s = delay_s + excluded.delay_s",
        (hour_of(unix_s), verdict.verifier, len(verdict.drawn), is_rejection, delay_s is not None, delay_s or 0),
    )


def _write_conviction(db: sqlite3.Connection, index: int, record: Ban | Pardon, unix_s: int | None) -> None:
    proof = FraudProof.parse(record.proof)
    db.execute(
        "INSERT INTO convictions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            index,
            proof_id(record.proof),
            record.NAME,
            record.subject,
            proof.accused,
            proof.kind,
            proof.header.index,
            proof.game_index,
            claim_of(proof),
            unix_s,
            record.proof,  # last, for the columns before a long one are found at once
        ),
    )
