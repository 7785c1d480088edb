"""What an analysis shall tell, by the arguments of its command: `Wishes`, `parse_wishes`."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from native.rules import Colour
from node.gtp.errors import Failure
from node.gtp.session import Session
from node.gtp.values import colour_of, is_colour, move_of, shown, whole_of
from node.play.report import MOST_MOVES, MoveReport, Report

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
