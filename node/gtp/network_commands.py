"""Commands that show what the network says of a position without a search: `kata-raw-nn`, and GoGui's boards."""

from collections.abc import Sequence
from typing import Final

from native.game import Game
from native.rules import Colour, End
from node.gtp.command import Command
from node.gtp.errors import Failure
from node.gtp.line import Request
from node.gtp.session import Session
from node.gtp.values import argument, shown
from node.play.searcher import Raw, Searcher
from node.play.symmetry import SYMMETRIES


def raw_nn(session: Session, request: Request) -> str:
    """`kata-raw-nn SYMMETRY`: what the network says without a search, by one symmetry (0 to 7) or `all`."""
    text = argument(request.arguments, 0, "a symmetry from 0 to 7, or all")
    searcher, game = session.searcher(), session.table.game
    if searcher.network is None:
        raise Failure("There is no network: every move counts the same.")
    if game.end != End.NONE:
        game = session.table.stand.turn_of(game.to_move).game
    if text.lower() != "all" and text not in [str(each) for each in SYMMETRIES]:
        raise Failure(f"A symmetry is a number from 0 to 7, or all, not {shown(text)}.")
    asked = SYMMETRIES if text.lower() == "all" else [int(text)]
    return "\n".join(_raw_text(searcher.evaluate_by(game, each), each, session) for each in asked)


def _raw_text(raw: Raw, symmetry: int, session: Session) -> str:
    game = session.table.game
    cols, is_white = game.rules.cols, game.to_move == Colour.WHITE
    white = raw.worth if is_white else raw.worth.turned()
    sign = 1 if is_white else -1
    shares = [f"{share:.6f}" if share else "NAN" for share in raw.policy]
    owned = [f"{sign * each:.7f}" for each in raw.ownership]
    return "\n".join(
        [
            f"symmetry {symmetry}",
            f"whiteWin {white.winrate:.6f}",
            f"whiteLoss {1 - white.winrate:.6f}",
            "noResult 0.000000",
            f"whiteLead {white.score:.3f}",
            "policy",
            *_rows(shares[:-1], cols),
            f"policyPass {shares[-1]}",
            "whiteOwnership",
            *_rows(owned, cols),
        ]
    )


def _rows(values: Sequence[str], cols: int) -> list[str]:
    return [" ".join(values[at : at + cols]) for at in range(0, len(values), cols)]


def policy(session: Session, request: Request) -> str:
    """`gonode-policy`: a share a point, for GoGui's boards; the network alone."""
    game, searcher = _evaluated(session)
    raw = searcher.evaluate(game, session.seed)
    return "\n".join(_rows([f"{share:.3f}" for share in raw.policy[:-1]], game.rules.cols))


def ownership(session: Session, request: Request) -> str:
    """`gonode-ownership`: from -1 (White's) to 1 (Black's) a point, for GoGui's boards; the network alone."""
    game, searcher = _evaluated(session)
    sign = 1 if game.to_move == Colour.BLACK else -1
    owned = searcher.evaluate(game, session.seed).ownership or (0.0,) * game.rules.points
    return "\n".join(_rows([f"{sign * each:.3f}" for each in owned], game.rules.cols))


def _evaluated(session: Session) -> tuple[Game, Searcher]:
    searcher = session.searcher()
    return session.table.stand.turn_of(session.to_move()).game, searcher


COMMANDS: Final[dict[str, Command]] = {
    "kata-raw-nn": raw_nn,
    "gonode-policy": policy,
    "gonode-ownership": ownership,
}
