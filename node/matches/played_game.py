"""One finished game of a match: how it went, who won, and why; as a line of a match's record."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from native.game import Game
from native.rules import Colour
from node.exchange.values import vertex, write_result
from node.matches.move_times import MoveTimes

Times = tuple[MoveTimes, MoveTimes]
"""Black's and White's."""

_RESULT = re.compile(r"0|[BW]\+(?:[0-9]{1,4}(?:\.5)?|[RTF]|)")
_WINNERS: Final = {"B+": Colour.BLACK, "W+": Colour.WHITE}


@dataclass(frozen=True, slots=True)
class PlayedGame:
    """`moves` are vertices with blanks between them, the opening's first, by turns: Black begins, or White where there are
    stones of a `handicap`. `result` is as SGF writes it; `reason` says in a sentence why a game ended before its end, and is
    empty otherwise; `times` are those of a game whose moves were timed; `dispute` says why the rules counted a game that
    the engines should have. ValueError for what no game is."""

    size: int
    komi_half: int
    moves: str
    result: str
    reason: str = ""
    handicap: int = 0
    times: Times | None = None
    dispute: str = ""

    def __post_init__(self) -> None:
        if not _RESULT.fullmatch(self.result):
            raise ValueError("the result of a game is neither a draw nor somebody's win")
        if self.handicap < 0 or self.handicap == 1:
            raise ValueError("a handicap is two stones or more")

    @property
    def winner(self) -> Colour:
        """Who won; EMPTY after a draw."""
        return _WINNERS.get(self.result[:2], Colour.EMPTY)

    @property
    def is_forfeit(self) -> bool:
        """Whether it was lost by a fault: an illegal move, an engine that died or hung, time."""
        return self.result[2:] in ("F", "T")

    def half_points(self, colour: Colour) -> int:
        """2, 1 or 0 for a win, draw or loss of `colour`."""
        return 1 if self.winner == Colour.EMPTY else 2 * (self.winner == colour)

    def times_of(self, colour: Colour) -> MoveTimes:
        """One player's times; none where moves were not timed."""
        return MoveTimes() if self.times is None else self.times[colour == Colour.WHITE]

    @property
    def komi(self) -> float:
        """Points for White."""
        return self.komi_half / 2

    def to_json(self) -> dict[str, Any]:
        """The game in a line of a record."""
        known: dict[str, Any] = {"size": self.size, "komi": self.komi, "result": self.result, "moves": self.moves}
        if self.reason:
            known["reason"] = self.reason
        if self.handicap:
            known["handicap"] = self.handicap
        if self.dispute:
            known["dispute"] = self.dispute
        if self.times is not None:
            known["times_ms"] = [each.to_json() for each in self.times]
        return known

    @classmethod
    def from_json(cls, found: Any) -> "PlayedGame":
        """What `to_json` gave; raises ValueError, KeyError or TypeError for anything else."""
        size, handicap, komi_half = found["size"], found.get("handicap", 0), 2 * found["komi"]
        texts = (found["moves"], found["result"], found.get("reason", ""))
        dispute = found.get("dispute", "")
        whole = all(type(each) is int for each in (size, handicap)) and komi_half == int(komi_half)
        if not whole or not all(isinstance(each, str) for each in (*texts, dispute)):
            raise ValueError("a game has a size, a komi, moves and a result")
        times = None
        if "times_ms" in found:
            black, white = found["times_ms"]
            times = MoveTimes.from_json(black), MoveTimes.from_json(white)
        return cls(size, int(komi_half), *texts, handicap, times, dispute)


Pair = tuple[PlayedGame, PlayedGame]
"""Both games of a pair, in the order of their numbers."""


def scored_game(game: Game, handicap: int = 0, times: Times | None = None) -> PlayedGame:
    """A game that was played to its end, by its score."""
    return _game(game, write_result(game.score_half()), "", handicap, times)


def lost_game(
    game: Game, loser: Colour, how: str, reason: str, handicap: int = 0, times: Times | None = None
) -> PlayedGame:
    """A game that `loser` lost before its end, by resignation (R), forfeit (F) or time (T)."""
    return _game(game, f"{'W' if loser == Colour.BLACK else 'B'}+{how}", reason, handicap, times)


def write_moves(moves: Sequence[int], size: int) -> str:
    """Moves as one line of vertices."""
    return " ".join(vertex(move, size, size) for move in moves)


def _game(game: Game, result: str, reason: str, handicap: int, times: Times | None) -> PlayedGame:
    moves = write_moves([move for _, move in game.moves], game.rules.rows)
    return PlayedGame(game.rules.rows, game.rules.komi_half, moves, result, reason, handicap, times)
