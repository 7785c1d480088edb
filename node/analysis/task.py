"""One position of a query, from the queue to its last answer: `Task`.

Invariant: exactly one answer is the last one, whoever gives it: who searched, or who ended the task before that.
"""

import threading
from collections.abc import Callable
from time import monotonic

from node.analysis.answer import answer_table
from node.analysis.line import Table
from node.analysis.query import Query
from node.analysis.row import searches
from node.analysis.thought import think
from node.analysis.turns import position
from node.play.pace import Pace
from node.play.report import Report
from node.play.searcher import Searcher

Tell = Callable[[Table], None]


class Task:
    """A query's position after `turn` moves; `tell` takes its answers."""

    def __init__(self, query: Query, turn: int, tell: Tell) -> None:
        self.query = query
        self.turn = turn
        self._tell = tell
        self._lock = threading.Lock()
        self._is_over = False
        self._found: Table | None = None

    @property
    def is_over(self) -> bool:
        """Whether its last answer was given."""
        return self._is_over

    def work(self, searcher: Searcher, pace: Pace) -> None:
        """Searches and answers, until it is over. Raises EngineError."""
        if self._is_over:
            return
        query, wishes = self.query, self.query.wishes
        searcher = Searcher(
            searcher.name, searcher.digest, searcher.network, query.settings.applied(searcher.config), searcher.kernel
        )
        game = position(query, self.turn)
        barred = query.barred.get(game.to_move, frozenset())
        told_s = monotonic()
        wait_s = wishes.first_s

        def found_with(visits: int) -> Report:
            return think(searcher, game, visits, barred)

        for found, is_last in searches(found_with, game.rules.points, query.settings, wishes, pace):
            if self._is_over:
                return
            table = answer_table(searcher, found, wishes, query.settings)
            if is_last:
                self._finish(table)
                return
            self._found = table
            if wait_s is not None and monotonic() - told_s >= wait_s:
                told_s, wait_s = monotonic(), wishes.every_s
                self._report(table)

    def end(self) -> None:
        """The last answer is what is known by now."""
        self._finish(self._found or {"noResults": True})

    def fail(self, sentence: str) -> None:
        """The last answer is an error."""
        with self._lock:
            if not self._is_over:
                self._is_over = True
                self._tell({"error": sentence, "id": self.query.id})

    def _report(self, table: Table) -> None:
        with self._lock:
            if not self._is_over:
                self._tell(self._named(table, is_during=True))

    def _finish(self, table: Table) -> None:
        with self._lock:
            if not self._is_over:
                self._is_over = True
                self._tell(self._named(table, is_during=False))

    def _named(self, table: Table, *, is_during: bool) -> Table:
        return {**table, "id": self.query.id, "turnNumber": self.turn, "isDuringSearch": is_during}
