"""A position at which any colour may move next: `Stand`; play on after the end is a new game from the same stones."""

from dataclasses import dataclass

from native.game import Game
from native.rules import Colour


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
        """A copy in which `colour` may move."""
        game = self.game
        if game.end or (not game.num_moves and game.to_move != colour):
            taken = (0, self.taken(Colour.BLACK), self.taken(Colour.WHITE))
            return Stand(Game(game.rules, game.stones(), colour), taken)
        game = game.copy()
        if game.to_move != colour:
            game.play(game.pass_move)
        return Stand(game, self.captured).turn_of(colour) if game.end else Stand(game, self.captured)

    def taken(self, colour: Colour) -> int:
        """Stones of `colour` that were taken off so far."""
        return self.captured[colour] + self.game.captured(colour)
