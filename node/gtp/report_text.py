"""A report as Leela Zero's and KataGo's engines write it, and for people: `lz_text`, `kata_text`, `table_text`."""

from collections.abc import Sequence

from node.exchange.values import vertex
from node.play.report import MoveReport, Report
from node.play.worth import Worth


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
