"""The file of games, `games.db` in a node's directory: its tables, opened to be written, or to be read beside `pages.db`.

Page: docs/pages.md. What it says follows from the log and the blobs that are here: it is never mended, but made anew. A
game's place is its batch's entry and its number there; so lists in the order of places have the newest first. Invariant:
every set of filters that may be asked for (`INDEXED`) has its index, whose last column is the place.
"""

import sqlite3
import time
from collections.abc import Collection
from pathlib import Path
from typing import Final

from node.web.model.schema import note_doubt, open_made

NAME: Final = "games.db"
VERSION: Final = 1
BESIDE: Final = "here"
"""The file's name in a question to both files."""
PLACE_BITS: Final = 10
"""Bits of a place for the number in the batch: a reader takes 1024 games."""
TRAINING: Final = 0
GATE: Final = 1

INDEXED: Final[dict[frozenset[str], str]] = {
    frozenset(columns): f"games_by_{'_'.join(columns)}"
    for columns in (
        ("kind",),
        ("release",),
        ("signer",),
        ("size",),
        ("result",),
        ("release", "kind"),
        ("release", "size"),
        ("release", "result"),
        ("signer", "kind"),
        ("signer", "release"),
        ("signer", "result"),
    )
}
"""Filters that may be asked for together, and the index of each set."""

_TABLES: Final = """
CREATE TABLE {beside}run (id BLOB NOT NULL, generation INTEGER NOT NULL, floor INTEGER NOT NULL) STRICT;
CREATE TABLE {beside}taken (
    entry INTEGER PRIMARY KEY, blob BLOB NOT NULL, root BLOB NOT NULL, games INTEGER NOT NULL, fault TEXT NOT NULL
) STRICT;
CREATE INDEX {beside}taken_by_blob ON taken (blob);
CREATE INDEX {beside}taken_with_fault ON taken (entry) WHERE fault <> '';
CREATE TABLE {beside}games (
    place INTEGER PRIMARY KEY, hash BLOB NOT NULL, offset INTEGER NOT NULL, kind INTEGER NOT NULL, release INTEGER NOT NULL,
    signer INTEGER NOT NULL, size INTEGER NOT NULL, komi_half INTEGER NOT NULL, result INTEGER NOT NULL,
    score_half INTEGER NOT NULL, moves INTEGER NOT NULL
) STRICT;
CREATE INDEX {beside}games_by_hash ON games (hash);
"""


def tables(beside: str = "") -> str:
    """The statements that make the tables, in the file itself or in one that has another name (`here.`)."""
    indices = (
        f"CREATE INDEX {beside}{name} ON games ({name.removeprefix('games_by_').replace('_', ', ')});\n"
        for name in INDEXED.values()
    )
    return _TABLES.format(beside=beside) + "".join(indices)


def open_to_write(path: Path, run: bytes) -> sqlite3.Connection:
    """The file for one run, made or made anew as needed; raises sqlite3.Error where it cannot be."""
    db = open_made(path, run, VERSION, tables())
    first = time.time_ns() // 10**6  # or an answer's tag from before might say that nothing changed
    db.execute("INSERT INTO run SELECT ?, ?, 0 WHERE NOT EXISTS (SELECT 1 FROM run)", (run, first))
    return db


def put_beside(db: sqlite3.Connection, path: Path) -> None:
    """Has questions to `db` see the file of games as `here`; an empty one where there is none, or none that can be read."""
    db.execute("PRAGMA query_only = OFF")
    if not (path.is_file() and _attached(db, path)):
        db.execute(f"ATTACH 'file::memory:' AS {BESIDE}")
        for statement in filter(None, tables(f"{BESIDE}.").split(";\n")):
            db.execute(statement)
    db.execute("PRAGMA query_only = ON")


def _attached(db: sqlite3.Connection, path: Path) -> bool:
    try:
        db.execute(f"ATTACH ? AS {BESIDE}", (f"{path.absolute().as_uri()}?mode=ro",))
    except sqlite3.DatabaseError as error:  # it is damaged, or being made anew
        note_doubt(path.parent, error)
        return False
    return True


def signer_of(key: bytes) -> int:
    """How the index names a key, in eight bytes; who has the whole key is asked of the log."""
    return int.from_bytes(key[:8], "big", signed=True)


def index_of(filters: Collection[str]) -> str | None:
    """The index for a set of filters: "" for none of them, None where there is no index."""
    return INDEXED.get(frozenset(filters)) if filters else ""
