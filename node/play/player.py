"""Who plays: a `Searcher`, or `Dice`, uniformly random moves."""

from dataclasses import dataclass

from native.game import Game
from node.matches.opponent import RandomOpponent
from node.play.searcher import Searcher


@dataclass(frozen=True, slots=True)
class Dice:
    """Random moves that fill no own eye."""

    name: str = "random"

    def choose(self, game: Game, seed: bytes) -> int:
        """The move of this position."""
        return RandomOpponent().choose(game, seed)


Anybody = Searcher | Dice
