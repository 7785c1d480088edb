"""Who takes part no more, and what shows why: `/bans` and `/proofs/{id}`."""

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass

from node.audits.proof_text import claims_of
from node.web.queries.compared import Comparison, compared
from node.web.queries.records import PAGE, Listed, NotFound, found, numbered
from node.web.recomputed import Recomputed
from protocol.errors import ProtocolError
from protocol.proof import FraudProof

Recompute = Callable[[bytes, bytes], Recomputed]
"""Checks a proof by its id and bytes (`node.web.recomputed.Recomputer.get`)."""

_LINE = """
SELECT x.entry, x.id, x.kind, x.subject, coalesce(c.name, r.name, '') AS name, x.accused, x.rule, x.header, x.game, x.reason,
    x.unix_s
FROM convictions x LEFT JOIN contributors c ON c.key = x.subject LEFT JOIN roles r ON r.key = x.subject
"""


@dataclass(frozen=True, slots=True)
class Conviction:
    """A ban, or a pardon, at `entry`: of whom, under which rule, for which game of the batch at entry `header`.

    `id` is the SHA-256 of the proof that shows it; `reason` is what the proof claims.
    """

    entry: int
    id: bytes
    kind: str
    subject: bytes
    name: str
    accused: str
    rule: str
    header: int
    game: int
    reason: str
    unix_s: int | None


@dataclass(frozen=True, slots=True)
class ProofAnswer:
    """A proof: what was decided by it, and what it claims, in the words of `gonode proof show`.

    `check` is how this server's own check of it ended (`node.web.recomputed`), `sentence` what that found; `comparison`: the
    signed record of its ply beside the searched one, None for a proof about no ply.
    """

    conviction: Conviction
    text: str
    bytes: int
    check: str
    sentence: str
    comparison: Comparison | None


def bans(db: sqlite3.Connection, before: str | None = None) -> Listed[Conviction]:
    """Bans and pardons, newest first; raises BadQuestion."""
    query = f"{_LINE} WHERE x.entry < ? ORDER BY x.entry DESC LIMIT ?"
    items = found(db, Conviction, query, (numbered(before), PAGE))
    return Listed(items, str(items[-1].entry) if len(items) == PAGE else None)


def proof(db: sqlite3.Connection, proof_id: bytes, recompute: Recompute) -> ProofAnswer:
    """One proof by its id, checked by `recompute` once the file was asked all; raises NotFound."""
    items = found(db, Conviction, f"{_LINE} WHERE x.id = ? ORDER BY x.entry LIMIT 1", (proof_id,))
    if not items:
        raise NotFound("The log has no such proof.")
    data = proof_bytes(db, proof_id)
    try:
        text = claims_of(data)
    except ProtocolError as error:  # the log asks less of a proof than whoever checks it
        text = f"What it claims cannot be shown: {error}"
    checked = recompute(proof_id, data)
    try:
        comparison = compared(FraudProof.parse(data), checked.record)
    except ProtocolError:
        comparison = None
    return ProofAnswer(items[0], text, len(data), checked.state, checked.sentence, comparison)


def proof_bytes(db: sqlite3.Connection, proof_id: bytes) -> bytes:
    """The proof's file; raises NotFound."""
    row = db.execute("SELECT proof FROM convictions WHERE id = ? LIMIT 1", (proof_id,)).fetchone()
    if row is None:
        raise NotFound("The log has no such proof.")
    return bytes(row[0])
