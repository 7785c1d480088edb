"""Who takes part, and the node that shows these pages: `/network`. No address of anybody is told."""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from node.web.queries.records import PAGE, found, one

COORDINATOR: Final = "coordinator"
VERIFIER: Final = "verifier"
CONTRIBUTOR: Final = "contributor"


@dataclass(frozen=True, slots=True)
class MemberLine:
    """A key of the run: its role, and the newest entry that is its own work; `lag` is how many were logged since.

    `build`: the version that it said it ran then; empty where the log does not say.
    """

    role: str
    key: bytes
    name: str
    build: str
    last_entry: int | None
    lag: int | None
    last_unix_s: int | None
    ends: int | None


@dataclass(frozen=True, slots=True)
class LinkLine:
    """A node that this one is linked to, as far as it knows: one that dialed it (IN) or that it dialed (OUT).

    `role`: coordinator where the ticket names it, contributor where the log knows its key, verifier where this node is the
    coordinator and took a cosignature over it, by the key that it `speaks_for`; else empty, for a host key says nothing of
    a verifier's. `log_size`: how many entries it said to have, at `log_unix_s`; `lag`: how many fewer than this node.
    `key`, `speaks_for`, `name` and `build` are told to this node's own machine alone, and empty for others.
    """

    role: str
    key: bytes
    speaks_for: bytes
    name: str
    build: str
    direction: str
    since_unix_s: int | None
    log_size: int | None
    log_unix_s: int | None
    lag: int | None


@dataclass(frozen=True, slots=True)
class ThisNode:
    """The node in whose directory the log lies; `log_size` and `links` are None of one that does not run."""

    key: bytes
    role: str
    version: str
    log_size: int | None
    links: tuple[LinkLine, ...] | None
    known_nodes: int
    last_seen_unix_s: int | None


@dataclass(frozen=True, slots=True)
class NetworkAnswer:
    """This node with its links, and whom the log knows: those with a role, then the contributors heard of last.

    `has_names`: whether links say with whom.
    """

    node: ThisNode
    has_names: bool
    members: tuple[MemberLine, ...]
    contributors: int


def network(db: sqlite3.Connection, node: ThisNode, has_names: bool) -> NetworkAnswer:
    """All of it; with `has_names` links are told with keys and names."""
    size = db.execute("SELECT size FROM run").fetchone()[0]
    query = """
    SELECT r.role, r.key, r.name, '' AS build, v.number AS last_entry, ? - 1 - v.number AS lag, v.unix_s AS last_unix_s,
        r.ends
    FROM roles r LEFT JOIN verdicts v ON v.number = (SELECT max(number) FROM verdicts WHERE verifier = r.key)
    ORDER BY r.number
    """
    roles = found(db, MemberLine, query, (size,))
    query = """
    SELECT 'contributor' AS role, c.key, c.name, c.build, b.number AS last_entry, ? - 1 - b.number AS lag,
        b.unix_s AS last_unix_s, NULL AS ends
    FROM contributors c JOIN batches b ON b.number = c.last_batch WHERE c.last_batch IS NOT NULL
    ORDER BY c.last_batch DESC LIMIT ?
    """
    people = found(db, MemberLine, query, (size, PAGE))
    count = db.execute("SELECT count(*) FROM contributors WHERE standing <> 'replaced'").fetchone()[0]
    if node.links is not None:
        node = replace(node, links=_told(db, node.links, has_names))
    return NetworkAnswer(node, has_names, (*roles, *people), count)


def _told(db: sqlite3.Connection, links: Sequence[LinkLine], has_names: bool) -> tuple[LinkLine, ...]:
    """Links with what the log knows of their keys, in an order that tells nobody more than they do."""
    lines = []
    for link in links:
        row = db.execute("SELECT name, build FROM contributors WHERE key = ?", (link.key,)).fetchone()
        if row is not None and not link.role:
            link = replace(link, role=CONTRIBUTOR, name=row["name"], build=row["build"])
        if link.speaks_for:
            link = replace(link, name=one(db, "SELECT name FROM roles WHERE key = ?", (link.speaks_for,)) or "")
        lines.append(link if has_names else replace(link, key=b"", speaks_for=b"", name="", build=""))
    return tuple(sorted(lines, key=_order))


def _order(link: LinkLine) -> tuple[object, ...]:
    rank = (COORDINATOR, VERIFIER, CONTRIBUTOR, "").index(link.role)
    return rank, link.direction, -(link.log_size or 0), link.since_unix_s or 0, link.name, link.key
