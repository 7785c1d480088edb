"""Rows of searches: their visits, with reports, within a time, without an end."""

from __future__ import annotations

import pytest

from native.game import Game
from native.rules import Rules
from node.analysis import row
from node.analysis.query import Wishes
from node.analysis.settings import Settings
from node.analysis.thought import think
from node.play.pace import FIRST_VISITS, MOST_VISITS, Pace
from node.play.report import Report
from tests.node.play.players import small_searcher

POINTS = 25


class Clock:
    """Searches that take `visit_s` a visit, on a clock of their own."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, visit_s: float) -> None:
        self.now_s = 100.0
        self.visit_s = visit_s
        self.visits: list[int] = []
        self._found = think(small_searcher(), Game(Rules(5, 5, 1)), 1)
        monkeypatch.setattr(row, "monotonic", lambda: self.now_s)

    def think(self, visits: int) -> Report:
        self.visits.append(visits)
        self.now_s += self.visit_s * visits
        return self._found

    def run(self, settings: Settings, wishes: Wishes | None = None, pace: Pace | None = None) -> list[int]:
        """The visits of the searches of a row; only the last one says that it is the last."""
        self.visits = []
        lasts = [last for _, last in row.searches(self.think, POINTS, settings, wishes or Wishes(), pace or Pace())]
        assert lasts == [False] * (len(lasts) - 1) + [True]
        return self.visits


def known(visit_s: float) -> Pace:
    """A pace that was measured."""
    pace = Pace()
    pace.note(POINTS, 100, 100 * visit_s)
    return pace


REPORTS = Wishes(every_s=1.0, first_s=1.0)


def test_one_search_where_nothing_is_told_before_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch, 0.01)
    for visits in (1, 2, 500, MOST_VISITS):
        assert clock.run(Settings(visits=visits)) == [visits]


def test_a_row_ends_with_all_visits(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch, 0.01)
    assert clock.run(Settings(visits=100), REPORTS) == [16, 32, 64, 100]
    assert clock.run(Settings(visits=17), REPORTS) == [16, 17]
    assert clock.run(Settings(visits=5), REPORTS) == [5]
    assert clock.run(Settings(visits=1000), REPORTS, known(0.001)) == [500, 1000]
    assert clock.run(Settings(visits=30), REPORTS, known(0.001)) == [30]


def test_seconds_are_kept_by_visits(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch, 0.01)
    for wishes in (None, REPORTS):
        for pace in (None, known(0.01)):
            began_s = clock.now_s
            visits = clock.run(Settings(visits=10_000, time_s=8.0), wishes, pace)
            assert clock.now_s - began_s <= 8.0
            assert visits[-1] > 200
    assert clock.run(Settings(visits=100, time_s=8.0)) == [FIRST_VISITS, 100]
    assert clock.run(Settings(visits=100, time_s=8.0), None, known(0.01)) == [100]
    assert clock.run(Settings(visits=100, time_s=0.0), None, known(0.01)) == [2]


def test_a_row_without_an_end_has_no_search_longer_than_ten_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch, 0.01)
    for wishes in (None, REPORTS):
        visits = clock.run(Settings(visits=10_000_000), wishes)
        assert visits[-1] in range(500, 1001)
        assert visits == sorted(visits)
    assert Clock(monkeypatch, 1e-6).run(Settings(visits=10_000_000))[-1] == MOST_VISITS
