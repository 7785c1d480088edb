"""A report as an answer of KataGo's analysis engine: `answer_table`.

Everything is told for the perspective that was asked for. Fields that a search here does not know (standard deviations,
weights, errors, times left) are left out, never made up; docs/analysis.md lists them.
"""

from typing import Any

from native.game import Game
from native.rules import Colour
from node.analysis.line import Table
from node.analysis.position_hash import position_hashes
from node.analysis.query import Wishes
from node.analysis.settings import SIDE_TO_MOVE, Settings
from node.analysis.thought import SEED
from node.exchange.values import vertex
from node.play.report import MoveReport, Report
from node.play.searcher import Searcher
from node.play.worth import Worth

ILLEGAL = -1
"""In a policy, of a move that is not legal."""
DIGITS = 8


def answer_table(searcher: Searcher, found: Report, wishes: Wishes, settings: Settings) -> Table:
    """`moveInfos` and `rootInfo`, and what else was wished for."""
    told = _Told(found.game, settings.perspective)
    infos = []
    for order, move in enumerate(found.moves):
        info = _move_info(told, move, order, settings.line)
        if wishes.line_visits:
            info["pvVisits"] = info["pvEdgeVisits"] = list(move.line_visits[: settings.line + 1])
        if wishes.moves_ownership:
            info.update(_owned_after(searcher, told, move.line[0]))
        infos.append(info)
    table: Table = {"moveInfos": infos, "rootInfo": _root_info(told, found)}
    if wishes.ownership and found.raw.ownership:
        table["ownership"] = told.ownership(found.raw.ownership)
    if wishes.policy:
        legal = found.game.legal()
        shares = zip(found.raw.policy, legal, strict=True)
        table["policy"] = [_rounded(share) if is_legal else ILLEGAL for share, is_legal in shares]
    return table


class _Told:
    """Numbers for the side to move of a game, as the perspective has them."""

    def __init__(self, game: Game, perspective: Colour) -> None:
        self.game = game
        self._is_turned = perspective not in (SIDE_TO_MOVE, game.to_move)

    def worth(self, worth: Worth) -> Worth:
        return worth.turned() if self._is_turned else worth

    def share(self, share: float) -> float:
        return 1 - share if self._is_turned else share

    def ownership(self, owned: tuple[float, ...]) -> list[float]:
        sign = -1 if self._is_turned else 1
        return [_rounded(sign * each) for each in owned]

    def vertex(self, move: int) -> str:
        return vertex(move, self.game.rules.rows, self.game.rules.cols)


def _move_info(told: _Told, move: MoveReport, order: int, line: int) -> Table:
    lcb = told.share(move.lcb)
    return {
        "move": told.vertex(move.line[0]),
        "visits": move.visits,
        "edgeVisits": move.visits,
        "prior": _rounded(move.prior),
        "lcb": _rounded(lcb),
        "utilityLcb": _utility(lcb),
        "order": order,
        "pv": [told.vertex(each) for each in move.line[: line + 1]],
        **_worth_info(told.worth(move.worth)),
    }


def _root_info(told: _Told, found: Report) -> Table:
    raw = told.worth(found.raw.worth)
    this, symmetric = position_hashes(found.game)
    return {
        "currentPlayer": found.game.to_move.name[0],
        "visits": found.visits,
        "rawWinrate": _rounded(raw.winrate),
        "rawLead": _rounded(raw.score),
        "rawScoreSelfplay": _rounded(raw.score),
        "thisHash": this,
        "symHash": symmetric,
        **_worth_info(told.worth(found.worth)),
    }


def _worth_info(worth: Worth) -> Table:
    score = _rounded(worth.score)
    return {
        "winrate": _rounded(worth.winrate),
        "utility": _utility(worth.winrate),
        "scoreLead": score,
        "scoreMean": score,
        "scoreSelfplay": score,
    }


def _owned_after(searcher: Searcher, told: _Told, move: int) -> dict[str, Any]:
    """Whom the points belong to after a move, by the network alone; nothing where the game is over or no network says."""
    game = told.game.copy()
    game.play(move)
    owned = () if game.end else searcher.evaluate(game, SEED).ownership
    return {"ownership": told.ownership(tuple(-each for each in owned))} if owned else {}


def _utility(winrate: float) -> float:
    return _rounded(2 * winrate - 1)


def _rounded(number: float) -> float:
    return round(number, DIGITS)
