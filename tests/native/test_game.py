"""The Python face of games: what it returns, what it refuses, and with which sentence."""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from native.count import count_positions, count_sequences
from native.errors import EngineError, IllegalMove, Reason
from native.game import FEATURE_PLANES, Game
from native.rules import Colour, End, Ko, Rules, Scoring
from tests.native.reference import Reference

RULES = Rules(5, 5, 13)


def game_of(rules: Rules, picture: str, to_move: Colour = Colour.BLACK) -> Game:
    signs = {".": 0, "X": 1, "O": 2}
    return Game(rules, bytes(signs[sign] for sign in picture if sign in signs), to_move)


def test_a_short_game() -> None:
    game = Game(RULES)
    assert (game.to_move, game.end, game.num_moves, game.hash) == (Colour.BLACK, End.NONE, 0, 0)
    game.play(12)
    game.play(7, Colour.WHITE)
    assert game.stones()[12] == Colour.BLACK
    assert game.moves == [(Colour.BLACK, 12), (Colour.WHITE, 7)]
    assert game.legal() == bytes(p not in (12, 7) for p in range(26))
    game.play(game.pass_move)
    game.play(game.pass_move)
    assert game.end == End.PASSES
    assert game.legal() == bytes(26)
    assert game.score_half() == -13
    game.clear()
    assert game.stones() == bytes(25)
    assert game.moves == []


def test_a_copy_goes_its_own_way() -> None:
    game = Game(RULES)
    game.play(12)
    twin = game.copy()
    assert twin.hash == game.hash
    twin.play(0)
    assert game.num_moves == 1
    assert twin.hash != game.hash
    del game
    assert twin.num_moves == 2


@pytest.mark.parametrize(
    ("move", "colour", "reason", "sentence"),
    [
        (1, Colour.WHITE, Reason.OCCUPIED, "The point is occupied."),
        (0, Colour.WHITE, Reason.SUICIDE, "The move would leave its own stones without a liberty."),
        (3, Colour.BLACK, Reason.TURN, "The other colour is to move."),
    ],
)
def test_illegal_moves_say_why(move: int, colour: Colour, reason: Reason, sentence: str) -> None:
    game = game_of(RULES, ".X... X.... ..... ..... .....", Colour.WHITE)
    before = game.hash
    with pytest.raises(IllegalMove, match=re.escape(sentence)) as caught:
        game.play(move, colour)
    assert caught.value.reason == reason
    assert (game.hash, game.num_moves) == (before, 0)


def test_nothing_is_played_after_the_end() -> None:
    game = Game(Rules(3, 3, 0, move_cap=1))
    game.play(4)
    assert game.end == End.CAP
    assert game.check(0) == Reason.FINISHED
    with pytest.raises(IllegalMove, match="over"):
        game.play(0)


@pytest.mark.parametrize("move", [-1, 26, 2**40])
def test_a_move_off_the_board_is_refused(move: int) -> None:
    with pytest.raises(EngineError, match="not on the board"):
        Game(RULES).play(move)


def test_simple_ko_is_lifted_by_a_pass() -> None:
    game = game_of(Rules(4, 4, 0, ko=Ko.SIMPLE), ".XO. X.XO .XO. ....", Colour.WHITE)
    game.play(5)
    assert game.check(6) == Reason.KO
    game.play(game.pass_move)
    game.play(game.pass_move - 1)
    assert game.check(6) is None


@pytest.mark.parametrize(
    ("changed", "word"),
    [
        ({"rows": 0}, "rows"),
        ({"cols": 20}, "columns"),
        ({"komi_half": 40000}, "komi"),
        ({"move_cap": -1}, "cap"),
        ({"move_cap": 70000}, "cap"),
        ({"ko": 3}, "ko rule"),
        ({"scoring": 2}, "scoring"),
    ],
)
def test_rules_out_of_range_are_refused(changed: dict[str, int], word: str) -> None:
    with pytest.raises(EngineError, match=word):
        Rules(**{"rows": 9, "cols": 9, "komi_half": 15, **changed})  # type: ignore[arg-type]


@pytest.mark.parametrize("stones", [b"", bytes(24), bytes([3] + [0] * 24), bytes([1, 2, 0, 0, 0, 2] + [0] * 19)])
def test_setups_that_are_no_positions_are_refused(stones: bytes) -> None:
    with pytest.raises(EngineError, match="setup"):
        Game(RULES, stones)


def test_white_may_begin() -> None:
    game = Game(RULES, to_move=Colour.WHITE)
    game.play(3)
    assert game.moves == [(Colour.WHITE, 3)]


def test_territory_counts_prisoners_and_no_eyes_in_seki() -> None:
    rules = Rules(3, 7, 0, scoring=Scoring.TERRITORY)
    game = game_of(rules, "XXOO.X. .XO.OXX XXOOOXX")
    assert game.score_half() == 2
    assert [p for p, own in enumerate(game.owner()) if own == Colour.EMPTY] == [4, 6, 10]


def test_pass_alive_area_is_counted_when_asked_for() -> None:
    picture = ".X.XO. OXXXO. .X.XO. XXXXO. OOOOO."
    plain = game_of(Rules(5, 6, 0), picture)
    cleaned = game_of(Rules(5, 6, 0, pass_alive=True), picture)
    assert plain.pass_alive()[6] == Colour.BLACK
    assert plain.owner()[6] == Colour.WHITE
    assert cleaned.owner()[6] == Colour.BLACK
    assert cleaned.score_half() - plain.score_half() == 2 * 4


@given(rows=st.integers(1, 19), cols=st.integers(1, 19), komi_half=st.integers(-60, 60))
def test_features_of_any_size(rows: int, cols: int, komi_half: int) -> None:
    rules = Rules(rows, cols, komi_half)
    game, reference = Game(rules), Reference(rules)
    move = game.pass_move // 2 if game.legal()[game.pass_move // 2] else game.pass_move
    game.play(move)
    reference.play(move)
    features = game.features()
    assert len(features) == FEATURE_PLANES * rules.points
    assert features == reference.features()


@given(seed=st.integers(0, 2**32 - 1), rows=st.integers(2, 6), cols=st.integers(2, 6), ko=st.sampled_from(list(Ko)))
def test_a_mirrored_game_has_mirrored_planes(seed: int, rows: int, cols: int, ko: Ko) -> None:
    """Transposition; it and one reversal make all eight symmetries, and nothing in the engine tells sides apart."""
    rng = random.Random(seed)
    game, mirrored = Game(Rules(rows, cols, 7, ko=ko)), Game(Rules(cols, rows, 7, ko=ko))
    places = [(p % cols) * rows + p // cols for p in range(game.pass_move)]
    for _ in range(rng.randrange(2 * game.pass_move)):
        if game.end != End.NONE:
            break
        legal = [move for move in range(game.pass_move) if game.legal()[move]]
        move = rng.choice(legal) if legal else game.pass_move
        game.play(move)
        mirrored.play(places[move] if move < game.pass_move else move)
    planes, other = game.features(), mirrored.features()
    for plane in range(FEATURE_PLANES):
        first = plane * game.pass_move
        assert all(planes[first + p] == other[first + place] for p, place in enumerate(places)), plane


@pytest.mark.parametrize(("side", "count"), [(1, 1), (2, 57), (3, 12675), (4, 24318165)])
def test_legal_positions_match_the_numbers_of_tromp(side: int, count: int) -> None:
    assert count_positions(side, side) == count


def test_counts_refuse_what_is_too_large() -> None:
    with pytest.raises(EngineError):
        count_positions(5, 5)
    with pytest.raises(EngineError):
        count_sequences(Game(RULES), 65)
    assert count_sequences(Game(RULES), 0) == 1
