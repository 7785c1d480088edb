"""What engines are told: startup commands, rules, seed, time and handicap, each in its place."""

import shlex
import sys
from pathlib import Path

import pytest

from native.rules import Rules
from node.matches.gtp_player import GtpOpponent
from node.matches.gtp_terms import MOST_NUMBER, GtpTerms, seed_number
from node.matches.match import MatchSettings, game_seed, play_match
from node.matches.opponent import Forfeit, OpponentError, RandomOpponent
from node.matches.playing import Start
from tests.node.matches.test_gtp_player import ENGINE, silent

RULES = Rules(9, 9, 15, move_cap=7)


def command(path: Path, mode: str = "good") -> str:
    return shlex.join([sys.executable, "-I", str(ENGINE), mode, str(path)])


def told(path: Path) -> list[str]:
    """The commands of each game, without those of the introduction."""
    lines = path.read_text().splitlines()
    assert lines[:3] == ["name", "version", "list_commands"]
    return lines[3:]


def test_everything_in_its_place(tmp_path: Path) -> None:
    """Two games, as White and as Black, with a handicap: White moves first."""
    path = tmp_path / "told"
    terms = GtpTerms(2.0, ("speed_up 9", "speed_up 10"))
    engine = GtpOpponent(command(path), terms=terms)
    assert engine.identity == f"gtp:{command(path)} | speed_up 9 | speed_up 10"
    setup = MatchSettings(2, lambda pair, seed: (RULES, ()), handicap=2, time_s=2.0)
    play_match(RandomOpponent(), engine, setup, silent)
    lines = told(path)
    begin = ["speed_up 9", "speed_up 10", "boardsize 9", "clear_board", "kata-set-rules Tromp-Taylor", "komi 7.5"]
    later = ["time_settings 0 2 1", "set_free_handicap C3 G7"]
    first = [*begin, f"set_random_seed {seed_number(game_seed(0))}", *later]
    assert lines[:11] == [*first, "time_left white 2 1", "genmove white"]
    second = lines.index("speed_up 9", 1)
    assert lines[second : second + 9] == [*begin, f"set_random_seed {seed_number(game_seed(1))}", *later]
    assert lines[second + 9].startswith("play white ")
    assert lines[second + 10 : second + 12] == ["time_left black 2 1", "genmove black"]


def test_an_engine_is_not_told_what_it_does_not_list(tmp_path: Path) -> None:
    """The engine without a file refuses all of these, and loses no game by that."""
    engine = GtpOpponent(shlex.join([sys.executable, "-I", str(ENGINE), "good"]))
    assert engine.commands == frozenset()
    result = play_match(engine, RandomOpponent(), MatchSettings(2, lambda pair, seed: (RULES, ())), silent)
    assert result.forfeits == ()


def test_an_engine_that_knows_no_time_is_refused_at_once() -> None:
    engine = GtpOpponent(shlex.join([sys.executable, "-I", str(ENGINE), "good"]), terms=GtpTerms(1.0))
    with pytest.raises(OpponentError, match=r"Test engine 1\.0 refused time_settings 0 1 1 \(unknown command\)"):
        engine.verify_plays(RULES)
    engine.close()


def test_a_command_that_it_refuses_is_said(tmp_path: Path) -> None:
    engine = GtpOpponent(command(tmp_path / "told"), terms=GtpTerms(startup=("dance wildly",)))
    with pytest.raises(OpponentError, match=r"refused dance wildly \(unknown command\)"):
        engine.verify_plays(RULES, Start(RULES, handicap=3).stones)
    game = Start(RULES).game()
    with engine.sit() as seat, pytest.raises(Forfeit, match="refused dance wildly"):
        seat.choose(game, bytes(32))
    engine.close()


def test_preparing_takes_no_time_of_a_move(tmp_path: Path) -> None:
    """What is told before the move is told once, however often one prepares."""
    path = tmp_path / "told"
    engine = GtpOpponent(command(path), terms=GtpTerms(3.0))
    game = Start(RULES, (40,)).game()
    with engine.sit() as seat:
        seat.prepare(game, bytes(32))
        seat.prepare(game, bytes(32))
        before = told(path)
        assert before[-2:] == ["play black E5", "time_left white 3 1"]
        game.play(seat.choose(game, bytes(32)))
        assert told(path) == [*before, "genmove white"]
    engine.close()


@pytest.mark.parametrize("time_s", [0.5, 1.5, 0.0])
def test_seconds_are_whole(time_s: float) -> None:
    with pytest.raises(ValueError, match="whole"):
        GtpTerms(time_s)


@pytest.mark.parametrize("line", ["", " ", "a\nb", "a\rb", "a\0b", "\udcff"])
def test_a_command_is_a_line(line: str) -> None:
    with pytest.raises(ValueError, match="one line"):
        GtpTerms(startup=(line,))


def test_seeds_are_numbers_of_any_program() -> None:
    assert seed_number(bytes(32)) == 1
    assert seed_number(b"\xff" * 32) <= MOST_NUMBER
    assert len({seed_number(game_seed(number)) for number in range(1000)}) == 1000
