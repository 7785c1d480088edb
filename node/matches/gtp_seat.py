"""An engine at the board: `GtpSeat`, which tells it one game and makes moves and losses of its answers and its faults."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Self

from native.game import Game
from node.exchange.errors import SgfError
from node.exchange.values import parse_vertex, vertex
from node.matches.counting import parse_count
from node.matches.gtp_engine import GtpEngine, GtpError, Refused, TimedOut, shown
from node.matches.gtp_terms import seed_number
from node.matches.opponent import Forfeit, GameLost, OutOfTime, Resigned

if TYPE_CHECKING:
    from node.matches.gtp_player import GtpOpponent


class GtpSeat:
    """The engine in one game: it is told the moves that it did not make, and asked for its own."""

    def __init__(self, opponent: "GtpOpponent", handicap: Sequence[int]) -> None:
        self._opponent = opponent
        self._handicap = handicap
        self._engine: GtpEngine | None = None
        self._told = 0
        self._is_ready = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        engine, self._engine = self._engine, None
        if engine is not None:
            self._opponent.give_back(engine)

    def prepare(self, game: Game, seed: bytes) -> None:
        """See `Seat.prepare`: starts the engine, and tells it the game so far and its time."""
        with self._faults():
            self._prepare(game, seed)

    def choose(self, game: Game, seed: bytes) -> int:
        """See `Seat.choose`; the moves of `game` that it was told or made before must be its first ones."""
        with self._faults():
            engine = self._prepare(game, seed)
            answer = engine.ask(f"genmove {game.to_move.name.lower()}", self._opponent.terms.time_s or 0.0)
        self._told += 1
        self._is_ready = False
        if answer.lower() == "resign":
            raise Resigned("resigned")
        try:
            return parse_vertex(answer, game.rules.rows, game.rules.cols)
        except SgfError:
            raise Forfeit(f"answered genmove with what is no move ({shown(answer)})") from None

    def count(self, game: Game, seed: bytes) -> str | None:
        """See `Seat.count`; an engine that errs now has played, and loses nothing."""
        if not self._opponent.counts:
            return None
        try:
            with self._faults():
                return parse_count(self._prepare(game, seed).ask("final_score"))
        except GameLost:
            return None

    def _prepare(self, game: Game, seed: bytes) -> GtpEngine:
        opponent, number = self._opponent, seed_number(seed)
        if self._engine is None:
            self._engine = opponent.take(number)
            opponent.terms.begin(self._engine, opponent.commands, game.rules, self._handicap, number)
            self._told = 0
            self._is_ready = False
        if not self._is_ready:
            rows, cols = game.rules.rows, game.rules.cols
            for colour, move in game.moves[self._told :]:
                self._engine.ask(f"play {colour.name.lower()} {vertex(move, rows, cols)}")
                self._told += 1
            opponent.terms.before_move(self._engine, opponent.commands, game.to_move)
            self._is_ready = True
        return self._engine

    @contextmanager
    def _faults(self) -> Iterator[None]:
        """What an engine does wrong, as the loss of a game."""
        try:
            yield
        except Refused as error:
            raise Forfeit(str(error)) from None
        except GtpError as error:
            if self._engine is not None:
                self._opponent.drop(self._engine)
                self._engine = None
            raise (OutOfTime if isinstance(error, TimedOut) else Forfeit)(str(error)) from None
