"""Commands that show what a search finds, in the forms of Leela Zero and KataGo.

A search cannot be looked into while it runs, and none goes on from another. So an analysis is a row of searches of the
same position, each with twice the visits of the one before, and each is told when it is done: until the next input
comes, or the next one would take longer than MOST_SEARCH_S. Input waits for the search under way.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from native.game import Game
from native.rules import Colour, End
from node.exchange.values import vertex
from node.gtp.command import Command, Stream
from node.gtp.errors import Failure
from node.gtp.line import Request
from node.gtp.pace import MOST_VISITS
from node.gtp.play_commands import REPORTED_SHARE, answer_of
from node.gtp.report_text import kata_text, lz_text
from node.gtp.session import Session
from node.gtp.values import argument, colour_of, is_colour, move_of, shown, whole_of
from node.play.report import MOST_MOVES, MoveReport, Report, report
from node.play.searcher import Raw, Searcher
from node.play.symmetry import SYMMETRIES

FIRST_VISITS: Final = 16
MOST_SEARCH_S: Final = 2.0
"""The longest search of an analysis with all that is told of it, unless the first one takes longer."""

_FLAGS: Final = (
    "rootInfo",
    "ownership",
    "pvVisits",
    "ownershipStdev",
    "movesOwnership",
    "movesOwnershipStdev",
    "pvEdgeVisits",
    "noResultValue",
)


@dataclass(slots=True)
class Wishes:
    """What an analysis shall tell: `hidden` moves are left out, and so are those that are not `shown` where any are."""

    colour: Colour
    interval_s: float = 0.0
    most: int = MOST_MOVES
    flags: set[str] = field(default_factory=set)
    hidden: set[int] = field(default_factory=set)
    only: set[int] = field(default_factory=set)

    def moves(self, found: Report) -> list[MoveReport]:
        """The moves to tell of."""
        return [
            each
            for each in found.moves
            if each.line[0] not in self.hidden and (not self.only or each.line[0] in self.only)
        ][: self.most]


def parse_wishes(session: Session, arguments: Sequence[str]) -> Wishes:
    """`[COLOUR] [INTERVAL] KEY VALUE...`; intervals are in hundredths of a second."""
    left = list(arguments)
    wishes = Wishes(colour_of(left.pop(0)) if left and is_colour(left[0]) else session.to_move())
    if left and left[0].isdecimal():
        left.insert(0, "interval")
    while left:
        key = left.pop(0)
        if key in ("avoid", "allow"):
            _parse_moves(session, wishes, key, [left.pop(0) if left else "" for _ in range(3)])
            continue
        if not left:
            raise Failure(f"The value of {shown(key)} is missing.")
        value = left.pop(0)
        if key == "interval":
            wishes.interval_s = _positive(value, "An interval") / 100
        elif key == "minmoves":
            _positive(value, "A number of moves")
        elif key == "maxmoves":
            wishes.most = _positive(value, "A number of moves")
        elif key in _FLAGS:
            if value.lower() == "true":
                wishes.flags.add(key)
        else:
            raise Failure(f"An analysis has no {shown(key)}.")
    return wishes


def _positive(text: str, what: str) -> int:
    number = whole_of(text, what)
    if number < 0:
        raise Failure(f"{what} is not below 0.")
    return number


def _parse_moves(session: Session, wishes: Wishes, key: str, values: Sequence[str]) -> None:
    """`avoid|allow COLOUR VERTEX,VERTEX DEPTH`: here they say which moves are told."""
    rules = session.table.rules
    colour, texts = colour_of(values[0]), values[1].split(",")
    moves = {move_of(text, rules.rows, rules.cols) for text in texts}
    _positive(values[2], "A depth")
    if colour == wishes.colour:
        (wishes.hidden if key == "avoid" else wishes.only).update(moves)


# ---- streams ----------------------------------------------------------------------------------------------------


def lz_analyze(session: Session, request: Request) -> Stream:
    """`lz-analyze [COLOUR] [INTERVAL] KEY VALUE...`."""
    return _analyze(session, request, is_kata=False)


def kata_analyze(session: Session, request: Request) -> Stream:
    """`kata-analyze [COLOUR] [INTERVAL] KEY VALUE...`."""
    return _analyze(session, request, is_kata=True)


def lz_genmove_analyze(session: Session, request: Request) -> Stream:
    """`lz-genmove_analyze [COLOUR] [INTERVAL]`: what the search of a move found, then `play VERTEX`."""
    return _genmove(session, request, is_kata=False)


def kata_genmove_analyze(session: Session, request: Request) -> Stream:
    """`kata-genmove_analyze [COLOUR] [INTERVAL]`."""
    return _genmove(session, request, is_kata=True)


def stop(session: Session, request: Request) -> str:
    """Ends an analysis, as any input does."""
    return ""


def _analyze(session: Session, request: Request, *, is_kata: bool) -> Stream:
    session.searcher()
    wishes = parse_wishes(session, request.arguments)
    return Stream(_reports(session, wishes, is_kata), until_input=True)


def _reports(session: Session, wishes: Wishes, is_kata: bool) -> Iterator[str]:
    searcher, seed = session.searcher(), session.seed
    game = session.table.stand.turn_of(wishes.colour).game
    visits, told_s, text = FIRST_VISITS, 0.0, ""
    while True:
        began_s = time.monotonic()
        found = report(searcher, game, session.search(game, visits, varies=False), seed, wishes.most)
        took_s = time.monotonic() - began_s
        text = _text(found, wishes, is_kata)
        is_last = visits == MOST_VISITS or 2 * took_s > MOST_SEARCH_S
        if text and (is_last or not told_s or time.monotonic() - told_s >= wishes.interval_s):
            told_s = time.monotonic()
            yield text
        else:
            yield ""
        if is_last:
            return
        visits = min(MOST_VISITS, 2 * visits)


def _genmove(session: Session, request: Request, *, is_kata: bool) -> Stream:
    session.searcher()
    wishes = parse_wishes(session, request.arguments)
    return Stream(_chosen(session, wishes, is_kata), until_input=False)


def _chosen(session: Session, wishes: Wishes, is_kata: bool) -> Iterator[str]:
    began_s, colour = time.monotonic(), wishes.colour
    choice = session.choose(colour, may_resign=True, share=REPORTED_SHARE)
    if choice.ply is not None:
        found = report(session.searcher(), choice.game, choice.ply, session.seed, wishes.most)
        yield _text(found, wishes, is_kata)
    session.make(colour, choice.move, began_s)
    yield f"play {answer_of(choice)}"


def _text(found: Report, wishes: Wishes, is_kata: bool) -> str:
    moves = wishes.moves(found)
    if not is_kata:
        return lz_text(found, moves)
    owned = found.raw.ownership or (0.0,) * found.game.rules.points
    return kata_text(
        found,
        moves,
        with_visits="pvVisits" in wishes.flags,
        with_root="rootInfo" in wishes.flags,
        ownership=owned if "ownership" in wishes.flags else None,
    )


# ---- the network alone ------------------------------------------------------------------------------------------


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


def best_line(session: Session, request: Request) -> str:
    """`gonode-best_line`: how play would go on, as GoGui shows variations."""
    searcher = session.searcher()
    game = session.table.stand.turn_of(session.to_move()).game
    ply = session.search(game, session.limits.visits or session.limits.usual, varies=False)
    (best,) = report(searcher, game, ply, session.seed, 1).moves
    rules, colour, said = game.rules, game.to_move, []
    for move in best.line:
        said.append(f"{colour.name[0]} {vertex(move, rules.rows, rules.cols)}")
        colour = colour.other
    return " ".join(said)


COMMANDS: Final[dict[str, Command]] = {
    "kata-analyze": kata_analyze,
    "kata-genmove_analyze": kata_genmove_analyze,
    "lz-analyze": lz_analyze,
    "lz-genmove_analyze": lz_genmove_analyze,
    "kata-raw-nn": raw_nn,
    "stop": stop,
    "gonode-policy": policy,
    "gonode-ownership": ownership,
    "gonode-best_line": best_line,
}
