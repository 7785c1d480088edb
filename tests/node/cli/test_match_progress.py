"""The score so far: renewed on a terminal, now and then a line elsewhere."""

import pytest

from node.cli import match_progress
from node.cli.match_progress import Progress
from node.cli.match_table import match_table
from node.matches.match_result import MatchResult, Score


def result(games: int) -> MatchResult:
    return MatchResult(("a", "b"), Score(games, 0, 0))


def test_on_a_terminal_one_line_is_renewed(capsys: pytest.CaptureFixture[str]) -> None:
    progress = Progress(True)
    for games in (2, 4):
        progress.show(result(games))
    progress.end()
    assert capsys.readouterr().err == "\r2 games: +2 =0 -0\r4 games: +4 =0 -0\n"


def test_elsewhere_there_are_plain_lines(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(match_progress.time, "monotonic", lambda: now)
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
    assert "+0 +-" in match_table(MatchResult(("a", "b"), Score(3, 0, 3)))
    assert "+0 +-" in match_table(MatchResult(("a", "b"), Score(999, 0, 1000)))
    assert "-70 +-" in match_table(MatchResult(("a", "b"), Score(4, 0, 6)))


@pytest.mark.parametrize(
    ("score", "shown"),
    [
        (Score(), "-"),
        (Score(1, 0, 0), "-"),
        (Score(0, 1, 0), "-"),
        (Score(12, 0, 0), "above +198"),
        (Score(0, 0, 12), "below -198"),
        (Score(2, 0, 0), "above -113"),
        (Score(11, 1, 0), "+"),
    ],
)
def test_an_elo_that_may_be_infinite_is_bounded_on_one_side(score: Score, shown: str) -> None:
    """12 of 12 may be a player who wins 76 % (Wilson 1927)."""
    line = match_table(MatchResult(("a", "b"), score)).splitlines()[2]
    assert line.split(" %  ")[-1].strip().startswith(shown)
    assert ("+-" in line) == (shown == "+")


def test_the_table() -> None:
    result = MatchResult(
        ("new", "old"),
        Score(8, 0, 2),
        Score(5, 1, 4),
        ((17, Score(8, 0, 2)), (19, Score(4, 1, 5))),
        18,
        (("old", 1, "White (old) did not answer genmove within 1 s."),),
        3.1,
        "passed",
    )
    assert match_table(result).splitlines() == [
        "new against old",
        "             games  wins  draws  losses   score   Elo (95 %)",
        "  all games     20    13      1       6  67.5 %  +127 +- 158",
        "  as black      10     8      0       2  80.0 %  +241 +- 269",
        "  as white      10     5      1       4  55.0 %   +35 +- 205",
        "  komi 8.5: black wins 8 of 10 (80 %, 49 to 94 %)",
        "  komi 9.5: black wins 4 of 10, 1 drawn (45 %, 20 to 73 %)",
        "  18 different games of 20",
        "  old lost 1 game by a fault, at last: White (old) did not answer genmove within 1 s.",
        "  sequential test: passed (llr 3.10)",
    ]
