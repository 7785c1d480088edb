"""Takes a node's log into the pages' file, step by step: `Feeder`.

Page: docs/pages.md. The state of the log is made anew from its entries at each start, for it is in no file; meanwhile the
file shows what it held. Invariants: what is shown is a prefix of the log below a kept head that enough witnesses cosigned,
and its tree is the head's, so that every entry has a time; a file that is ahead of the log, or of another log, is made anew.
"""

import sqlite3
from bisect import bisect_right
from collections.abc import Sequence
from typing import Final

from node.disk.home import Home, HomeError
from node.disk.store import StoreError
from node.following.heads import LogRefused
from node.reports.clock import Clock
from node.web.model.projection import Projection
from node.web.model.schema import (
    NAME,
    VERSION,
    doubts,
    empty,
    inode_of,
    is_damaged,
    is_spoilt,
    naming,
    open_to_write,
    writing,
)
from node.web.model.source import Seen, Source, reading_source
from protocol.entries import Entry
from protocol.errors import ProtocolError
from verification.root_versions import RootVersions
from verification.state import LogState

AT_ONCE: Final = 1000


class Feeder:
    """Grows `DIR/pages.db`; for one thread at a time, and one process (a lock is the caller's)."""

    def __init__(self, home: Home) -> None:
        """Opens the file; raises HomeError where no node has a log, or the file cannot be used."""
        self._home = home
        self._run = home.load_ticket().run
        if not home.database.is_file():
            raise HomeError(f"{home.directory}: no copy of the log is here.")
        self.path = home.directory / NAME
        self._doubts = doubts(self.path.parent)
        with naming(self.path):
            self._db = open_to_write(self.path, self._run)
            self._inode = inode_of(self.path)
            self._begin()

    def close(self) -> None:
        """Closes the file."""
        self._db.close()

    @property
    def size(self) -> int:
        """How many entries the file holds."""
        return self._size

    @property
    def is_remembering(self) -> bool:
        """Whether the state is still behind the file."""
        return self._state.size < self._size

    def step(self) -> bool:
        """Takes in some entries; whether there are more. Raises StoreError, LogRefused, sqlite3.Error.

        A file that somebody deleted, replaced or damaged meanwhile is made anew.
        """
        if inode_of(self.path) != self._inode or self._is_spoilt():
            self._reopen()
        try:
            return self._step()
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError) or not is_damaged(self._db):
                raise
            self._reopen()
            return True

    def _step(self) -> bool:
        with reading_source(self._home.database, self._run) as source:
            target = self._target(source)
            if self.is_remembering:
                self._remember(source)
            elif target is not None and self._state.size < target.size:
                self._grow(source, target)
            return self.is_remembering or (target is not None and self._state.size < target.size)

    def _is_spoilt(self) -> bool:
        """Whether readers found fault with the file, and rightly."""
        doubted, self._doubts = self._doubts, doubts(self.path.parent)
        return doubted != self._doubts and is_spoilt(self.path, VERSION)

    def _reopen(self) -> None:
        self._db.close()
        self._db = open_to_write(self.path, self._run)
        self._inode = inode_of(self.path)
        self._begin()

    def _begin(self) -> None:
        self._state = LogState(self._run)
        self._roots, self._roots_below = RootVersions(), 0
        self._projection: Projection | None = None
        self._look()

    def _look(self) -> None:
        """What the file holds."""
        self._size, self._root = 0, b""
        self._unix_s: int | None = None
        for size, root, unix_s in self._db.execute("SELECT size, root, unix_s FROM run"):
            self._size, self._root, self._unix_s = size, root, unix_s

    def _target(self, source: Source) -> Seen | None:
        """The head up to which the log is shown; heads are judged by all root versions that are stored."""
        size = source.log_size()
        try:
            self._roots = source.roots(self._roots, self._roots_below, size)
        except ProtocolError as error:
            raise StoreError(
                f"{self._home.database}: the stored log holds a root that cannot be read: {error}"
            ) from error
        self._roots_below = size
        return source.target(self._roots, size)

    def _remember(self, source: Source) -> None:
        """Makes the state of what the file holds; begins anew where that is no prefix of the log."""
        if self._size > source.log_size():
            self._forget()
            return
        end = min(self._state.size + AT_ONCE, self._size)
        self._apply(source.entries(self._state.size, end))
        if end == self._size and self._state.tree.root() != self._root:
            self._forget()

    def _forget(self) -> None:
        """The file is emptied."""
        empty(self._db)
        self._begin()

    def _grow(self, source: Source, target: Seen) -> None:
        start = self._state.size
        end = min(start + AT_ONCE, target.size)
        heads = source.seen(start, end, self._roots)
        clock = Clock(
            [*([] if self._unix_s is None else [(start, self._unix_s)]), *((head.size, head.unix_s) for head in heads)]
        )
        try:
            with writing(self._db):
                projection = self._projection or Projection(self._db, self._state)
                entries = self._apply(source.entries(start, end))
                self._require_led_to(heads, target)
                projection.take(entries, lambda index: clock.by(index + 1), lambda index: _covering(heads, index))
        except BaseException:
            self._begin()  # the state is ahead of the file
            raise
        self._projection = projection
        self._look()

    def _require_led_to(self, heads: Sequence[Seen], target: Seen) -> None:
        """Raises StoreError unless the tree is that of the target, or on the way there of a head, where there is one."""
        tree = self._state.tree
        passed = [head for head in heads if head.size <= tree.size]
        wanted = [target] if tree.size == target.size else passed
        if wanted and not any(tree.root(head.size) == head.root for head in wanted):
            raise StoreError(f"{self._home.directory}: the stored log does not lead to the head that the node keeps.")

    def _apply(self, entries: Sequence[bytes]) -> list[Entry]:
        """Applies stored entries, which the node verified before it stored them: a head's root says that they are these."""
        applied = []
        for data in entries:
            try:
                applied.append(self._state.apply(data, is_verified=True))
            except ValueError as error:
                at = self._state.size
                raise LogRefused(f"The stored log holds an entry at {at} that the rules refuse: {error}") from error
        return applied


def _covering(heads: Sequence[Seen], index: int) -> Seen | None:
    """The smallest of heads, which rise, that has the entry at `index`."""
    at = bisect_right(heads, index, key=lambda head: head.size)
    return heads[at] if at < len(heads) else None


def is_busy(error: sqlite3.Error) -> bool:
    """Whether the store was only just then in another's hands."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # an extended one says more in its higher bits
    return code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
