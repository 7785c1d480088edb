"""What a search has to say of its moves: `report`, `Report`, `MoveReport`.

Invariants: everything is told for the side to move. The value and the line of a move are those of a search of its
position with as many visits as it had, which is the same part of the tree, and costs time of its own; moves past
MOST_MOVES, and lines past MOST_LINE, are left out.
"""

import math
from dataclasses import dataclass
from typing import Final

from native.game import Game
from native.search import Ply
from node.play.searcher import Raw, Searcher
from node.play.worth import Worth, worth_at_end, worth_of

MOST_MOVES: Final = 24
MOST_LINE: Final = 12
LCB_DEVIATIONS: Final = 1.96


@dataclass(frozen=True, slots=True)
class MoveReport:
    """One move: its visits, what it is worth to who makes it, its share in the network's policy, how play may go on."""

    visits: int
    worth: Worth
    prior: float
    line: tuple[int, ...]
    line_visits: tuple[int, ...]

    @property
    def lcb(self) -> float:
        """Below its win rate by about two deviations of a coin tossed so often."""
        spread = math.sqrt(self.worth.winrate * (1 - self.worth.winrate) / self.visits)
        return max(0.0, self.worth.winrate - LCB_DEVIATIONS * spread)


@dataclass(frozen=True, slots=True)
class Report:
    """A search: its position, its visits, what the position is worth, and its moves, the one it would play first."""

    game: Game
    visits: int
    worth: Worth
    raw: Raw
    moves: tuple[MoveReport, ...]


def report(searcher: Searcher, game: Game, ply: Ply, seed: bytes, most: int = MOST_MOVES) -> Report:
    """What is to be said of a search of `game` with `seed` that gave `ply`."""
    raw = searcher.evaluate(game, seed)
    order = sorted(
        (move for move, visits in enumerate(ply.visits) if visits),
        key=lambda move: (-(move == ply.move), -ply.visits[move], -raw.policy[move], move),
    )
    spare = sum(ply.visits)
    moves = []
    for move in order[: min(most, MOST_MOVES)]:
        found, used = _move(searcher, game, ply, move, raw.policy[move], seed, spare)
        spare -= used
        moves.append(found)
    return Report(game, sum(ply.visits) + 1, worth_of(ply), raw, tuple(moves))


def _move(
    searcher: Searcher, game: Game, ply: Ply, move: int, prior: float, seed: bytes, spare: int
) -> tuple[MoveReport, int]:
    """The report of one move, and how many visits its line took, `spare` at most: the first search is not one of them."""
    game, visits = game.copy(), ply.visits[move]
    game.play(move)
    line, counts = [move], [visits]
    if game.end:
        return MoveReport(visits, worth_at_end(game).turned(), prior, tuple(line), tuple(counts)), 0
    if visits == 1:
        worth = searcher.evaluate(game, seed).worth.turned()
        return MoveReport(visits, worth, prior, tuple(line), tuple(counts)), 0
    below = searcher.search_below(game, visits, seed)
    worth, used = worth_of(below).turned(), 0
    while True:
        best = max(range(len(below.visits)), key=lambda each: (below.visits[each], -each))
        count = below.visits[best]
        line.append(best)
        counts.append(count)
        game.play(best)
        if game.end or count < 2 or len(line) == MOST_LINE or used + count > spare:
            return MoveReport(visits, worth, prior, tuple(line), tuple(counts)), used
        below = searcher.search_below(game, count, seed)
        used += count
