"""A partner's answer to a position: a move, or that it gives up. `reply`, `Reply`.

Invariant: an answer depends on the position alone, not on what was found at earlier moves, so that nothing has to be kept.
"""

from dataclasses import dataclass

from node.play.partner import Partner, Thought
from node.play.position import Reached
from node.play.resignation import RESIGNING, ResignRule


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
    if rule.is_due(reached.game, thought.worth(reached.game.to_move), sum(thought.visits) + 1):
        return Reply(None, reached, thought)
    return Reply(thought.move, reached.play(thought.move), thought)
