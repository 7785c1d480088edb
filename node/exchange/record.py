"""A game record: what one line of an SGF game says about a board, its stones, its moves and its players.

Points are numbers as in `native.game`: row-major from the top-left corner, the pass last. Texts are clean: no control
characters, no blanks around them, and line breaks only in comments. So every record can be written and reads back equal.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from native.rules import MAX_KOMI_HALF, MAX_SIDE, Colour
from node.exchange.errors import SgfError
from node.exchange.values import parse_result

MAX_TEXT: Final = 250_000
"""Characters of one text; so many fit in one value of a file, in UTF-8 and with escapes."""

_UNCLEAN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


def clean_comment(text: str) -> str:
    """`text` without control characters other than line breaks, and without blanks around it."""
    return _UNCLEAN.sub("", text).strip()


def clean_name(text: str) -> str:
    """`text` as one clean line."""
    return clean_comment(text.replace("\n", " "))


def _verify_text(text: str, clean: Callable[[str], str]) -> None:
    if len(text) > MAX_TEXT:
        raise SgfError(f"A text of {len(text)} characters is longer than {MAX_TEXT}.")
    if clean(text) != text:
        raise SgfError("A text has control characters, or blanks around it.")


@dataclass(frozen=True, slots=True)
class Setup:
    """Stones that are put (`black`, `white`) or taken away (`empty`), in rising order, and who moves then, if said."""

    black: tuple[int, ...] = ()
    white: tuple[int, ...] = ()
    empty: tuple[int, ...] = ()
    to_move: Colour | None = None
    comment: str = ""

    def __post_init__(self) -> None:
        for points in (self.black, self.white, self.empty):
            if any(one >= two for one, two in pairwise(points)):
                raise SgfError("Points of a setup do not rise.")
        if len({*self.black, *self.white, *self.empty}) < len(self.black) + len(self.white) + len(self.empty):
            raise SgfError("A setup gives the same point to two colours.")
        if self.to_move == Colour.EMPTY:
            raise SgfError("Nobody is to move after a setup.")
        _verify_text(self.comment, clean_comment)

    @property
    def points(self) -> tuple[int, ...]:
        """Every point that it names."""
        return self.black + self.white + self.empty


@dataclass(frozen=True, slots=True)
class Move:
    """A move or pass of a player, who need not be the one whose turn it is."""

    colour: Colour
    point: int
    comment: str = ""

    def __post_init__(self) -> None:
        if self.colour == Colour.EMPTY:
            raise SgfError("A move has no player.")
        _verify_text(self.comment, clean_comment)


@dataclass(frozen=True, slots=True)
class GameRecord:
    """One line of one game; None and "" stand for what the file does not say.

    `start` is the root's setup (it takes no stones away), `nodes` what follows. `rules` is the name in the file
    (`node.exchange.rule_names` understands it), `result` as `node.exchange.values.parse_result` writes it.
    """

    rows: int
    cols: int
    komi_half: int | None = None
    handicap: int | None = None
    rules: str = ""
    black: str = ""
    white: str = ""
    result: str = ""
    start: Setup = Setup()
    nodes: tuple[Setup | Move, ...] = ()

    def __post_init__(self) -> None:
        if not (1 <= self.rows <= MAX_SIDE and 1 <= self.cols <= MAX_SIDE):
            raise SgfError(f"A board of {self.cols} by {self.rows} is not between 1 and {MAX_SIDE} on each side.")
        if self.komi_half is not None and abs(self.komi_half) > MAX_KOMI_HALF:
            raise SgfError(f"A komi of {self.komi_half / 2:g} is out of range.")
        if self.handicap is not None and not 0 <= self.handicap <= self.points:
            raise SgfError(f"A handicap of {self.handicap} is not possible on this board.")
        for text in (self.rules, self.black, self.white, self.result):
            _verify_text(text, clean_name)
        if parse_result(self.result) != self.result:
            raise SgfError(f"The result {self.result!r} is not in its usual form, {parse_result(self.result)!r}.")
        if self.start.empty:
            raise SgfError("The first setup takes stones away.")
        for node in (self.start, *self.nodes):
            named, limit = (node.points, self.points) if isinstance(node, Setup) else ((node.point,), self.points + 1)
            if any(not 0 <= point < limit for point in named):
                raise SgfError("A point lies outside the board.")
        if any(node == Setup() for node in self.nodes):
            raise SgfError("A setup says nothing.")

    @property
    def points(self) -> int:
        """Points of the board; also the number of the pass."""
        return self.rows * self.cols

    @property
    def moves(self) -> tuple[Move, ...]:
        """The moves alone."""
        return tuple(node for node in self.nodes if isinstance(node, Move))
