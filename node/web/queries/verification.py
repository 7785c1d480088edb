"""How contributions are checked: `/verification`."""

import sqlite3
from dataclasses import dataclass

from node.web.queries.records import PAGE, Listed, found, numbered, one
from node.web.queries.windows import HOURS, window_of


@dataclass(frozen=True, slots=True)
class Checks:
    """Verdicts in a stretch of time: how many, the games that they replayed, those that reject, and how long they took.

    `delay_s` is the mean from a batch's entry to its verdict's, of those whose times heads give.
    """

    name: str
    verdicts: int
    drawn: int
    rejections: int
    delay_s: float | None


@dataclass(frozen=True, slots=True)
class VerifierLine:
    """A verifier of the newest root; `ends` is the entry from which on its key counts no more."""

    key: bytes
    name: str
    ends: int | None
    verdicts: int
    drawn: int
    rejections: int
    delay_s: float | None
    last_entry: int | None
    last_unix_s: int | None


@dataclass(frozen=True, slots=True)
class RejectionLine:
    """A verdict at `entry` that rejects: a batch of `contributor`, or a gate result (then it has none)."""

    entry: int
    unix_s: int | None
    kind: str
    subject: int
    contributor: bytes | None
    name: str | None
    verifier: bytes
    evidence: str
    game: int
    ply: int
    reason: str
    drawn: int


@dataclass(frozen=True, slots=True)
class VerificationAnswer:
    """`backlog` batches with `backlog_games` wait for a decision, the oldest since entry `oldest`."""

    verified_games: int
    pending_games: int
    rejected_games: int
    backlog: int
    backlog_games: int
    oldest: int | None
    checks: tuple[Checks, ...]
    verifiers: tuple[VerifierLine, ...]
    rejections: Listed[RejectionLine]


def verification(db: sqlite3.Connection, before: str | None = None) -> VerificationAnswer:
    """All of it; raises BadQuestion."""
    verified, pending, rejected, backlog = db.execute(
        "SELECT coalesce(sum(verified_games), 0), coalesce(sum(pending_games), 0), coalesce(sum(rejected_games), 0),"
        " coalesce(sum(pending_batches), 0) FROM sums_by_hour"
    ).fetchone()
    return VerificationAnswer(
        verified_games=verified,
        pending_games=pending,
        rejected_games=rejected,
        backlog=backlog,
        backlog_games=pending,
        oldest=one(db, "SELECT min(number) FROM batches WHERE fate = 'pending'"),
        checks=tuple(_checks(db, name) for name in HOURS),
        verifiers=_verifiers(db),
        rejections=_rejections(db, before),
    )


_SUMS = """
coalesce(sum(h.verdicts), 0) AS verdicts, coalesce(sum(h.drawn), 0) AS drawn, coalesce(sum(h.rejections), 0) AS rejections,
CASE WHEN sum(h.timed) > 0 THEN 1.0 * sum(h.delay_s) / sum(h.timed) END AS delay_s
"""


def _checks(db: sqlite3.Connection, name: str) -> Checks:
    query = f"SELECT ? AS name, {_SUMS} FROM verdict_hours h WHERE h.hour >= ?"
    return found(db, Checks, query, (name, window_of(db, name).hour))[0]


def _verifiers(db: sqlite3.Connection) -> tuple[VerifierLine, ...]:
    query = f"""
    SELECT r.key, r.name, r.ends, coalesce(h.verdicts, 0) AS verdicts, coalesce(h.drawn, 0) AS drawn,
        coalesce(h.rejections, 0) AS rejections, h.delay_s,
        (SELECT max(number) FROM verdicts v WHERE v.verifier = r.key) AS last_entry,
        (SELECT unix_s FROM verdicts v WHERE v.verifier = r.key ORDER BY number DESC LIMIT 1) AS last_unix_s
    FROM roles r LEFT JOIN (SELECT h.verifier, {_SUMS} FROM verdict_hours h GROUP BY h.verifier) h ON h.verifier = r.key
    WHERE r.role = 'verifier' ORDER BY r.number
    """
    return found(db, VerifierLine, query)


def _rejections(db: sqlite3.Connection, before: str | None) -> Listed[RejectionLine]:
    query = """
    SELECT v.number AS entry, v.unix_s, v.kind, v.subject, b.key AS contributor, c.name, v.verifier, v.evidence, v.game,
        v.ply, v.reason, v.drawn
    FROM verdicts v LEFT JOIN batches b ON b.number = v.subject LEFT JOIN contributors c ON c.key = b.key
    WHERE v.outcome = 'reject' AND v.number < ? ORDER BY v.number DESC LIMIT ?
    """
    items = found(db, RejectionLine, query, (numbered(before), PAGE))
    return Listed(items, str(items[-1].entry) if len(items) == PAGE else None)
