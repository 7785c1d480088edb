"""Who takes part, and the node that shows these pages: `/network`. No address of anybody is told."""

import sqlite3
from dataclasses import dataclass

from node.web.queries.records import PAGE, found


@dataclass(frozen=True, slots=True)
class MemberLine:
    """A key of the run: its role, and the newest entry that is its own work; `lag` is how many were logged since."""

    role: str
    key: bytes
    name: str
    last_entry: int | None
    lag: int | None
    last_unix_s: int | None
    ends: int | None


@dataclass(frozen=True, slots=True)
class ThisNode:
    """The node in whose directory the log lies, and how many others it is linked to: None of one that does not run."""

    key: bytes
    role: str
    version: str
    log_size: int | None
    links_in: int | None
    links_out: int | None
    known_nodes: int
    last_seen_unix_s: int | None


@dataclass(frozen=True, slots=True)
class NetworkAnswer:
    """This node, and whom the log knows: those with a role, then the contributors heard of last."""

    node: ThisNode
    members: tuple[MemberLine, ...]
    contributors: int


def network(db: sqlite3.Connection, node: ThisNode) -> NetworkAnswer:
    """All of it."""
    size = db.execute("SELECT size FROM run").fetchone()[0]
    query = """
    SELECT r.role, r.key, r.name, v.number AS last_entry, ? - 1 - v.number AS lag, v.unix_s AS last_unix_s, r.ends
    FROM roles r LEFT JOIN verdicts v ON v.number = (SELECT max(number) FROM verdicts WHERE verifier = r.key)
    ORDER BY r.number
    """
    roles = found(db, MemberLine, query, (size,))
    query = """
    SELECT 'contributor' AS role, c.key, c.name, b.number AS last_entry, ? - 1 - b.number AS lag, b.unix_s AS last_unix_s,
        NULL AS ends
    FROM contributors c JOIN batches b ON b.number = c.last_batch WHERE c.last_batch IS NOT NULL
    ORDER BY c.last_batch DESC LIMIT ?
    """
    people = found(db, MemberLine, query, (size, PAGE))
    count = db.execute("SELECT count(*) FROM contributors WHERE standing <> 'replaced'").fetchone()[0]
    return NetworkAnswer(node, (*roles, *people), count)
