"""From entries of the log to rows of the pages' file: `Projection`.

Page: docs/pages.md. Invariants: after entries are taken in, the file says what the state after them says, however many came
at once, so that a file grown entry by entry equals one that is made anew; sums change in the transaction that changes
their batches.
"""

import sqlite3
from collections.abc import Sequence

from node.web.model.contents import write_content
from node.web.model.events import TimeOf, write_event
from node.web.model.fates import row_of
from node.web.model.signings import HeadOf
from node.web.model.sums import MOST, RINGER, BatchRow, SumChanges, capped
from node.web.model.training import (
    GATES_CHANGE,
    RELEASES_CHANGE,
    phase_of,
    write_gates,
    write_open_gate,
    write_releases,
)
from protocol.entries import Entry
from protocol.root import Root
from verification.identities import Identity, Tally
from verification.standing import LEFT, Standing, standings
from verification.state import LogState

_BATCH = "number, key, release, unix_s, games, plies, visits, fate"


class Projection:
    """Writes what changes in `state` to `db`; both are at the same log size."""

    def __init__(self, db: sqlite3.Connection, state: LogState) -> None:
        self._db = db
        self._state = state
        self._batches = {row[0]: BatchRow(*row) for row in db.execute(f"SELECT {_BATCH} FROM batches")}
        self._people = {row[0]: tuple(row) for row in db.execute("SELECT * FROM contributors")}
        self._seen: dict[Identity, tuple[Tally, bytes]] = {}

    def take(self, entries: Sequence[Entry], time_of: TimeOf, head_of: HeadOf) -> None:
        """Writes what the last `entries` of the state changed, in a transaction of the caller's.

        `time_of` and `head_of` are asked for indices of these.
        """
        first = self._state.size - len(entries)
        if self._state.size < 2:
            return
        is_new = self._db.execute("SELECT 1 FROM run").fetchone() is None
        self._write_batches(time_of)  # before verdicts, whose delays are since then
        for index, entry in enumerate(entries, first):
            write_event(self._db, self._state, index, entry, time_of(index))
            write_content(self._db, self._state, index, entry, time_of(index))
        kinds = {type(entry.record) for entry in entries}
        if is_new or kinds.intersection(RELEASES_CHANGE):
            write_releases(self._db, self._state, dict(enumerate(entries, first)), time_of, head_of)
        if kinds.intersection(GATES_CHANGE):
            write_gates(self._db, self._state, time_of)
        write_open_gate(self._db, self._state)
        if is_new or Root in kinds:
            self._write_roles()
        self._write_people()
        self._write_run(time_of)

    def _write_batches(self, time_of: TimeOf) -> None:
        sums = SumChanges()
        for identity in self._state.batches.identities:
            mark = (identity.tally, identity.peer)
            before = self._seen.get(identity)
            if before is not None and before[0] is mark[0] and before[1] == mark[1]:
                continue
            self._seen[identity] = mark
            for batch in identity.batches:
                known = self._batches.get(batch.index)
                row = row_of(self._state, identity, batch, time_of(batch.index) if known is None else known.unix_s)
                if row == known:
                    continue
                if known is not None:
                    sums.take(known)
                sums.add(row)
                self._batches[row.number] = row
                self._db.execute("INSERT OR REPLACE INTO batches VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
        sums.write(self._db)

    def _write_people(self) -> None:
        numbers = {peer: number for number, peer in enumerate(self._state.registry.peers, 1)}
        for each in standings(self._state):
            row = (*_person(each, numbers[each.peer]), *self._last_of(each.peer))
            if self._people.get(each.peer) != row:
                self._people[each.peer] = row
                self._db.execute(f"INSERT OR REPLACE INTO contributors VALUES ({', '.join('?' * len(row))})", row)

    def _last_of(self, peer: bytes) -> tuple[int | None, int | None, str]:
        """The newest batch that counts for a key, its hour, and the version that played it."""
        identity = self._state.batches.identity(peer)
        if identity is None or identity.peer != peer:
            return None, None, ""
        for batch in reversed(identity.batches):
            row = self._batches[batch.index]
            if row.fate != RINGER:
                return row.number, row.hour, batch.header.build
        return None, None, ""

    def _write_roles(self) -> None:
        self._db.execute("DELETE FROM roles")
        for number, role in enumerate(self._state.root.roles):
            ends = min(role.expires, role.invalid_from)
            row = (role.key, number, role.role, role.name, None if ends > MOST else ends)
            self._db.execute("INSERT INTO roles VALUES (?, ?, ?, ?, ?)", row)

    def _write_run(self, time_of: TimeOf) -> None:
        state = self._state
        known = self._db.execute("SELECT first_unix_s FROM run").fetchone()
        self._db.execute("DELETE FROM run")
        self._db.execute(
            "INSERT INTO run VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                state.run,
                state.manifest.name,
                state.size,
                state.tree.root(),
                time_of(state.size - 1),
                time_of(0) if known is None else known[0],
                phase_of(state),
                capped(state.released_rows),
                capped(state.cycles.rows_missing()),
                state.root.witness_threshold,
            ),
        )


def _person(row: Standing, number: int) -> tuple[object, ...]:
    reason = "" if row.standing == LEFT else row.reason  # which says for how long, and so would change all the time
    return (
        row.peer,
        number,
        row.name,
        row.standing,
        reason,
        row.entry,
        row.passed,
        row.needed,
        capped(row.credit_plies),
        capped(row.credit_visits),
        row.held,
        row.released,
        row.q_ppm,
        row.replaced_by,
    )
