"""Commands that show what a search finds, in the forms of Leela Zero and KataGo.

A search cannot be looked into while it runs, and none goes on from another. So an analysis is a row of searches of the
same position, each with twice the visits of the one before, and each is told when it is done: until the next input
comes, or the next one would take longer than MOST_SEARCH_S. Input waits for the search under way.
"""

import time
from collections.abc import Iterator
from typing import Final

from node.exchange.values import vertex
from node.gtp.command import Command, Stream
from node.gtp.line import Request
from node.gtp.play_commands import REPORTED_SHARE, answer_of
from node.gtp.report_text import kata_text, lz_text
from node.gtp.session import Session
from node.gtp.wishes import Wishes, parse_wishes
from node.play.pace import MOST_VISITS
from node.play.report import Report, report

FIRST_VISITS: Final = 16
MOST_SEARCH_S: Final = 2.0
"""The longest search of an analysis with all that is told of it, unless the first one takes longer."""


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
    "gonode-best_line": best_line,
    "stop": stop,
}
