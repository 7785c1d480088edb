"""Fills the file of games from the log's batches whose blobs are here, step by step: `Indexer`.

Page: docs/pages.md. Newest batches come first, a batch a step, so that pages are answered meanwhile. Invariants: once there
is nothing to do, the file has the games of each batch of the log whose blob is here and can be read, and of no other,
however the log and the blobs came; a file that is damaged, or about another log, is made anew; of more than MOST_GAMES the
oldest are left out.
"""

import heapq
import sqlite3
from typing import Final

from node.disk.home import Home
from node.web.games.blobs import Content, Missing, NoGames, PlacedGame, read_batch
from node.web.games.folder import BlobFolders
from node.web.games.schema import GATE, NAME, PLACE_BITS, TRAINING, VERSION, open_to_write, signer_of
from node.web.model import contents
from node.web.model import schema as pages
from node.web.model.schema import doubts, inode_of, is_damaged, is_spoilt, naming, reading, writing

MOST_GAMES: Final = 5_000_000
"""Under 500 bytes of the file each."""
ROWS_AT_ONCE: Final = 2_000
FOLDERS_AT_ONCE: Final = 32
_DEADLINE_S: Final = 60.0
_DAMAGED: Final = "damaged"

_CONTENT: Final = "SELECT entry, blob, blob_bytes, raw_bytes, root, first_counter, games FROM contents"


class Indexer:
    """Grows `DIR/games.db` beside `DIR/pages.db`; for one thread at a time, and one process (a lock is the caller's)."""

    def __init__(self, home: Home, most_games: int = MOST_GAMES) -> None:
        """Opens the file; raises HomeError, also where the file cannot be used."""
        self._public = home.public
        self._run = home.load_ticket().run
        self._pages = home.directory / pages.NAME
        self._most_games = most_games
        self.path = home.directory / NAME
        self._doubts = doubts(self.path.parent)
        with naming(self.path):
            self._open()

    def close(self) -> None:
        """Closes the file."""
        self._db.close()

    def step(self) -> bool:
        """Looks at what is new, and takes in one batch; whether there is more. Raises sqlite3.Error, OSError.

        A file that somebody deleted, replaced or damaged meanwhile is made anew.
        """
        if inode_of(self.path) != self._inode or self._is_spoilt():
            self._reopen()
        if not self._pages.is_file():
            return False
        try:
            with reading(self._pages, _DEADLINE_S) as log:
                return self._step(log)
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError) or not is_damaged(self._db):
                raise
            self._reopen()
            return True

    def _is_spoilt(self) -> bool:
        """Whether readers found fault with the file, and rightly."""
        doubted, self._doubts = self._doubts, doubts(self.path.parent)
        return doubted != self._doubts and is_spoilt(self.path, VERSION)

    def _open(self) -> None:
        self._db = open_to_write(self.path, self._run)
        self._inode = inode_of(self.path)
        self._begin()

    def _reopen(self) -> None:
        self._db.close()
        self._open()

    def _begin(self) -> None:
        self._folders = BlobFolders(self._public)
        self._known = -1  # the newest entry of the log that was looked at
        self._log: int | None = None
        self._waiting: list[int] = []  # a heap of entries, negated
        self._queued: set[int] = set()
        (self._floor,) = self._db.execute("SELECT floor FROM run").fetchone()
        (self._games,) = self._db.execute("SELECT coalesce(sum(games), 0) FROM taken").fetchone()

    def _forget(self) -> None:
        """The file is emptied."""
        with writing(self._db):
            for table in ("taken", "games"):
                self._db.execute(f"DELETE FROM {table}")
            self._db.execute("UPDATE run SET generation = generation + 1, floor = 0")
        self._begin()

    def _step(self, log: sqlite3.Connection) -> bool:
        (newest,) = log.execute("SELECT max(entry) FROM contents").fetchone()
        if inode_of(self._pages) != self._log or (newest or -1) < self._known:
            self._begin()
            self._log = inode_of(self._pages)
        has_more_rows = self._follow(log)
        if self._known < 0:
            return has_more_rows
        has_more_folders = not has_more_rows and self._look(log)
        if self._waiting:
            entry = -heapq.heappop(self._waiting)
            self._queued.discard(entry)
            self._take(log, entry)
        return bool(self._waiting) or has_more_rows or has_more_folders

    def _follow(self, log: sqlite3.Connection) -> bool:
        """Looks at batches that are new in the log; whether there are more of them."""
        query = f"{_CONTENT} WHERE entry > ? ORDER BY entry LIMIT ?"
        rows = [Content(*row) for row in log.execute(query, (self._known, ROWS_AT_ONCE))]
        if not rows:
            return False
        query = "SELECT entry, root FROM taken WHERE entry > ? AND entry <= ?"
        taken = dict(self._db.execute(query, (self._known, rows[-1].entry)))
        if any(taken.get(row.entry, row.root) != row.root for row in rows):
            self._forget()
            return True
        for row in rows:
            if row.entry not in taken and self._folders.has(row.blob):
                self._wait_for(row.entry)
        self._known = rows[-1].entry
        return len(rows) == ROWS_AT_ONCE

    def _look(self, log: sqlite3.Connection) -> bool:
        """Looks at blobs that came or went; whether there are more folders to look at."""
        changed = self._folders.changed(FOLDERS_AT_ONCE)
        gone: list[int] = []
        for first, names in changed:
            low, high = bytes([first]) + bytes(31), bytes([first]) + b"\xff" * 31
            query = "SELECT entry, fault FROM taken WHERE blob >= ? AND blob <= ?"
            taken = dict(self._db.execute(query, (low, high)))
            query = "SELECT entry, blob FROM contents WHERE blob >= ? AND blob <= ? AND entry <= ?"
            here = {entry for entry, blob in log.execute(query, (low, high, self._known)) if blob in names}
            gone += [entry for entry in taken if entry <= self._known and entry not in here]
            for entry in here:
                if taken.get(entry, _DAMAGED) == _DAMAGED:
                    self._wait_for(entry)
        if gone:
            with writing(self._db):
                for entry in gone:
                    self._drop(entry)
                self._changed()
        return len(changed) == FOLDERS_AT_ONCE

    def _wait_for(self, entry: int) -> None:
        if entry >= self._floor and entry not in self._queued:
            self._queued.add(entry)
            heapq.heappush(self._waiting, -entry)

    def _take(self, log: sqlite3.Connection, entry: int) -> None:
        """Takes in the games of one batch."""
        row = log.execute(f"{_CONTENT} WHERE entry = ?", (entry,)).fetchone()
        if row is None or entry < self._floor:
            return
        content, fault = Content(*row), ""
        games: tuple[PlacedGame, ...] = ()
        try:
            games = read_batch(self._public, content)
        except Missing:
            if not self._folders.has(content.blob):
                return
            fault = _DAMAGED
        except NoGames as error:
            fault = str(error)
        except OSError:
            return  # the disk does not give it; when it comes again it is looked at again
        kind, release, signer = log.execute(
            "SELECT kind, release, signer FROM contents WHERE entry = ?", (entry,)
        ).fetchone()
        with writing(self._db):
            self._drop(entry)
            values = (entry, content.blob, content.root, len(games), fault)
            self._db.execute("INSERT INTO taken VALUES (?, ?, ?, ?, ?)", values)
            word = GATE if kind == contents.GATE else TRAINING
            self._db.executemany(
                f"INSERT INTO games VALUES ({', '.join('?' * 11)})",
                (_row(entry, number, game, word, release, signer_of(signer)) for number, game in enumerate(games)),
            )
            self._games += len(games)
            self._make_room()
            self._changed()

    def _drop(self, entry: int) -> None:
        for (games,) in self._db.execute("DELETE FROM taken WHERE entry = ? RETURNING games", (entry,)).fetchall():
            self._games -= games
        low = entry << PLACE_BITS
        self._db.execute("DELETE FROM games WHERE place >= ? AND place < ?", (low, low + (1 << PLACE_BITS)))

    def _make_room(self) -> None:
        """Leaves the oldest batches out while there are too many games."""
        while self._games > self._most_games:
            (entry,) = self._db.execute("SELECT min(entry) FROM taken").fetchone()
            self._drop(entry)
            self._floor = entry + 1
            self._db.execute("UPDATE run SET floor = ?", (self._floor,))

    def _changed(self) -> None:
        self._db.execute("UPDATE run SET generation = generation + 1")


def _row(entry: int, number: int, game: PlacedGame, kind: int, release: int, signer: int) -> tuple[object, ...]:
    header = game.block.header
    return (
        entry << PLACE_BITS | number,
        game.hash,
        game.offset,
        kind,
        release,
        signer,
        header.size,
        header.komi_half,
        header.result,
        header.score_half,
        header.moves,
    )
