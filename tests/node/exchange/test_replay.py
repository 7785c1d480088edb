"""Records are played by the rules, and games become records."""

import pytest
from hypothesis import given, settings

from native.game import Game
from native.rules import Colour, Ko, Rules, Scoring
from node.exchange.errors import ReplayError
from node.exchange.record import GameRecord
from node.exchange.replay import game_record, play_record, record_rules
from node.exchange.rule_names import TROMP_TAYLOR, NamedRules, name_rules, parse_rules
from node.exchange.sgf_reader import parse_record
from node.matches.opponent import RandomOpponent
from tests.node.exchange.sgf_records import records


def played(text: str, rules: Rules | None = None) -> Game:
    record = parse_record(text.encode())
    return play_record(record, rules or record_rules(record))


@pytest.mark.parametrize("ko", list(Ko))
@pytest.mark.parametrize("suicide", [False, True])
@pytest.mark.parametrize("scoring", list(Scoring))
def test_games_come_back_by_their_own_rules(ko: Ko, suicide: bool, scoring: Scoring) -> None:
    rules = Rules(5, 6, 13, ko, suicide, scoring, move_cap=90)
    game = Game(rules)
    while not game.end:
        game.play(RandomOpponent().choose(game, bytes(32)))
    record = game_record(game, "a\n", " b")
    assert (record.black, record.white) == ("a", "b")
    again = play_record(record, record_rules(record))
    assert again.moves == game.moves
    assert again.stones() == game.stones()
    assert again.score_half() == game.score_half()
    assert (record_rules(record).ko, record_rules(record).suicide, record_rules(record).scoring) == (
        ko,
        suicide,
        scoring,
    )


@settings(max_examples=60, deadline=None)
@given(records())
def test_any_record_plays_or_says_where_it_stops(record: GameRecord) -> None:
    try:
        game = play_record(record, record_rules(record))
    except ReplayError as error:
        fault = error
    else:
        assert (game.rules.rows, game.rules.cols) == (record.rows, record.cols)
        return
    assert 0 <= fault.move <= len(record.moves)
    assert str(fault).endswith(".")


def test_the_first_fault_is_named() -> None:
    for text, number, words in [
        ("(;SZ[9];B[cc];W[cc])", 2, r"^Move 2 \(White C7\) is illegal: occupied\.$"),
        ("(;SZ[3]AB[ba][ab];W[cc];B[bb];W[aa])", 3, "suicide"),
        ("(;SZ[2]AB[aa][ba][ab][bb])", 0, r"^The setup at the start leaves stones without a liberty\.$"),
        ("(;SZ[2];B[aa];AB[ba][ab][bb])", 1, "^The setup after move 1 leaves"),
    ]:
        with pytest.raises(ReplayError, match=words) as found:
            played(text)
        assert found.value.move == number


def test_who_begins() -> None:
    assert played("(;SZ[9])").to_move == Colour.BLACK
    assert played("(;SZ[9]HA[2]AB[cc][gg])").to_move == Colour.WHITE
    assert played("(;SZ[9]PL[W])").to_move == Colour.WHITE
    assert played("(;SZ[9];W[aa])").num_moves == 1
    assert played("(;SZ[9]PL[W];B[aa])").num_moves == 2, "white passed"


def test_a_player_who_moves_twice_keeps_the_history() -> None:
    game = played("(;SZ[9];B[aa];B[bb])")
    assert [move for _, move in game.moves] == [0, 81, 10]


def test_after_the_end_and_after_a_setup_a_new_game_begins() -> None:
    game = played("(;SZ[5];B[cc];W[];B[];W[bb])")
    assert game.stones().count(Colour.EMPTY) == 23
    game = played("(;SZ[5];B[cc];W[bb];AE[cc]AB[dd]C[x];C[only words])")
    assert (game.stones()[12], game.stones()[18], game.to_move) == (Colour.EMPTY, Colour.BLACK, Colour.BLACK)
    assert played("(;SZ[5];B[cc];C[only words])").num_moves == 1


def test_names_of_rules() -> None:
    assert parse_rules("Tromp-Taylor") == TROMP_TAYLOR
    assert parse_rules("japanese") == parse_rules("Korean") == NamedRules(Ko.SIMPLE, False, Scoring.TERRITORY)
    assert parse_rules("koSITUATIONALscoreAREAtaxNONEsui0") == parse_rules("AGA")
    assert parse_rules("") is parse_rules("Calvinball") is parse_rules("koSIMPLEscoreAREAtaxALLsui1") is None
    for ko in Ko:
        for suicide in (False, True):
            for scoring in Scoring:
                name = name_rules(Rules(9, 9, 0, ko, suicide, scoring))
                assert parse_rules(name) == NamedRules(ko, suicide, scoring)
