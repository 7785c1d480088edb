"""Matches: colours, openings, determinism, the sequential test, error bars, and that an interrupt ends them."""

import json
import math
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from native.game import Game
from native.rules import Colour, Rules
from node.cli.match_table import match_table
from node.exchange.sgf_reader import parse_record
from node.matches.match import MatchSettings, play_match
from node.matches.match_record import open_record
from node.matches.match_result import MatchResult, Score, elo_of, share_interval
from node.matches.match_sgf import MatchSgf
from node.matches.opponent import Forfeit, OutOfTime, OwnOpponent, RandomOpponent, Resigned
from tests.node.exchange.test_sgf_writer import read

RULES = Rules(5, 5, 1, move_cap=60)


class Passing(OwnOpponent):
    """Always passes."""

    name = "passing"
    about = identity = "passing"

    def choose(self, game: Game, seed: bytes) -> int:
        return game.pass_move


class Settler(OwnOpponent):
    """Takes the first legal point once, then passes: wins every game against `Passing`."""

    name = "settler"
    about = identity = "settler"

    def __init__(self) -> None:
        self.colours: list[Colour] = []

    def choose(self, game: Game, seed: bytes) -> int:
        self.colours.append(game.to_move)
        return game.pass_move if any(stone == game.to_move for stone in game.stones()) else 12


def settings(games: int, **changes: object) -> MatchSettings:
    return replace(MatchSettings(games, lambda pair, seed: (RULES, ())), **changes)  # type: ignore[arg-type]


def silent(result: MatchResult) -> None:
    pass


def test_colours_are_swapped_within_a_pair() -> None:
    settler = Settler()
    result = play_match(settler, Passing(), settings(10), silent)
    assert result.total == Score(10, 0, 0)
    assert result.black == result.white == Score(5, 0, 0)
    first = [
        colour for number, colour in enumerate(settler.colours) if not number or colour != settler.colours[number - 1]
    ]
    assert first == [Colour.BLACK, Colour.WHITE] * 5


def test_points_are_the_first_players() -> None:
    lost = play_match(Passing(), Settler(), settings(4), silent)
    assert (lost.total, lost.total.share) == (Score(0, 0, 4), 0)
    even = play_match(Passing(), Passing(), settings(4), silent)
    assert (even.black, even.white) == (Score(0, 0, 2), Score(2, 0, 0)), "white has the komi, and each was white twice"
    assert even.komi == ((1, Score(0, 0, 4)),), "black's score, whoever was black"
    no_komi = settings(4, setup=lambda pair, seed: (replace(RULES, komi_half=0), ()))
    drawn = play_match(Passing(), Passing(), no_komi, silent)
    assert (drawn.total, drawn.total.share) == (Score(0, 4, 0), 0.5)


def test_both_games_of_a_pair_have_the_same_setup(tmp_path: Path) -> None:
    seeds: list[bytes] = []

    def setup(pair: int, seed: bytes) -> tuple[Rules, tuple[int, ...]]:
        assert pair == len(seeds)
        seeds.append(seed)
        return replace(RULES, komi_half=2 * (seed[0] % 5)), (seed[1] % 12, 13 + seed[2] % 12)

    play_match(RandomOpponent(), RandomOpponent(), settings(8, setup=setup, sgf=MatchSgf(tmp_path)), silent)
    assert len(set(seeds)) == len(seeds) == 4
    files = sorted(tmp_path.iterdir())
    assert [file.name for file in files] == [f"{number:05d}.sgf" for number in range(8)]
    games = [read(file.read_text()) for file in files]
    for pair in range(4):
        (one, one_moves), (two, two_moves) = games[2 * pair : 2 * pair + 2]
        assert one["KM"] == two["KM"]
        assert one_moves[:2] == two_moves[:2]


def test_a_match_is_repeatable_on_any_number_of_threads(tmp_path: Path) -> None:
    texts: list[tuple[list[str], list[MatchResult]]] = []
    for threads in (1, 1, 3):
        folder = tmp_path / str(len(texts))
        seen: list[MatchResult] = []
        result = play_match(
            RandomOpponent(), RandomOpponent(), settings(20, sgf=MatchSgf(folder), threads=threads), seen.append
        )
        assert seen[-1] == result
        assert [each.total.games for each in seen] == list(range(2, 21, 2))
        texts.append(([file.read_text() for file in sorted(folder.iterdir())], seen))
    assert texts[0] == texts[1] == texts[2]


def test_a_player_against_itself_plays_different_games() -> None:
    """Both games of a pair begin alike and are the same network's, so only their seeds can tell them apart."""
    result = play_match(RandomOpponent(), RandomOpponent(), settings(20), silent)
    assert result.different == 20
    same = play_match(Passing(), Passing(), settings(20), silent)
    assert same.different == 1


class Faulty(OwnOpponent):
    """Loses each game in its third move by `error`, or by a move on its own stone."""

    name = "faulty"
    about = identity = "faulty"

    def __init__(self, error: Exception | None) -> None:
        self.error = error

    def choose(self, game: Game, seed: bytes) -> int:
        if game.num_moves < 2:
            return 6 + game.num_moves
        if self.error is not None:
            raise self.error
        return 6 if game.to_move == Colour.BLACK else 7


@pytest.mark.parametrize(
    ("error", "letter", "said", "is_fault"),
    [
        (Resigned("resigned"), "R", "Black (faulty) resigned.", False),
        (Forfeit("broke [down]"), "F", "Black (faulty) broke [down].", True),
        (OutOfTime("did not answer"), "T", "Black (faulty) did not answer.", True),
        (None, "F", "Black (faulty) played the illegal move B4 (occupied).", True),
    ],
)
def test_who_gives_up_or_errs_loses(
    error: Exception | None, letter: str, said: str, is_fault: bool, tmp_path: Path
) -> None:
    result = play_match(Faulty(error), Settler(), settings(4, sgf=MatchSgf(tmp_path)), silent)
    assert (result.black, result.white) == (Score(0, 0, 2), Score(0, 0, 2))
    record = parse_record((tmp_path / "00000.sgf").read_bytes())
    assert (record.result, record.moves[-1].comment) == (f"W+{letter}", said)
    assert parse_record((tmp_path / "00001.sgf").read_bytes()).result == f"B+{letter}"
    last = said.replace("Black", "White").replace("B4", "C4")
    assert result.forfeits == ((("faulty", 4, last),) if is_fault else ())
    assert any("faulty lost 4 games by a fault" in line for line in match_table(result).splitlines()) == is_fault


def test_a_recorded_match_goes_on(tmp_path: Path) -> None:
    """Killed after some pairs: the rest is played, nothing twice, and the result is that of one sitting."""
    path, facts = tmp_path / "match.jsonl", {"visits": 3}
    whole = play_match(RandomOpponent(), RandomOpponent(), settings(20), silent)

    def stop(result: MatchResult) -> None:
        if result.total.games == 8:
            raise KeyboardInterrupt

    with open_record(path, facts) as record, pytest.raises(KeyboardInterrupt):
        play_match(RandomOpponent(), RandomOpponent(), settings(20, record=record), stop)
    kept = path.read_bytes()
    played = kept.count(b"\n") - 1
    assert 4 <= played < 10
    path.write_bytes(kept + b'{"pair": 9, "games": [{"si')
    seen: list[int] = []

    def setup(pair: int, seed: bytes) -> tuple[Rules, tuple[int, ...]]:
        seen.append(pair)
        return RULES, ()

    with open_record(path, facts) as record:
        again = play_match(RandomOpponent(), RandomOpponent(), settings(20, setup=setup, record=record), silent)
    assert again == whole
    assert len(seen) == 10 - played
    assert path.read_bytes().startswith(kept)
    assert path.read_bytes().count(b"\n") == 11


def test_the_sequential_test_stops() -> None:
    won = play_match(Settler(), Passing(), settings(1000, sprt=(0, 50)), silent)
    assert won.verdict == "passed"
    assert won.llr is not None
    assert won.llr >= 2.944
    assert won.total.games < 200
    lost = play_match(Passing(), Settler(), settings(1000, sprt=(0, 50)), silent)
    assert (lost.verdict, lost.total.wins) == ("failed", 0)
    even = play_match(Passing(), Passing(), settings(10, sprt=(0, 50)), silent)
    assert (even.verdict, even.total.games) == ("undecided", 10)


def test_without_a_test_there_is_no_verdict() -> None:
    result = play_match(Passing(), Passing(), settings(2), silent)
    assert (result.llr, result.verdict) == (None, None)


def test_an_interrupt_ends_a_match_soon() -> None:
    """The threads that play stop after the move that they search, not after all pairs."""

    class Slow(Passing):
        def choose(self, game: Game, seed: bytes) -> int:
            time.sleep(0.02)
            return next(p for p in range(25) if game.legal()[p]) if game.num_moves < 40 else game.pass_move

    def interrupt(result: MatchResult) -> None:
        raise KeyboardInterrupt

    before = threading.active_count()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        play_match(Passing(), Slow(), settings(2000, threads=2), interrupt)
    assert time.monotonic() - start < 20
    assert threading.active_count() == before


@pytest.mark.parametrize(
    "counts", [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), (100, 0, 0), (0, 0, 100_000), (3, 4, 5)]
)
def test_elo_is_finite_and_json(counts: tuple[int, int, int]) -> None:
    elo, error = elo_of(*counts)
    assert math.isfinite(elo)
    assert math.isfinite(error)
    assert error > 0
    shown = MatchResult(("a", "b"), Score(*counts)).to_json()
    assert json.loads(json.dumps(shown, allow_nan=False)) == shown


def test_known_elo() -> None:
    assert str(elo_of(50, 0, 50)[0]) == str(elo_of(0, 3, 0)[0]) == "0.0", "not -0.0"
    assert elo_of(75, 0, 25)[0] == pytest.approx(190.8, abs=0.1)
    assert elo_of(50, 50, 0)[0] == pytest.approx(190.8, abs=0.1)
    assert elo_of(10, 0, 90)[0] == pytest.approx(-381.7, abs=0.1)
    assert elo_of(64, 0, 36)[1] == pytest.approx(1.959964 * 400 / math.log(10) / math.sqrt(0.64 * 0.36 * 100), abs=0.1)
    assert elo_of(0, 100, 0)[1] < elo_of(50, 0, 50)[1] / 1.9, "draws vary less"


def test_an_elo_without_a_loss_says_how_little_it_knows() -> None:
    """12 of 12 may be a player who wins 76 % (Wilson 1927), +198 Elo."""
    for counts, sign in (((12, 0, 0), 1), ((0, 0, 12), -1)):
        elo, error = elo_of(*counts)
        assert elo == pytest.approx(sign * 400 * math.log10(11.5 / 0.5), abs=0.1)
        assert abs(elo) - error == pytest.approx(400 * math.log10(12 / 1.959964**2), abs=0.2)


def test_intervals_of_shares() -> None:
    """Against the formula's known values (Wilson 1927)."""
    assert share_interval(0.5, 0) == (0, 1)
    assert share_interval(1, 10) == (0.7225, 1)
    assert share_interval(0, 10) == (0, 0.2775)
    assert share_interval(0.8, 20) == pytest.approx((0.5840, 0.9193), abs=1e-4)


def test_more_games_have_smaller_errors() -> None:
    errors = [elo_of(6 * n, n, 3 * n)[1] for n in (1, 4, 16, 64)]
    assert errors == sorted(errors, reverse=True)
    assert errors[0] / errors[1] == pytest.approx(2, rel=0.01)


def test_a_file_of_a_game_is_whole_or_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is there is not written again, so half a file would stay one."""

    def break_off(source: Path, target: Path) -> None:
        raise OSError(28, "No space left on device", str(target))

    monkeypatch.setattr(Path, "replace", break_off)
    with pytest.raises(OSError, match="No space left"):
        play_match(Settler(), Passing(), settings(2, sgf=MatchSgf(tmp_path)), silent)
    assert list(tmp_path.iterdir()) == []
