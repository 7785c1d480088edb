"""Games: how they begin, what their moves take, and the colours that players have in a match."""

import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from threading import Event

import pytest

from native.game import Game
from native.handicap import HandicapError
from native.network import Kernel
from native.rules import Colour, Rules
from native.search import SearchConfig
from node.cli.match_table import match_table
from node.matches import move_times
from node.matches.colours import Colours
from node.matches.match import MatchSettings, play_match
from node.matches.match_result import MatchResult, Score
from node.matches.move_times import MoveTimes
from node.matches.opponent import OwnOpponent, RandomOpponent, Seat
from node.matches.played_game import PlayedGame
from node.matches.playing import Start, play_game
from node.matches.timed_network import TimedNetwork

RULES = Rules(9, 9, 1, move_cap=40)


class Watching(OwnOpponent):
    """Passes, after a sleep, and remembers what it saw."""

    name = about = identity = "watching"

    def __init__(self, sleeps_s: float = 0.0) -> None:
        self.sleeps_s = sleeps_s
        self.seen: list[tuple[Colour, int]] = []
        self.handicaps: list[tuple[int, ...]] = []

    def sit(self, handicap: Sequence[int] = ()) -> AbstractContextManager[Seat]:
        self.handicaps.append(tuple(handicap))
        return nullcontext(self)

    def choose(self, game: Game, seed: bytes) -> int:
        self.seen.append((game.to_move, sum(map(bool, game.stones()))))
        time.sleep(self.sleeps_s)
        return game.pass_move


def played(start: Start, time_s: float | None = None, white_sleeps_s: float = 0.0) -> PlayedGame:
    game = play_game(Watching(), Watching(white_sleeps_s), start, bytes(32), Event(), time_s=time_s)
    assert game is not None
    return game


def test_a_handicap_is_on_the_board_and_white_begins() -> None:
    white = Watching()
    game = play_game(Watching(), white, Start(RULES, handicap=3), bytes(32), Event())
    assert game is not None
    assert (game.handicap, game.moves, game.result) == (3, "pass pass", "B+80.5")
    assert white.seen == [(Colour.WHITE, 3)]
    assert white.handicaps == [(56, 24, 20)], "C3, G7, C7"
    assert PlayedGame.from_json(game.to_json()) == game


def test_what_no_start_is() -> None:
    with pytest.raises(ValueError, match="an opening of its own"):
        Start(RULES, (3,), 2)
    with pytest.raises(HandicapError, match="takes 2 to 4"):
        Start(replace(RULES, rows=8, cols=8), handicap=5).game()


def test_moves_are_timed_and_late_ones_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(move_times, "GRACE_S", 0.05)
    game = played(Start(RULES), 0.01, white_sleeps_s=0.1)
    assert game.times is not None
    black, white = game.times
    assert (black.moves, white.moves, white.late) == (1, 1, 1)
    assert white.longest_ms >= 100
    assert black.late == 0 or black.longest_ms > 60
    assert PlayedGame.from_json(game.to_json()) == game
    assert played(Start(RULES)).times is None


@pytest.mark.parametrize(
    "times", [[[1, 2, 3, 0], [0, 0, 0, 0]], [[1, 2, 2, 2], [0, 0, 0, 0]], [[1, 2, 2, 0]], [[True, 0, 0, 0], [0] * 4], 3]
)
def test_times_that_are_none(times: object) -> None:
    with pytest.raises((ValueError, TypeError)):
        PlayedGame.from_json({**played(Start(RULES), 1.0).to_json(), "times_ms": times})


def test_grace_and_sums() -> None:
    times = MoveTimes().add(1.0, 1.0).add(1.4, 1.0).add(1.6, 1.0)
    assert (times.moves, times.late, times.longest_s) == (3, 1, 1.6)
    assert times.mean_s == pytest.approx(4 / 3, abs=1e-3)
    assert MoveTimes().mean_s == 0


def test_a_table_shows_times() -> None:
    times = (MoveTimes(10, 9000, 1400, 0), MoveTimes(10, 21_000, 3000, 7))
    lines = match_table(MatchResult(("fast", "slow"), Score(2, 0, 0), time_s=1.0, times=times)).splitlines()
    assert lines[-3:] == [
        "  1 s a move: the same command gives other games",
        "  fast: 0.90 s a move, 1.40 s at most; 0 of 10 moves took longer than that and 0.5 s",
        "  slow: 2.10 s a move, 3.00 s at most; 7 of 10 moves took longer than that and 0.5 s",
    ]


@pytest.mark.parametrize(
    ("colours", "black", "white"),
    [(Colours.SWAP, 2, 2), (Colours.A_BLACK, 4, 0), (Colours.A_WHITE, 0, 4)],
)
def test_colours(colours: Colours, black: int, white: int) -> None:
    """Black has komi to give and both pass, so White wins each game, whoever that is."""
    first = Watching()
    settings = MatchSettings(4, lambda pair, seed: (RULES, ()), colours=colours)
    result = play_match(first, Watching(), settings, lambda result: None)
    assert (result.black, result.white) == (Score(0, 0, black), Score(white, 0, 0))
    assert [colour for colour, _ in first.seen].count(Colour.BLACK) == black
    text = match_table(result)
    assert ("as black" in text, "as white" in text) == (black > 0, white > 0)


def test_a_network_uses_its_time() -> None:
    """Uniform evaluation is fast: with a tenth of a second it makes many more visits than the shortest search."""
    config = SearchConfig(visits_full=2, visits_fast=2)
    player = TimedNetwork("uniform", None, config, Kernel.BEST, 0.3)
    visits: list[int] = []
    search = player.search

    def noted(game: Game, seed: bytes, config: SearchConfig) -> object:
        visits.append(config.visits_full)
        return search(game, seed, config)

    player.search = noted  # type: ignore[method-assign, assignment]
    settings = MatchSettings(2, lambda pair, seed: (replace(RULES, move_cap=6), ()), time_s=0.3)
    result = play_match(player, RandomOpponent(), settings, lambda result: None)
    assert result.times is not None
    mine, others = result.times
    assert (mine.moves, others.moves, result.time_s) == (6, 6, 0.3)
    assert max(visits) > 100
    assert mine.mean_s > 20 * others.mean_s or mine.mean_s > 0.1
    assert result.to_json()["times"][0]["moves"] == 6
