"""A partner's answer to a position: a move, or that it gives up. `reply`, `Reply`, `ResignRule`.

Invariant: an answer depends on the position alone, not on what was found at earlier moves, so that nothing has to be kept.
"""

from dataclasses import dataclass
from typing import Final

from native.game import Game
from node.play.partner import Partner, Thought
from node.play.position import Reached


@dataclass(frozen=True, slots=True)
class ResignRule:
    """When a partner gives up, by one search alone: hardly any chance, clearly behind, late enough, and well looked at.

    `behind` counts sides of the board in points, `after` shares of its points in moves.
    """

    winrate: float = 0.02
    behind: float = 1.0
    after: float = 0.5
    visits: int = 32

    def is_due(self, game: Game, thought: Thought) -> bool:
        """Whether the side to move resigns."""
        rules, mover = game.rules, game.to_move
        return (
            thought.winrate(mover) < self.winrate
            and thought.score(mover) <= -self.behind * rules.rows
            and game.num_moves >= self.after * rules.points
            and sum(thought.visits) + 1 >= self.visits
        )


RESIGNING: Final = ResignRule()


@dataclass(frozen=True, slots=True)
class Reply:
    """What a partner does: its `move` (None: it `resigns`), the position after it, and the search of the one before."""

    move: int | None
    reached: Reached
    thought: Thought

    @property
    def resigns(self) -> bool:
        """Whether it gives up."""
        return self.move is None


def reply(partner: Partner, reached: Reached, visits: int, seed: bytes, rule: ResignRule = RESIGNING) -> Reply:
    """The answer to a position in which the game goes on, which is played in its game; see `Partner.think` for errors."""
    thought = partner.think(reached.game, visits, seed)
    if rule.is_due(reached.game, thought):
        return Reply(None, reached, thought)
    return Reply(thought.move, reached.play(thought.move), thought)
