"""What a search has to say of its moves, as programs that draw analyses read it: `report`, and its text as Leela Zero's
and KataGo's engines write it.

Invariants: everything is told for the side to move. The value and the line of a move are those of a search of its
position with as many visits as it had, which is the same part of the tree, and costs time of its own; moves past
MOST_MOVES, and lines past MOST_LINE, are left out.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from native.game import Game
from native.search import Ply
from node.exchange.values import vertex
from node.gtp.player import Raw, Searcher, Worth, worth_at_end, worth_of

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


# ---- as other programs write it ---------------------------------------------------------------------------------


def lz_text(found: Report, moves: Sequence[MoveReport]) -> str:
    """One line as Leela Zero's `lz-analyze`: shares of 10000."""
    return " ".join(
        f"info move {_vertex(found, each.line[0])} visits {each.visits} winrate {_share(each.worth.winrate)} "
        f"prior {_share(each.prior)} lcb {_share(each.lcb)} order {order} pv {_line(found, each)}"
        for order, each in enumerate(moves)
    )


def kata_text(
    found: Report,
    moves: Sequence[MoveReport],
    *,
    with_visits: bool = False,
    with_root: bool = False,
    ownership: Sequence[float] | None = None,
) -> str:
    """One line as KataGo's `kata-analyze`."""
    parts = []
    for order, each in enumerate(moves):
        worth = each.worth
        parts.append(
            f"info move {_vertex(found, each.line[0])} visits {each.visits} utility {_utility(worth.winrate):.6f} "
            f"winrate {worth.winrate:.6f} {_scores(worth)} prior {each.prior:.6f} lcb {each.lcb:.6f} "
            f"utilityLcb {_utility(each.lcb):.6f} order {order} pv {_line(found, each)}"
        )
        if with_visits:
            parts.append("pvVisits " + " ".join(str(count) for count in each.line_visits))
    if with_root:
        worth = found.worth
        parts.append(
            f"rootInfo currentPlayer {found.game.to_move.name[0]} visits {found.visits} utility "
            f"{_utility(worth.winrate):.6f} winrate {worth.winrate:.6f} {_scores(worth)} "
            f"rawWinrate {found.raw.worth.winrate:.6f} rawLead {found.raw.worth.score:.3f}"
        )
    if ownership is not None:
        parts.append("ownership " + " ".join(f"{each:.4f}" for each in ownership))
    return " ".join(parts)


def table_text(found: Report, moves: Sequence[MoveReport]) -> str:
    """Lines for people."""
    head = f"{found.visits} visits, win rate {100 * found.worth.winrate:.1f} %, score {found.worth.score:+.1f}"
    return "\n".join(
        [
            head,
            *(
                f"{_vertex(found, each.line[0]):>4} {each.visits:6d} visits {100 * each.worth.winrate:5.1f} % "
                f"{each.worth.score:+6.1f} prior {100 * each.prior:5.1f} % {_line(found, each)}"
                for each in moves
            ),
        ]
    )


def _vertex(found: Report, move: int) -> str:
    return vertex(move, found.game.rules.rows, found.game.rules.cols)


def _line(found: Report, move: MoveReport) -> str:
    return " ".join(_vertex(found, each) for each in move.line)


def _share(share: float) -> int:
    return round(10_000 * share)


def _utility(winrate: float) -> float:
    return 2 * winrate - 1


def _scores(worth: Worth) -> str:
    return f"scoreMean {worth.score:.3f} scoreLead {worth.score:.3f} scoreSelfplay {worth.score:.3f}"
