"""Games that engines count: what they agree on is the result, else the rules count and the game says so."""

import shlex
import sys
from pathlib import Path

import pytest

from native.rules import Rules
from node.cli.match_table import match_table
from node.disk.home import Home
from node.exchange.sgf_reader import parse_record
from node.matches.counting import agreed, dispute, parse_count
from node.matches.gtp_player import GtpOpponent
from node.matches.match import MatchSettings, play_match
from node.matches.match_sgf import MatchSgf
from node.matches.opponent import RandomOpponent
from node.matches.played_game import PlayedGame
from tests.node.cli.gonode import gonode, the_object
from tests.node.homes import grown_world, make_home
from tests.node.matches.test_gtp_player import ENGINE, silent

RULES = Rules(7, 7, 17, move_cap=147)


@pytest.mark.parametrize(
    ("answer", "count"),
    [
        ("B+3.5", "B+3.5"),
        ("w+12", "W+12"),
        ("W+0.5 (upper bound: 3, lower: 0)", "W+0.5"),
        ("B+12.3", "B+"),
        ("B+", "B+"),
        ("0", "0"),
        ("Draw", "0"),
        ("B+Resign", None),
        ("?", None),
        ("", None),
        ("I think that black won", None),
        ("B+99999", None),
    ],
)
def test_answers(answer: str, count: str | None) -> None:
    assert parse_count(answer) == count


@pytest.mark.parametrize(
    ("counts", "result"),
    [
        (("B+3.5", "B+3.5"), "B+3.5"),
        (("B+3.5", "B+4.5"), "B+"),
        (("B+3.5", None), "B+3.5"),
        (("0", "0"), "0"),
        (("B+3.5", "W+3.5"), None),
        (("0", "W+3.5"), None),
        ((None, None), None),
    ],
)
def test_agreement(counts: tuple[str | None, str | None], result: str | None) -> None:
    assert agreed(counts) == result
    if result is None:
        assert dispute(counts).startswith("Counted by the rules: ")


def counter(path: Path, score: str) -> GtpOpponent:
    return GtpOpponent(shlex.join([sys.executable, "-I", str(ENGINE), "good", str(path), score]))


@pytest.mark.parametrize(
    ("one", "two", "results", "disputes"),
    [
        ("B+3.5", "B+3.5", {"B+3.5"}, 0),
        ("B+3.5", "B+9.5", {"B+"}, 0),
        ("W+3.5", "die", {"W+3.5"}, 0),
        ("B+3.5", "W+2.5", None, 2),
        ("die", "nonsense", None, 2),
    ],
)
def test_engines_count(one: str, two: str, results: set[str] | None, disputes: int, tmp_path: Path) -> None:
    """A game is over when they are asked: nobody loses it by what is said then."""
    settings = MatchSettings(2, lambda pair, seed: (RULES, ()), sgf=MatchSgf(tmp_path / "games"), players_count=True)
    ruled = play_match(counter(tmp_path / "a", one), counter(tmp_path / "b", two), settings, silent)
    records = [parse_record(path.read_bytes()) for path in sorted((tmp_path / "games").iterdir())]
    if results is not None:
        assert {record.result for record in records} == results
    assert (ruled.disputes, ruled.forfeits) == (disputes, ())
    for record in records:
        assert ("Counted by the rules" in record.moves[-1].comment) == (disputes > 0)
    assert ("counted by the rules" in match_table(ruled)) == (disputes > 0)


def test_the_rules_count_as_ever_where_nobody_asked(tmp_path: Path) -> None:
    settings = MatchSettings(2, lambda pair, seed: (RULES, ()))
    result = play_match(counter(tmp_path / "told", "W+30.5"), RandomOpponent(), settings, silent)
    assert "final_score" not in (tmp_path / "told").read_text().splitlines()
    assert result.disputes == 0


def test_a_dispute_is_in_the_record() -> None:
    game = PlayedGame(7, 17, "D4 pass pass", "B+", dispute="Counted by the rules: no engine counted.")
    assert PlayedGame.from_json(game.to_json()) == game
    with pytest.raises(ValueError, match="a game has"):
        PlayedGame.from_json({**game.to_json(), "dispute": 3})


def test_the_command(tmp_path: Path) -> None:
    home: Home = make_home(grown_world(), tmp_path / "coordinator")
    command = ("--dir", home.directory, "--size", 7, "--games", 2, "--scorer", "engines")
    refused = gonode("match", "random", "random", *command)
    assert (refused.status, "--scorer engines needs an engine that knows final_score." in refused.err) == (2, True)
    engine = "gtp:" + shlex.join([sys.executable, "-I", str(ENGINE), "good", str(tmp_path / "told"), "B+1.5"])
    found = the_object(gonode("match", engine, engine, *command, "--openings", "empty", "--json"))
    assert (found["komi"][0]["black_wins"], found["disputes"]) == (found["games"], 0)
