"""One finished game of a match: how it went, who won, and why; as a line of a match's record and as SGF."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from native.game import Game
from native.rules import Colour
from node.exchange.record import Move, Setup, clean_comment
from node.exchange.replay import game_record
from node.exchange.sgf_writer import encode_sgf
from node.exchange.values import vertex, write_result

_RESULT = re.compile(r"0|[BW]\+(?:[0-9]{1,4}(?:\.5)?|[RTF])")
_WINNERS: Final = {"B+": Colour.BLACK, "W+": Colour.WHITE}


@dataclass(frozen=True, slots=True)
class PlayedGame:
    """`moves` are vertices with blanks between them, the opening's first, Black's and White's by turns; `result` is as SGF
    writes it; `reason` says in a sentence why a game ended before its end, and is empty otherwise. ValueError for what no
    game is."""

    size: int
    komi_half: int
    moves: str
    result: str
    reason: str = ""

    def __post_init__(self) -> None:
        if not _RESULT.fullmatch(self.result):
            raise ValueError("the result of a game is neither a draw nor somebody's win")

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

    @property
    def komi(self) -> float:
        """Points for White."""
        return self.komi_half / 2

    def to_json(self) -> dict[str, Any]:
        """The game in a line of a record."""
        known = {"size": self.size, "komi": self.komi, "result": self.result, "moves": self.moves}
        return {**known, "reason": self.reason} if self.reason else known

    @classmethod
    def from_json(cls, found: Any) -> "PlayedGame":
        """What `to_json` gave; raises ValueError, KeyError or TypeError for anything else."""
        size, komi_half = found["size"], 2 * found["komi"]
        texts = (found["moves"], found["result"], found.get("reason", ""))
        if not isinstance(size, int) or komi_half != int(komi_half) or not all(isinstance(each, str) for each in texts):
            raise ValueError("a game has a size, a komi, moves and a result")
        return cls(size, int(komi_half), *texts)


def scored_game(game: Game) -> PlayedGame:
    """A game that was played to its end, by its score."""
    return _game(game, write_result(game.score_half()), "")


def lost_game(game: Game, loser: Colour, how: str, reason: str) -> PlayedGame:
    """A game that `loser` lost before its end, by resignation (R), forfeit (F) or time (T)."""
    return _game(game, f"{'W' if loser == Colour.BLACK else 'B'}+{how}", reason)


def game_sgf(game: Game, played: PlayedGame, black: str, white: str) -> bytes:
    """The file of a game: its result, and its reason as the comment of the last move."""
    record = replace(game_record(game, black, white), result=played.result)
    comment = clean_comment(played.reason)
    if comment and record.nodes:
        *before, last = record.nodes
        assert isinstance(last, Move)
        record = replace(record, nodes=(*before, replace(last, comment=comment)))
    elif comment:
        record = replace(record, start=Setup(comment=comment))
    return encode_sgf(record)


def write_moves(moves: Sequence[int], size: int) -> str:
    """Moves as one line of vertices."""
    return " ".join(vertex(move, size, size) for move in moves)


def _game(game: Game, result: str, reason: str) -> PlayedGame:
    moves = write_moves([move for _, move in game.moves], game.rules.rows)
    return PlayedGame(game.rules.rows, game.rules.komi_half, moves, result, reason)
