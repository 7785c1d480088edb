"""The score so far: renewed on a terminal, now and then a line elsewhere."""

import pytest

from node.cli import match
from node.cli.match import Progress, _table
from node.matches.match import MatchResult


def result(games: int) -> MatchResult:
    return MatchResult(("a", "b"), games, 0, 0, None, None)


def test_on_a_terminal_one_line_is_renewed(capsys: pytest.CaptureFixture[str]) -> None:
    progress = Progress(True)
    for games in (2, 4):
        progress.show(result(games))
    progress.end()
    assert capsys.readouterr().err == "\r2 games: +2 =0 -0\r4 games: +4 =0 -0\n"


def test_elsewhere_there_are_plain_lines(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(match.time, "monotonic", lambda: now)
    progress = Progress(False)
    for games in range(2, 60, 2):
        now = float(games)
        progress.show(result(games))
    progress.end()
    assert capsys.readouterr().err == "".join(f"{games} games: +{games} =0 -0\n" for games in (10, 20, 30, 40, 50))


def test_nothing_is_left_open_before_the_first_pair(capsys: pytest.CaptureFixture[str]) -> None:
    Progress(True).end()
    assert capsys.readouterr().err == ""


def test_an_even_score_has_no_sign_that_means_worse() -> None:
    assert "Elo +0 +-" in _table(MatchResult(("a", "b"), 3, 0, 3, None, None))
    assert "Elo +0 +-" in _table(MatchResult(("a", "b"), 999, 0, 1000, None, None))
    assert "Elo -70 +-" in _table(MatchResult(("a", "b"), 4, 0, 6, None, None))
