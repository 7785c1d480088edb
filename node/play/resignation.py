"""When a player gives up: `ResignRule`, of the web's games and of GTP's.

Invariant: one search decides, since nothing is known of earlier ones (docs/adr/0055-visitors-keep-their-games.md).
"""

from dataclasses import dataclass
from typing import Final

from native.game import Game
from node.play.worth import Worth


@dataclass(frozen=True, slots=True)
class ResignRule:
    """Hardly any chance (`winrate`), clearly behind, late enough, and well looked at (`visits`).

    `behind` counts sides of the board in points, `after` shares of its points in moves.
    """

    winrate: float = 0.02
    behind: float = 1.0
    after: float = 0.5
    visits: int = 32

    def is_due(self, game: Game, worth: Worth, visits: int) -> bool:
        """Whether the side to move resigns, by what a search with so many visits found for it."""
        rules = game.rules
        return (
            worth.winrate < self.winrate
            and worth.score <= -self.behind * rules.rows
            and game.num_moves >= self.after * rules.points
            and visits >= self.visits
        )


RESIGNING: Final = ResignRule()
