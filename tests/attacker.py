"""Games on 19x19 of a simple teacher, for networks of Leela Zero to learn from: `taught_game`.

It plays on a liberty of the weakest chain of its opponent, which beats random moves and is seen in the stones. Both players
play so at times and at random else, by skills of their own, so that either may win.
"""

from collections.abc import Iterator
from random import Random

from native.game import Game
from native.rules import Colour, Ko, Rules
from node.exchange.leela_zero.games import game_positions
from node.exchange.leela_zero.position import POINTS, SIDE, TrainingPosition

RULES = Rules(SIDE, SIDE, 15, Ko.POSITIONAL, False)
MOST_MOVES = 400
_SKILLS = (0.1, 0.5, 0.9)


def taught_game(seed: int) -> list[TrainingPosition]:
    """A position for each move of the teacher in a game; who won is by all stones on the board."""
    draw, game = Random(seed), Game(RULES)
    skills = {colour: draw.choice(_SKILLS) for colour in (Colour.BLACK, Colour.WHITE)}
    chosen: list[int] = []
    policies: list[dict[int, float] | None] = []
    while not game.end and len(chosen) < MOST_MOVES:
        is_taught = draw.random() < skills[game.to_move]
        move = _attack(game, draw) if is_taught else draw.choice(_moves(game) or [game.pass_move])
        chosen.append(move)
        policies.append({move: 1.0} if is_taught else None)
        game.play(move)
    winner = Colour.BLACK if game.score_half() > 0 else Colour.WHITE
    return game_positions(Game(RULES), chosen, policies, winner)


def _attack(game: Game, draw: Random) -> int:
    """On the chain with the fewest liberties, of these the largest; at random where there is none, or the pass."""
    moves = _moves(game)
    targets = [
        (len(liberties), -len(chain), draw.random(), playable)
        for chain, liberties in _chains(game.stones(), game.to_move.other)
        if (playable := sorted(liberties.intersection(moves)))
    ]
    return draw.choice(min(targets)[3] if targets else moves or [game.pass_move])


def _moves(game: Game) -> list[int]:
    """Legal moves that fill no own eye."""
    stones, own = game.stones(), game.to_move
    legal = game.legal()
    return [point for point in range(POINTS) if legal[point] and any(stones[near] != own for near in _beside(point))]


def _chains(stones: bytes, colour: Colour) -> Iterator[tuple[set[int], set[int]]]:
    """The points and the liberties of each chain of a colour."""
    seen: set[int] = set()
    for start in range(POINTS):
        if stones[start] == colour and start not in seen:
            chain, liberties, reached = {start}, set[int](), [start]
            while reached:
                for near in _beside(reached.pop()):
                    if stones[near] == Colour.EMPTY:
                        liberties.add(near)
                    elif stones[near] == colour and near not in chain:
                        chain.add(near)
                        reached.append(near)
            seen |= chain
            yield chain, liberties


def _beside(point: int) -> Iterator[int]:
    row, col = divmod(point, SIDE)
    for r, c in ((row - 1, col), (row + 1, col), (row, col - 1), (row, col + 1)):
        if 0 <= r < SIDE and 0 <= c < SIDE:
            yield r * SIDE + c
