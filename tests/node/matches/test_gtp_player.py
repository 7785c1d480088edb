"""Engines of others: what they are told, and that each of their faults loses one game, in time, with a reason."""

import os
import shlex
import signal
import sys
import threading
import time
from pathlib import Path

import pytest

from native.game import Game
from native.rules import Rules
from node.exchange.sgf_reader import parse_record
from node.exchange.values import vertex
from node.matches.gtp_engine import GtpEngine, GtpError, Refused, TimedOut
from node.matches.gtp_player import GtpOpponent
from node.matches.match import MatchSettings, play_match
from node.matches.match_result import MatchResult, Score
from node.matches.match_sgf import MatchSgf
from node.matches.opponent import Forfeit, OpponentError, OutOfTime, RandomOpponent, Resigned

ENGINE = Path(__file__).with_name("engine.py")
RULES = Rules(7, 7, 17, move_cap=147)


def command(mode: str) -> str:
    return shlex.join([sys.executable, "-I", str(ENGINE), mode])


def silent(result: MatchResult) -> None:
    pass


def test_it_has_its_own_name_or_the_one_that_is_given() -> None:
    engine = GtpOpponent(command("good"))
    assert (engine.name, engine.identity) == ("Test engine 1.0", f"gtp:{command('good')}")
    engine.close()
    named = GtpOpponent(f"fast-1={command('good')}")
    assert (named.name, named.identity) == ("fast-1", f"gtp:{command('good')}")
    named.close()


def test_it_hears_the_moves_of_both_sides() -> None:
    """The engine takes the first point from A1 on that is free: so it knows which are not."""
    engine = GtpOpponent(command("good"))
    game = Game(RULES)
    for point in (42, 43, 0, 44):  # A1, B1 and C1 are taken, A7 too
        game.play(point)
    for _ in range(2):  # in a second game of the same process as in the first
        with engine.sit() as seat:
            played = game.copy()
            names = []
            for _ in range(3):
                move = seat.choose(played, bytes(32))
                names.append(vertex(move, 7, 7))
                played.play(move)
                played.play(played.pass_move)
            assert names == ["D1", "E1", "F1"]
    assert len(engine._all) == 1
    engine.close()


@pytest.mark.parametrize(
    ("mode", "error", "sentence"),
    [
        ("die:genmove", Forfeit, "ended (status 7) before it answered genmove black; it said: about to die"),
        ("hang:genmove", OutOfTime, "did not answer genmove black within 0.5 s; it said: about to hang"),
        (
            "half:genmove",
            OutOfTime,
            "did not answer genmove black within 0.5 s but wrote '= A1'; it said: about to half",
        ),
        (
            "silent-end:genmove",
            Forfeit,
            "closed its output before it answered genmove black; it said: about to silent-end",
        ),
        ("garbage:genmove", Forfeit, "answered genmove black with what is not GTP (I am no engine); it said: about to"),
        ("flood:genmove", Forfeit, "answered genmove black with more than 65536 bytes"),
        ("number:genmove", Forfeit, "with the number 99999 of another command"),
        ("refuse:genmove", Forfeit, "refused genmove black (I do not want to)"),
        ("nonsense:genmove", Forfeit, "answered genmove with what is no move (my best move)"),
        ("off:genmove", Forfeit, "answered genmove with what is no move (T19)"),
        ("resign:genmove", Resigned, "resigned"),
        ("die:boardsize", Forfeit, "ended (status 7) before it answered boardsize 7"),
        ("refuse:komi", Forfeit, "refused komi 8.5 (I do not want to)"),
    ],
)
def test_faults(mode: str, error: type[Exception], sentence: str) -> None:
    engine = GtpOpponent(command(mode), 30)
    engine._idle[0]._deadline_s = 0.5 if error is OutOfTime else 30
    start = time.monotonic()
    with engine.sit() as seat, pytest.raises(error) as raised:
        seat.choose(Game(RULES), bytes(32))
    assert type(raised.value) is error
    assert sentence in str(raised.value)
    assert time.monotonic() - start < 20
    engine.close()


def test_a_refused_move_of_ours_is_the_engines_fault() -> None:
    engine = GtpOpponent(command("refuse:play"))
    game = Game(RULES)
    game.play(24)
    with engine.sit() as seat, pytest.raises(Forfeit, match=r"refused play black D4 \(I do not want to\)"):
        seat.choose(game, bytes(32))
    engine.close()


@pytest.mark.parametrize(
    ("mode", "letter", "reason"),
    [
        ("die:genmove:3", "F", "ended (status 7)"),
        ("illegal:genmove:3", "F", "played the illegal move A1 (occupied)"),
        ("nonsense:genmove:3", "F", "what is no move"),
        ("resign:genmove:3", "R", "resigned"),
    ],
)
def test_a_match_outlives_its_engine(mode: str, letter: str, reason: str, tmp_path: Path) -> None:
    engine = GtpOpponent(command(mode), 30)
    settings = MatchSettings(4, lambda pair, seed: (RULES, ()), sgf=MatchSgf(tmp_path), threads=2)
    result = play_match(engine, RandomOpponent(), settings, silent)
    assert result.total == Score(0, 0, 4)
    for number in range(4):
        record = parse_record((tmp_path / f"{number:05d}.sgf").read_bytes())
        assert record.result == f"{'BW'[number % 2 == 0]}+{letter}"
        last = record.nodes[-1] if record.nodes else record.start  # an engine used again may resign at once
        assert reason in last.comment
    assert not engine._all


def test_a_whole_match() -> None:
    """Engine against engine: both fill three rows and pass, so both score by our rules alone."""
    one, two = (GtpOpponent(f"{name}={command('good')}") for name in ("one", "two"))
    result = play_match(one, two, MatchSettings(4, lambda pair, seed: (RULES, (3,))), silent)
    assert result.names == ("one", "two")
    assert (result.total.games, result.forfeits, result.different) == (4, (), 1)
    assert not one._all | two._all


def test_an_interrupt_ends_engines_that_think() -> None:
    """Nobody waits for an engine's deadline."""
    engine = GtpOpponent(command("hang:genmove"), 600)
    process = engine._idle[0]._process.pid
    before = threading.active_count()
    main = threading.main_thread().ident
    assert main is not None
    timer = threading.Timer(0.5, signal.pthread_kill, [main, signal.SIGINT])
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        play_match(engine, RandomOpponent(), MatchSettings(2, lambda pair, seed: (RULES, ())), silent)
    timer.join()
    assert threading.active_count() == before
    assert not Path(f"/proc/{process}").exists()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "empty"),
        ("'", "cannot be read"),
        ("/nowhere/engine", "cannot be started: No such file or directory"),
        ("/", "cannot be started: Permission denied"),
        ("name=", "empty"),
        ("true", "ended (status 0) before it answered name"),
        ("sh -c 'echo no licence >&2; exit 3'", "ended (status 3) before it answered name; it said: no licence"),
        ("cat", "answered name with what is not GTP (1 name)"),
        ("a\0b", "null character"),
    ],
)
def test_what_cannot_be_started(text: str, sentence: str) -> None:
    before = set(os.listdir("/proc/self/fd"))
    with pytest.raises(OpponentError) as raised:
        GtpOpponent(text, 20)
    assert sentence in str(raised.value)
    assert len(os.listdir("/proc/self/fd")) == len(before)


def test_an_engine_that_does_not_take_the_board() -> None:
    engine = GtpOpponent(command("refuse:boardsize"))
    with pytest.raises(OpponentError, match=r"Test engine 1\.0 refused boardsize 7 \(I do not want to\)"):
        engine.verify_plays(RULES)
    engine.close()


def test_an_engines_children_end_with_it() -> None:
    words = ["sh", "-c", f"{command('good')}; true"]
    engine = GtpEngine(words, 20)
    assert engine.ask("name") == "Test engine"
    with pytest.raises(Refused, match="unknown command"):
        engine.ask("dance")
    group = engine._process.pid
    engine.kill()
    with pytest.raises(GtpError, match=r"ended \(SIGKILL\)"):
        engine.ask("name")
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            break
        time.sleep(0.02)
    else:
        pytest.fail("a child is left")
    engine.release()


def test_an_engine_that_answers_and_never_reads() -> None:
    """Its pipe is full some day; that day has a deadline too."""
    engine = GtpEngine([sys.executable, "-I", "-c", "while True: print('= D4\\n', flush=True)"], 0.5)

    def play() -> None:
        for _ in range(1000):
            engine.ask("play black D4 " + "x" * 150)

    with pytest.raises(TimedOut, match=r"did not read play black D4 x* within 0\.5 s"):
        play()
    engine.kill()
    engine.release()
