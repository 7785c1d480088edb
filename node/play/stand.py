"""A position at which any colour may move next: `Stand`; play on after the end is a new game from the same stones."""

from dataclasses import dataclass

from native.game import Game
from native.rules import Colour
from node.exchange.replay import ready


@dataclass(frozen=True, slots=True)
class Stand:
    """A position: the game that goes on, and the stones that were taken in games before it."""

    game: Game
    captured: tuple[int, int, int]

    def after(self, colour: Colour, move: int) -> "Stand":
        """The position after one more move; raises IllegalMove."""
        stand = self.turn_of(colour)
        stand.game.play(move, colour)
        return stand

    def turn_of(self, colour: Colour) -> "Stand":
        """A copy in which `colour` may move; a game that has no move yet is begun by it."""
        game = self.game.copy()
        is_begun = game.num_moves or game.to_move == colour
        begun = ready(game, colour) if is_begun else Game(game.rules, game.stones(), colour)
        if begun is game:
            return Stand(game, self.captured)
        return Stand(begun, (0, self.taken(Colour.BLACK), self.taken(Colour.WHITE)))

    def taken(self, colour: Colour) -> int:
        """Stones of `colour` that were taken off so far."""
        return self.captured[colour] + self.game.captured(colour)
