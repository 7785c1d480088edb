"""The file of the pages, `pages.db` in a node's directory: its tables, opened to be written, or to be read only.

Page: docs/pages.md. Write-ahead logging, so that requests read while the log is taken in. What the file says follows from
the log: it is never mended, but made anew when it is of another run or format, or damaged. A reader cannot write, and has a
deadline.
"""

import sqlite3
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from node.disk.home import HomeError
from node.web.model import contents, sums

NAME: Final = "pages.db"
VERSION: Final = 6
DEADLINE_S: Final = 2.0
CHECK_S: Final = 60.0
_STEPS_A_LOOK: Final = 2000
_FAULTS: Final = frozenset({sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
"""What reading ends in where a file is damaged, or lacks a table: each query here is right."""
_DOUBTS: Final = Counter[Path]()

_TABLES: Final = """
CREATE TABLE run (
    id BLOB NOT NULL, name TEXT NOT NULL, size INTEGER NOT NULL, root BLOB NOT NULL, unix_s INTEGER, first_unix_s INTEGER,
    phase TEXT NOT NULL, released_rows INTEGER NOT NULL, rows_missing INTEGER NOT NULL, witness_threshold INTEGER NOT NULL
) STRICT;
CREATE TABLE batches (
    number INTEGER PRIMARY KEY, key BLOB NOT NULL, release INTEGER NOT NULL, unix_s INTEGER, games INTEGER NOT NULL,
    plies INTEGER NOT NULL, visits INTEGER NOT NULL, fate TEXT NOT NULL
) STRICT;
CREATE INDEX batches_of_key ON batches (key, number);
CREATE INDEX open_batches ON batches (number) WHERE fate = 'pending';
CREATE TABLE contributors (
    key BLOB PRIMARY KEY, number INTEGER NOT NULL, name TEXT NOT NULL, standing TEXT NOT NULL, reason TEXT NOT NULL,
    entry INTEGER, passed INTEGER NOT NULL, needed INTEGER NOT NULL, credit_plies INTEGER NOT NULL,
    credit_visits INTEGER NOT NULL, held INTEGER NOT NULL, released INTEGER NOT NULL, q_ppm INTEGER,
    replaced_by BLOB NOT NULL, last_batch INTEGER, last_hour INTEGER, build TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX contributors_by_credit ON contributors (credit_plies DESC, number);
CREATE INDEX contributors_by_name ON contributors (name COLLATE NOCASE);
CREATE INDEX contributors_by_batch ON contributors (last_batch);
CREATE INDEX contributors_by_hour ON contributors (last_hour);
CREATE TABLE releases (
    number INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, name TEXT NOT NULL, parent BLOB NOT NULL, network BLOB NOT NULL,
    network_bytes INTEGER NOT NULL, shape TEXT NOT NULL, steps INTEGER NOT NULL, samples INTEGER NOT NULL,
    rows INTEGER NOT NULL, entry INTEGER NOT NULL, unix_s INTEGER, train_entry INTEGER NOT NULL, gate_entry INTEGER NOT NULL,
    statement_entry INTEGER
) STRICT;
CREATE TABLE signings (
    release INTEGER NOT NULL, act TEXT NOT NULL, at INTEGER NOT NULL, unix_s INTEGER, threshold INTEGER NOT NULL,
    most INTEGER NOT NULL, PRIMARY KEY (release, act)
) STRICT, WITHOUT ROWID;
CREATE TABLE signatures (
    release INTEGER NOT NULL, act TEXT NOT NULL, number INTEGER NOT NULL, key BLOB NOT NULL, name TEXT NOT NULL,
    unix_s INTEGER, PRIMARY KEY (release, act, number)
) STRICT, WITHOUT ROWID;
CREATE TABLE gates (
    entry INTEGER PRIMARY KEY, cycle INTEGER NOT NULL, network BLOB NOT NULL, shape TEXT NOT NULL, steps INTEGER NOT NULL,
    samples INTEGER NOT NULL, rows INTEGER NOT NULL, base INTEGER NOT NULL,
    kind TEXT NOT NULL, elo0 INTEGER NOT NULL, elo1 INTEGER NOT NULL,
    pairs INTEGER NOT NULL, played INTEGER NOT NULL, counts TEXT NOT NULL, llr_micro INTEGER NOT NULL,
    state TEXT NOT NULL, record_entry INTEGER, release INTEGER, unix_s INTEGER, elo REAL, elo_error REAL
) STRICT;
CREATE INDEX gates_by_release ON gates (release);
CREATE INDEX gates_by_base ON gates (base, entry);
CREATE INDEX open_gates ON gates (entry) WHERE state = 'open';
CREATE TABLE verdicts (
    number INTEGER PRIMARY KEY, verifier BLOB NOT NULL, kind TEXT NOT NULL, subject INTEGER NOT NULL, drawn INTEGER NOT NULL,
    outcome TEXT NOT NULL, evidence TEXT NOT NULL, game INTEGER NOT NULL, ply INTEGER NOT NULL, reason TEXT NOT NULL,
    unix_s INTEGER, delay_entries INTEGER NOT NULL, delay_s INTEGER
) STRICT;
CREATE INDEX rejections ON verdicts (number) WHERE outcome = 'reject';
CREATE INDEX verdicts_by_verifier ON verdicts (verifier, number);
CREATE INDEX verdicts_by_subject ON verdicts (subject);
CREATE TABLE verdict_hours (
    hour INTEGER NOT NULL, verifier BLOB NOT NULL, verdicts INTEGER NOT NULL, drawn INTEGER NOT NULL,
    rejections INTEGER NOT NULL, timed INTEGER NOT NULL, delay_s INTEGER NOT NULL, PRIMARY KEY (hour, verifier)
) STRICT, WITHOUT ROWID;
CREATE TABLE convictions (
    entry INTEGER PRIMARY KEY, id BLOB NOT NULL, kind TEXT NOT NULL, subject BLOB NOT NULL, accused TEXT NOT NULL,
    rule TEXT NOT NULL, header INTEGER NOT NULL, game INTEGER NOT NULL, reason TEXT NOT NULL, unix_s INTEGER,
    proof BLOB NOT NULL
) STRICT;
CREATE INDEX convictions_by_id ON convictions (id);
CREATE TABLE roles (
    key BLOB PRIMARY KEY, number INTEGER NOT NULL, role TEXT NOT NULL, name TEXT NOT NULL, ends INTEGER
) STRICT, WITHOUT ROWID;
"""


class PagesUnusable(HomeError):
    """One sentence about a file of the pages that SQLite cannot use."""


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Raises PagesUnusable, which names the file, where the block raises an error of SQLite."""
    try:
        yield
    except sqlite3.Error as error:
        raise PagesUnusable(f"{path} cannot be used: {error}.") from error


def open_to_write(path: Path, run: bytes) -> sqlite3.Connection:
    """The file for one run, made or made anew as needed; raises sqlite3.Error where it cannot be."""
    return open_made(path, run, VERSION, _TABLES + contents.TABLES + sums.schema())


def open_made(path: Path, run: bytes, version: int, tables: str) -> sqlite3.Connection:
    """Likewise a file of this format with these tables, of which `run` has the run's `id` once there are any rows."""
    try:
        db = _opened(path)
        if _is_current(db, run, version) and not is_damaged(db):
            return db
        db.close()
    except sqlite3.DatabaseError as error:
        if isinstance(error, sqlite3.OperationalError):
            raise  # no place to write, or another process writes
    for end in ("", "-wal", "-shm"):
        Path(f"{path}{end}").unlink(missing_ok=True)
    db = _opened(path)
    with writing(db):
        for statement in filter(None, tables.split(";\n")):
            db.execute(statement)
        db.execute(f"PRAGMA user_version = {version}")
    return db


def inode_of(path: Path) -> int | None:
    """Which file lies there; None without one."""
    try:
        return path.stat().st_ino
    except FileNotFoundError:
        return None


def is_damaged(db: sqlite3.Connection) -> bool:
    """Whether SQLite finds the file itself to be damaged."""
    try:
        return bool(db.execute("PRAGMA quick_check(1)").fetchone()[0] != "ok")
    except sqlite3.OperationalError:
        return False
    except sqlite3.DatabaseError:
        return True


def doubts(folder: Path) -> int:
    """How many readers in this process, so far, found that a file in the folder is not what it should be."""
    return _DOUBTS[folder]


def note_doubt(folder: Path, error: sqlite3.DatabaseError) -> None:
    """Has who writes the files in the folder look at them, if the error is of that kind."""
    if getattr(error, "sqlite_errorcode", 0) & 0xFF in _FAULTS:  # only SQLite's own errors have a code
        _DOUBTS[folder] += 1


def is_spoilt(path: Path, version: int) -> bool:
    """Whether a file is damaged, or of another format."""
    try:
        with reading(path, CHECK_S) as db:
            return bool(db.execute("PRAGMA user_version").fetchone()[0] != version) or is_damaged(db)
    except sqlite3.OperationalError:
        return False
    except sqlite3.DatabaseError:
        return True


def empty(db: sqlite3.Connection) -> None:
    """Takes out all rows, in a transaction of its own."""
    tables = [name for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
    with writing(db):
        for name in tables:
            db.execute(f"DELETE FROM {name}")


@contextmanager
def writing(db: sqlite3.Connection) -> Iterator[None]:
    """One transaction: all of it is kept, or nothing."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


@contextmanager
def reading(path: Path, deadline_s: float = DEADLINE_S) -> Iterator[sqlite3.Connection]:
    """A look at the file as it is at one moment; raises sqlite3.Error where there is none, and after the deadline."""
    db = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, isolation_level=None)
    try:
        end = time.monotonic() + deadline_s
        db.set_progress_handler(lambda: time.monotonic() > end, _STEPS_A_LOOK)
        db.row_factory = sqlite3.Row
        db.execute("PRAGMA query_only = ON")
        db.execute("BEGIN")
        db.execute("SELECT count(*) FROM sqlite_schema")  # from here on it is one moment; a damaged file says so itself
        yield db
    except sqlite3.DatabaseError as error:
        note_doubt(path.parent, error)
        raise
    finally:
        db.close()


def _opened(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    try:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = NORMAL")  # what a power cut takes is made again
        db.execute("PRAGMA trusted_schema = OFF")
    except BaseException:
        db.close()
        raise
    return db


def _is_current(db: sqlite3.Connection, run: bytes, version: int) -> bool:
    """Whether the file is of this format and run."""
    (found_version,) = db.execute("PRAGMA user_version").fetchone()
    if found_version != version:
        return False
    found = db.execute("SELECT id FROM run").fetchone()
    return found is None or found[0] == run
