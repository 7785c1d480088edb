"""Commands about the board and its moves: sizes, komi, handicap, play, undo, positions of GoGui's and KataGo's."""

from collections.abc import Sequence
from typing import Final

from native.handicap import fixed_points, free_points
from native.rules import Colour, Rules
from node.exchange.values import COLUMNS, vertex
from node.gtp.command import Command
from node.gtp.errors import ILLEGAL, Failure
from node.gtp.line import Request
from node.gtp.session import Session
from node.gtp.table import Start
from node.gtp.values import argument, colour_of, komi_half_of, komi_text, move_of, point_of, whole_of


def boardsize(session: Session, request: Request) -> str:
    """`boardsize N`, or `boardsize COLUMNS ROWS` as `rectangular_boardsize`."""
    sides = [whole_of(text, "A board's size") for text in request.arguments[:2]]
    if not sides:
        argument(request.arguments, 0, "the board's size")
    _begin(session, session.sized(sides[-1], sides[0]))
    return ""


def clear_board(session: Session, request: Request) -> str:
    """An empty board; komi, rules and time settings stay."""
    _begin(session, session.table.rules)
    return ""


def komi(session: Session, request: Request) -> str:
    """`komi K`."""
    session.table.change_komi(komi_half_of(argument(request.arguments, 0, "the komi")))
    return ""


def get_komi(session: Session, request: Request) -> str:
    """The komi."""
    return komi_text(session.table.rules.komi_half)


def fixed_handicap(session: Session, request: Request) -> str:
    """`fixed_handicap N`: stones on the handicap points."""
    return _handicap(session, fixed_points(session.table.rules, _stones(request)))


def place_free_handicap(session: Session, request: Request) -> str:
    """`place_free_handicap N`: stones where the player likes them."""
    return _handicap(session, free_points(session.table.rules, _stones(request)))


def set_free_handicap(session: Session, request: Request) -> str:
    """`set_free_handicap VERTEX VERTEX...`."""
    argument(request.arguments, 0, "the points of the stones")
    rules = session.table.rules
    _handicap(session, [point_of(text, rules.rows, rules.cols) for text in request.arguments])
    return ""


def play(session: Session, request: Request) -> str:
    """`play COLOUR VERTEX`."""
    colour, move = _move(session, request.arguments)
    session.table.play(colour, move)
    return ""


def undo(session: Session, request: Request) -> str:
    """Takes one move back."""
    session.table.undo()
    return ""


def play_sequence(session: Session, request: Request) -> str:
    """`gogui-play_sequence COLOUR VERTEX COLOUR VERTEX...`; all of them or none."""
    table = session.table
    pairs = [_move(session, request.arguments[at : at + 2]) for at in range(0, len(request.arguments), 2)]
    try:
        table.put(table.rules, table.start, [*table.moves, *pairs])
    except Failure:
        raise Failure(ILLEGAL) from None
    return ""


def set_position(session: Session, request: Request) -> str:
    """`set_position COLOUR VERTEX COLOUR VERTEX...` (KataGo's), `gogui-setup` (GoGui's): stones that are put."""
    rules = session.table.rules
    stones = bytearray(rules.points)
    for at in range(0, len(request.arguments), 2):
        colour = colour_of(request.arguments[at])
        text = argument(request.arguments, at + 1, "the point of a stone")
        point = point_of(text, rules.rows, rules.cols)
        if stones[point]:
            raise Failure("A point cannot get two stones.")
        stones[point] = colour
    session.table.put(rules, Start(bytes(stones)))
    session.draw_seed()
    session.clock.restart()
    return ""


def set_player(session: Session, request: Request) -> str:
    """`gogui-setup_player COLOUR`: who moves first from the position that was put."""
    table = session.table
    if table.moves:
        raise Failure("Who begins is said before the first move.")
    start = table.start
    table.put(
        table.rules,
        Start(start.stones, colour_of(argument(request.arguments, 0, "a colour")), start.captured, start.handicap),
    )
    return ""


def showboard(session: Session, request: Request) -> str:
    """The board in letters."""
    game = session.table.game
    rules, stones = game.rules, game.stones()
    letters = "   " + " ".join(COLUMNS[: rules.cols])
    rows = []
    for row in range(rules.rows):
        signs = " ".join(".XO"[colour] for colour in stones[row * rules.cols : (row + 1) * rules.cols])
        number = rules.rows - row
        rows.append(f"{number:2d} {signs} {number}")
    stand = session.table.stand
    last = session.table.moves[-1:]
    said = [f"{colour.name.capitalize()} played {vertex(move, rules.rows, rules.cols)}." for colour, move in last]
    said.append(f"{game.to_move.name.capitalize()} to move, komi {komi_text(rules.komi_half)}.")
    said.append(f"Taken: {stand.taken(Colour.BLACK)} of Black's, {stand.taken(Colour.WHITE)} of White's.")
    return "\n".join(["", letters, *rows, letters, " ".join(said)])


def _begin(session: Session, rules: Rules) -> None:
    session.table.clear(rules)
    session.draw_seed()
    session.clock.restart()


def _stones(request: Request) -> int:
    return whole_of(argument(request.arguments, 0, "the number of stones"), "A number of stones")


def _handicap(session: Session, points: Sequence[int]) -> str:
    session.table.place_handicap(points)
    rules = session.table.rules
    return " ".join(vertex(point, rules.rows, rules.cols) for point in points)


def _move(session: Session, arguments: Sequence[str]) -> tuple[Colour, int]:
    rules = session.table.rules
    colour = colour_of(argument(arguments, 0, "a colour"))
    return colour, move_of(argument(arguments, 1, "a vertex or pass"), rules.rows, rules.cols)


COMMANDS: Final[dict[str, Command]] = {
    "boardsize": boardsize,
    "rectangular_boardsize": boardsize,
    "clear_board": clear_board,
    "komi": komi,
    "get_komi": get_komi,
    "fixed_handicap": fixed_handicap,
    "place_free_handicap": place_free_handicap,
    "set_free_handicap": set_free_handicap,
    "play": play,
    "undo": undo,
    "gogui-play_sequence": play_sequence,
    "gogui-setup": set_position,
    "gogui-setup_player": set_player,
    "set_position": set_position,
    "showboard": showboard,
}
