"""Makes the files of whole days, a batch a step: `DayMaker`.

Page: docs/pages.md. A file is one zstd frame with the SGF files of all games that are here, in the log's order, of batches
that witnesses saw on that day by UTC; it is made once the day is over. The newest day comes first. Invariants: a file with
its name is whole; all files together have at most so many bytes, and the oldest give way; what gave way is not made again,
nor what is older.
"""

import sqlite3
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Final

import zstandard

from node.disk.files import move_file
from node.disk.home import Home
from node.web.game_sgf import game_sgf
from node.web.games import schema as games
from node.web.games.blobs import Content, NoGames, read_batch
from node.web.games.days import DAY_S, DayFile, DayFiles
from node.web.model import schema as pages
from node.web.model.schema import reading
from node.web.queries.game import answer, batch_row

MOST_BYTES: Final = 4 * 1024**3
LEVEL: Final = 9
_DEADLINE_S: Final = 60.0
_HALF_MADE: Final = "day.new"


class _Begun:
    """A day's file that is being written: the entries still to come, the next one last."""

    def __init__(self, day: int, entries: list[int], known: int, path: Path) -> None:
        self.day = day
        self.entries = entries
        self.known = known
        self.games = self.batches = self.bytes = 0
        self._frame = zstandard.ZstdCompressor(level=LEVEL, write_checksum=True).compressobj()
        self._digest = sha256()
        self._file = path.open("xb")

    def add(self, text: bytes) -> None:
        """The next game."""
        self._write(self._frame.compress(text))
        self.games += 1

    def end(self) -> str:
        """Closes the file, which is whole then; its SHA-256."""
        self._write(self._frame.flush())
        self.close()
        return self._digest.hexdigest()

    def close(self) -> None:
        """Closes the file."""
        self._file.close()

    def _write(self, data: bytes) -> None:
        self._file.write(data)
        self._digest.update(data)
        self.bytes += len(data)


class DayMaker:
    """Fills `DIR/dumps/`; for one thread at a time, and one process (a lock is the caller's)."""

    def __init__(self, home: Home, most_bytes: int = MOST_BYTES) -> None:
        self._public = home.public
        self._pages = home.directory / pages.NAME
        self._games = home.directory / games.NAME
        self._files = DayFiles(home.directory)
        self._most_bytes = most_bytes
        self._begun: _Begun | None = None
        self._looked_at: tuple[object, ...] = ()

    def close(self) -> None:
        """Gives up what is half made."""
        if self._begun is not None:
            self._begun.close()
            self._begun = None
        self._half_made.unlink(missing_ok=True)

    def step(self) -> bool:
        """Writes the games of one batch, or begins or ends a file; whether there is more. To be called once all games that
        are here are in the index. Raises sqlite3.Error, OSError."""
        if not self._pages.is_file():
            return False
        try:
            with reading(self._pages, _DEADLINE_S) as db:
                games.put_beside(db, self._games)
                if self._begun is None:
                    return self._begin(db)
                if self._begun.entries:
                    self._write(db, self._begun)
                else:
                    self._end(self._begun)
                return True
        except BaseException:
            self.close()
            raise

    @property
    def _half_made(self) -> Path:
        return self._files.folder / _HALF_MADE

    def _begin(self, db: sqlite3.Connection) -> bool:
        day = self._next(db)
        if day is None:
            return False
        known, entries = day_entries(db, day)
        self._files.folder.mkdir(exist_ok=True)
        self._half_made.unlink(missing_ok=True)
        self._begun = _Begun(day, entries[::-1], known, self._half_made)
        return True

    def _next(self, db: sqlite3.Connection) -> int | None:
        """The newest day that is over, has games here, and whose file was not made."""
        query = "SELECT r.unix_s, h.generation, (SELECT min(unix_s) FROM contents) FROM run r, here.run h"
        newest, generation, first = db.execute(query).fetchone() or (None, None, None)
        if first is None or newest is None:
            return None
        today = newest // DAY_S
        if self._looked_at == (today, generation, first):
            return None
        made = dict(self._files.made())
        for day in range(today - 1, first // DAY_S - 1, -1):
            found = made.get(day)
            if found is not None and not found.is_kept:
                break
            if found is None and day_entries(db, day)[0]:
                return day
        self._looked_at = (today, generation, first)
        return None

    def _write(self, db: sqlite3.Connection, begun: _Begun) -> None:
        entry = begun.entries.pop()
        row = db.execute(batch_row("c.entry = ?"), (entry,)).fetchone()
        if row is None:
            return
        try:
            placed = read_batch(self._public, Content(**{field: row[field] for field in Content.__slots__}))
        except NoGames:
            return  # it went meanwhile
        for each in placed:
            begun.add(game_sgf(answer(db, row, each.hash, each.block)))
        begun.batches += 1
        if begun.bytes > self._most_bytes:
            begun.entries.clear()

    def _end(self, begun: _Begun) -> None:
        digest = begun.end()
        is_kept = begun.bytes <= self._most_bytes
        found = DayFile(begun.games, begun.batches, begun.known, begun.bytes, digest, is_kept)
        if is_kept:
            move_file(self._half_made, self._files.path(begun.day))
        self._files.store(begun.day, found)
        self._begun = None
        self._half_made.unlink(missing_ok=True)
        kept = [(day, each) for day, each in self._files.made() if each.is_kept]
        total = sum(each.bytes for _, each in kept)
        while total > self._most_bytes:
            day, oldest = kept.pop()
            self._files.store(day, replace(oldest, is_kept=False))
            total -= oldest.bytes


def day_entries(db: sqlite3.Connection, day: int) -> tuple[int, list[int]]:
    """How many batches with games the log has of a day, and the entries of those whose games are here, in order."""
    low, high = day * DAY_S, (day + 1) * DAY_S
    (known,) = db.execute("SELECT count(*) FROM contents WHERE unix_s >= ? AND unix_s < ?", (low, high)).fetchone()
    query = """
    SELECT c.entry FROM contents c JOIN here.taken t ON t.entry = c.entry AND t.root = c.root
    WHERE c.unix_s >= ? AND c.unix_s < ? AND t.games > 0 ORDER BY c.entry
    """
    return known, [row[0] for row in db.execute(query, (low, high))]
