"""From moves to a position, and from its end to a result: `reach`, `Reached`, `Outcome`.

Spec: docs/spec/rules.md. Points are numbers as in `native.game`: row-major from the top-left corner, the pass last; Black
begins and players take turns. Invariant: a position that was reached has legal moves only.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from native.errors import IllegalMove, Reason
from native.game import Game
from native.rules import Colour, End, Rules
from node.exchange.values import vertex, write_result
from node.play.errors import IllegalGame

SIGN: Final = {Colour.EMPTY: 0, Colour.BLACK: 1, Colour.WHITE: -1}
"""A colour as a number, Black's 1."""

_WHY: Final = {
    Reason.OCCUPIED: "there is a stone already",
    Reason.KO: "it would take back at once (ko)",
    Reason.SUPERKO: "the board would be as it was before (ko)",
    Reason.SUICIDE: "the stone would have no liberty",
    Reason.TURN: "it is the other player's turn",
    Reason.FINISHED: "the game is over",
}


@dataclass(frozen=True, slots=True)
class Reached:
    """A game at some move, and the points whose stones the last move took off, its own too where it took its own."""

    game: Game
    captured: tuple[int, ...]

    def play(self, move: int) -> "Reached":
        """The position after one more move, in the same game; raises IllegalGame."""
        return _played(self.game, move)

    @property
    def stones(self) -> tuple[int, ...]:
        """A number a point, as SIGN has them."""
        return signs(self.game.stones())


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a game that is over: `end` is passes, settled or cap, `score` Black's points minus White's with komi.

    `owner`: whom each point counts for, as SIGN has them; `dead`: stones that count for the other player.
    """

    end: str
    score: float
    owner: tuple[int, ...]
    dead: tuple[int, ...]

    @property
    def result(self) -> str:
        """As game records have it: `B+3.5`, or `0` for a draw."""
        return write_result(round(2 * self.score))


def reach(rules: Rules, moves: Sequence[int]) -> Reached:
    """The position after `moves` from the empty board; raises IllegalGame."""
    reached = Reached(Game(rules), ())
    for move in moves[:-1]:
        _play(reached.game, move)
    return reached.play(moves[-1]) if moves else reached


def outcome(game: Game) -> Outcome | None:
    """How the game ended by its rules, None while it goes on."""
    if game.end == End.NONE:
        return None
    owner = game.owner()
    return Outcome(game.end.name.lower(), game.score_half() / 2, signs(owner), dead_points(game.stones(), owner))


def dead_points(stones: bytes, owner: bytes) -> tuple[int, ...]:
    """The points of stones that count for the other player; a Colour a point."""
    return tuple(
        point
        for point, (stone, counts_for) in enumerate(zip(stones, owner, strict=True))
        if stone != Colour.EMPTY and counts_for not in (Colour.EMPTY, stone)
    )


def captured(before: bytes, after: bytes, move: int) -> tuple[int, ...]:
    """The points that a move left empty; its own among them where it took its own stones off."""
    if move == len(before) or after.count(0) == before.count(0) - 1:
        return ()
    return tuple(point for point, was in enumerate(before) if (was or point == move) and not after[point])


def signs(colours: bytes) -> tuple[int, ...]:
    """Colours of points as numbers."""
    return tuple(SIGN[Colour(each)] for each in colours)


def _played(game: Game, move: int) -> Reached:
    before = game.stones()
    _play(game, move)
    return Reached(game, captured(before, game.stones(), move))


def _play(game: Game, move: int) -> None:
    number, rules = game.num_moves + 1, game.rules
    if not 0 <= move <= rules.points:
        raise IllegalGame(f"Move {number} is not on the board.", number)
    try:
        game.play(move)
    except IllegalMove as error:
        where = vertex(move, rules.rows, rules.cols)
        raise IllegalGame(f"Move {number}, {where}, is not allowed: {_WHY[error.reason]}.", number) from None
