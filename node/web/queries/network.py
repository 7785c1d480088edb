"""Who takes part, and the node that shows these pages: `/network`. No address of anybody is told."""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

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
class Link:
    """A connection of this node: `direction` is in or out, `score` how its peer behaves."""

    peer: str
    direction: str
    since_unix_s: int | None
    score: float | None


@dataclass(frozen=True, slots=True)
class ThisNode:
    """The node in whose directory the log lies; without `links` it does not run."""

    key: bytes
    role: str
    version: str
    log_size: int | None
    links: tuple[Link, ...] | None
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
    SELECT r.role, r.key, r.name, max(v.number) AS last_entry, ? - 1 - max(v.number) AS lag, v.unix_s AS last_unix_s, r.ends
    FROM roles r LEFT JOIN verdicts v ON v.verifier = r.key GROUP BY r.key ORDER BY r.number
    """
    roles = found(db, MemberLine, query, (size,))
    query = """
    SELECT 'contributor' AS role, c.key, c.name, b.number AS last_entry, ? - 1 - b.number AS lag, b.unix_s AS last_unix_s,
        NULL AS ends
    FROM (SELECT key, max(number) AS number FROM batches GROUP BY key ORDER BY 2 DESC LIMIT ?) last
        JOIN batches b ON b.number = last.number JOIN contributors c ON c.key = last.key ORDER BY b.number DESC
    """
    people = found(db, MemberLine, query, (size, PAGE))
    count = db.execute("SELECT count(*) FROM contributors WHERE standing <> 'replaced'").fetchone()[0]
    return NetworkAnswer(node, (*roles, *people), count)


def links_of(status: dict[str, Any]) -> tuple[Link, ...]:
    """The connections in what a running node says of itself (`node.status`), without addresses."""
    links: Sequence[dict[str, Any]] = status.get("links") or ()
    return tuple(
        Link(str(link.get("peer", "")), str(link.get("direction", "")), link.get("since_unix_s"), link.get("score"))
        for link in links
    )
