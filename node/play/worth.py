"""How a position stands for one of the players: `Worth`, of a search or of the end of a game."""

from dataclasses import dataclass

from native.game import Game
from native.rules import Colour
from native.search import Ply
from protocol.game_block import SCORE_ONE, VALUE_ONE


@dataclass(frozen=True, slots=True)
class Worth:
    """For one of the players: chance to win, from 0 to 1, and the lead in points with komi."""

    winrate: float
    score: float

    def turned(self) -> "Worth":
        """For the other player."""
        return Worth(1 - self.winrate, -self.score)


def worth_of(ply: Ply) -> Worth:
    """What a search found, for its side to move."""
    return Worth((1 + ply.value / VALUE_ONE) / 2, ply.score / SCORE_ONE)


def worth_at_end(game: Game) -> Worth:
    """How a game that is over ended, for the side that would move."""
    points = game.score_half() / 2 * (1 if game.to_move == Colour.BLACK else -1)
    return Worth((1 + (points > 0) - (points < 0)) / 2, points)
