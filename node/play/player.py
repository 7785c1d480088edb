"""Who plays, `AnyPlayer`: a `Searcher`, or a `RandomPlayer`, whose moves are uniformly random."""

from dataclasses import dataclass

from native.game import Game
from node.matches.opponent import RandomOpponent
from node.play.searcher import Searcher


@dataclass(frozen=True, slots=True)
class RandomPlayer:
    """Random moves that fill no own eye."""

    name: str = "random"

    def choose(self, game: Game, seed: bytes) -> int:
        """The move of this position."""
        return RandomOpponent().choose(game, seed)


AnyPlayer = Searcher | RandomPlayer
