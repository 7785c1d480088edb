"""Commands that have the player think: genmove and its kin; and the seed that they draw with."""

import time
from typing import Final

from native.rules import Colour
from node.exchange.values import vertex
from node.gtp.command import Command
from node.gtp.errors import Failure
from node.gtp.line import Request
from node.gtp.report_text import table_text
from node.gtp.session import Choice, Session, say
from node.gtp.values import argument, colour_of, whole_of
from node.play.report import report

REPORTED_SHARE: Final = 0.25
"""Of a move's time, for the search of one that is told of: what is told takes as many visits up to three times."""

MOST_SEED: Final = 2**63 - 1


def genmove(session: Session, request: Request) -> str:
    """`genmove COLOUR`: a vertex, `pass` or `resign`."""
    began_s, colour = time.monotonic(), _colour(request)
    choice = session.choose(colour, may_resign=True)
    session.make(colour, choice.move, began_s)
    return answer_of(choice)


def reg_genmove(session: Session, request: Request) -> str:
    """`reg_genmove COLOUR`: the move, not played."""
    return answer_of(session.choose(_colour(request)))


def genmove_debug(session: Session, request: Request) -> str:
    """As `genmove`; what was found is told on standard error."""
    began_s, colour = time.monotonic(), _colour(request)
    choice = session.choose(colour, may_resign=True, share=REPORTED_SHARE)
    if choice.ply is not None:
        found = report(session.searcher(), choice.game, choice.ply, session.seed)
        say(table_text(found, found.moves))
    session.make(colour, choice.move, began_s)
    return answer_of(choice)


def genmove_cleanup(session: Session, request: Request) -> str:
    """`kgs-genmove_cleanup COLOUR`: as genmove, but plays the best move that it tried rather than pass while stones of the
    other player are left that no pass-alive area decides. It never resigns."""
    began_s, colour = time.monotonic(), _colour(request)
    choice = session.choose(colour)
    game, move = choice.game, choice.move
    if move == game.pass_move and choice.ply is not None:
        alive, stones = game.pass_alive(), game.stones()
        if any(stone == colour.other and alive[point] == Colour.EMPTY for point, stone in enumerate(stones)):
            visits = choice.ply.visits
            tried = [point for point in range(game.pass_move) if visits[point] and alive[point] == Colour.EMPTY]
            move = max(tried, key=lambda point: (visits[point], -point), default=move)
    session.make(colour, move, began_s)
    return answer_of(Choice(move, game, choice.ply))


def answer_of(choice: Choice) -> str:
    """How a choice is told."""
    rules = choice.game.rules
    return "resign" if choice.move is None else vertex(choice.move, rules.rows, rules.cols)


def _colour(request: Request) -> Colour:
    return colour_of(argument(request.arguments, 0, "a colour"))


# ---- seeds ------------------------------------------------------------------------------------------------------


def set_random_seed(session: Session, request: Request) -> str:
    """`set_random_seed N`: this game and those after it draw with it, so that they can be repeated."""
    number = whole_of(argument(request.arguments, 0, "the seed"), "A seed")
    if not 0 <= number <= MOST_SEED:
        raise Failure(f"A seed is from 0 to {MOST_SEED}.")
    session.seed_number = number
    session.draw_seed()
    return ""


def get_random_seed(session: Session, request: Request) -> str:
    """The seed that was set; -1 when every game has its own."""
    return str(-1 if session.seed_number is None else session.seed_number)


COMMANDS: Final[dict[str, Command]] = {
    "genmove": genmove,
    "reg_genmove": reg_genmove,
    "genmove_debug": genmove_debug,
    "kgs-genmove_cleanup": genmove_cleanup,
    "set_random_seed": set_random_seed,
    "get_random_seed": get_random_seed,
}
