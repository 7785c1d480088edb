"""What every answer speaks for: which node saw how much of which run's log."""

import sqlite3
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Seen:
    """`unix_s`: when witnesses saw this head first; `node`: the key of the node that has the log, or empty."""

    run: bytes
    name: str
    node: bytes
    log_size: int
    log_root: bytes
    unix_s: int | None


def seen(db: sqlite3.Connection, node: bytes) -> Seen | None:
    """What the file holds; None before the first entries are in it."""
    row = db.execute("SELECT id, name, size, root, unix_s FROM run").fetchone()
    return None if row is None else Seen(row["id"], row["name"], node, row["size"], row["root"], row["unix_s"])
