"""Packed positions find their games again: whole ones, thinned ones, short ones, and more than are read at once."""

from random import Random

import numpy as np
import pytest

from native.game import Game
from native.rules import Colour, Rules
from node.exchange.leela_zero.games import game_positions
from node.exchange.leela_zero.position import TrainingPosition
from trainer.leela_zero import games
from trainer.leela_zero.games import games_of
from trainer.leela_zero.packed import RECORD


def drawn_game(seed: int) -> list[TrainingPosition]:
    """Thirty to sixty legal moves, captures and passes among them, a position each."""
    draw, game = Random(seed), Game(Rules(19, 19, 15))
    corner = [point for point in range(361) if point % 19 < 6 and point < 114]
    moves: list[int] = []
    for _ in range(draw.randint(30, 60)):
        legal = game.legal()
        moves.append(draw.choice([point for point in corner if legal[point]] + [361]))
        game.play(moves[-1])
        if game.end:
            break
    return game_positions(Game(Rules(19, 19, 15)), moves, [{move: 1.0} for move in moves], Colour.WHITE)


def numbers(positions: list[TrainingPosition]) -> list[int]:
    data = b"".join(position.pack() for position in positions)
    return [int(number) for number in games_of(np.frombuffer(data, RECORD))]


def test_each_position_has_its_games_number(monkeypatch: pytest.MonkeyPatch) -> None:
    played = [drawn_game(seed) for seed in range(12)]
    wanted = [number for number, game in enumerate(played) for _ in game]
    assert numbers([position for game in played for position in game]) == wanted
    monkeypatch.setattr(games, "_AT_ONCE", 5)
    assert numbers([position for game in played for position in game]) == wanted


@pytest.mark.parametrize("step", range(1, 8))
def test_left_out_positions_part_nothing(step: int) -> None:
    played = [drawn_game(seed)[3::step] for seed in range(6)]
    assert numbers([position for game in played for position in game]) == [
        number for number, game in enumerate(played) for _ in game
    ]


def test_what_no_board_joins_is_apart() -> None:
    game = drawn_game(1)
    assert numbers([game[20], game[28]]) == [0, 1]
    assert numbers([game[20], game[19]]) == [0, 1]
    assert numbers([game[20], game[20]]) == [0, 1]
    assert numbers([game[0], game[0], game[1], game[2]]) == [0, 1, 1, 1]
    assert numbers([game[0], drawn_game(2)[5]]) == [0, 1]
    assert numbers([game[7]]) == [0]


def test_passes_and_handicap_join() -> None:
    rules = Rules(19, 19, 15)
    passes = game_positions(Game(rules), [60, 361, 70, 361, 80], [{361: 1.0}] * 5, Colour.WHITE)
    assert numbers([*passes, *passes]) == [0] * 5 + [1] * 5
