"""A player of matches that is a program of its own, spoken to by GTP: `gtp:COMMAND`, or `gtp:NAME=COMMAND`.

Each game in flight has its process; one that has finished a game plays another. An engine that dies, hangs, answers
nonsense, refuses a legal move or plays an illegal one loses that game, with the reason in its record, and is started anew
for the next if it is of no use any more. The result of a game is always by our own rules: engines never count.
"""

import re
import threading
from types import TracebackType
from typing import Final, Self

from native.game import Game
from native.rules import Rules
from node.exchange.errors import SgfError
from node.exchange.rule_names import name_rules
from node.exchange.values import parse_vertex, vertex
from node.matches.gtp_engine import CannotStart, GtpEngine, GtpError, Refused, TimedOut, shown, split_command
from node.matches.opponent import Forfeit, OpponentError, OutOfTime, Resigned

PREFIX: Final = "gtp:"
DEADLINE_S: Final = 120.0
"""Seconds for each command, unless told otherwise."""

_NAMED = re.compile(r"([A-Za-z0-9][A-Za-z0-9._+-]{0,63})=(.*)", re.DOTALL)


class GtpOpponent:
    """An engine by its command. `name` is what the user gave, else the engine's own name and version."""

    def __init__(self, text: str, deadline_s: float = DEADLINE_S) -> None:
        """`text` is what follows `gtp:`. Starts the engine once to ask who it is; raises OpponentError."""
        named = _NAMED.fullmatch(text)
        self.command = named[2].strip() if named else text.strip()
        self.identity = PREFIX + self.command
        self._deadline_s = deadline_s
        self._lock = threading.Lock()
        self._idle: list[GtpEngine] = []
        self._all: set[GtpEngine] = set()
        self._is_closed = False
        try:
            self._words = split_command(self.command)
            engine = self._take()
            try:
                self.name = named[1] if named else shown(f"{engine.ask('name')} {engine.ask('version')}")[:64].strip()
            except BaseException:
                self._drop(engine)
                raise
            self._idle.append(engine)
        except GtpError as error:
            raise OpponentError(f"The engine {shown(self.command)!r} {error}.") from None

    def verify_plays(self, rules: Rules) -> None:
        """Raises OpponentError when the engine, asked now, does not take up a game by these rules."""
        engine = self._take()
        try:
            _begin(engine, rules)
        except GtpError as error:
            self._drop(engine)
            raise OpponentError(f"{self.name} {error}.") from None
        self._give_back(engine)

    def sit(self) -> "GtpSeat":
        """See `Opponent.sit`."""
        return GtpSeat(self)

    def close(self) -> None:
        """Ends every engine, also those whose answers others wait for; no game begins any more."""
        with self._lock:
            self._is_closed = True
            idle, busy = self._idle, self._all.difference(self._idle)
            self._idle = []
            self._all = set(busy)
        for engine in busy:
            engine.kill()
        for engine in idle:
            engine.close()
            engine.release()

    def _take(self) -> GtpEngine:
        """An engine that plays no game, started if need be; raises CannotStart."""
        with self._lock:
            if self._idle:
                return self._idle.pop()
        engine = GtpEngine(self._words, self._deadline_s)
        with self._lock:
            self._all.add(engine)
            if not self._is_closed:
                return engine
        self._drop(engine)
        raise CannotStart("is not started any more: the match is over")

    def _give_back(self, engine: GtpEngine) -> None:
        with self._lock:
            if not self._is_closed:
                self._idle.append(engine)
                return
        self._drop(engine)

    def _drop(self, engine: GtpEngine) -> None:
        engine.kill()
        engine.release()
        with self._lock:
            self._all.discard(engine)


class GtpSeat:
    """The engine in one game: it is told the moves that it did not make, and asked for its own."""

    def __init__(self, opponent: GtpOpponent) -> None:
        self._opponent = opponent
        self._engine: GtpEngine | None = None
        self._told = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        engine, self._engine = self._engine, None
        if engine is not None:
            self._opponent._give_back(engine)

    def choose(self, game: Game, seed: bytes) -> int:
        """See `Seat.choose`; the moves of `game` that it was told or made before must be its first ones."""
        try:
            return self._choose(game)
        except Refused as error:
            raise Forfeit(str(error)) from None
        except GtpError as error:
            if self._engine is not None:
                self._opponent._drop(self._engine)
                self._engine = None
            raise (OutOfTime if isinstance(error, TimedOut) else Forfeit)(str(error)) from None

    def _choose(self, game: Game) -> int:
        if self._engine is None:
            self._engine = self._opponent._take()
            _begin(self._engine, game.rules)
            self._told = 0
        rows, cols = game.rules.rows, game.rules.cols
        for colour, move in game.moves[self._told :]:
            self._engine.ask(f"play {colour.name.lower()} {vertex(move, rows, cols)}")
            self._told += 1
        answer = self._engine.ask(f"genmove {game.to_move.name.lower()}")
        self._told += 1
        if answer.lower() == "resign":
            raise Resigned("resigned")
        try:
            return parse_vertex(answer, rows, cols)
        except SgfError:
            raise Forfeit(f"answered genmove with what is no move ({shown(answer)})") from None


def _begin(engine: GtpEngine, rules: Rules) -> None:
    """Sets up a game: board, komi, and the rules where the engine takes them (an extension of KataGo's)."""
    engine.ask(f"boardsize {rules.rows}")
    engine.ask("clear_board")
    try:
        is_known = engine.ask("known_command kata-set-rules").lower() == "true"
    except Refused:
        is_known = False
    if is_known:
        engine.ask(f"kata-set-rules {name_rules(rules)}")
    engine.ask(f"komi {rules.komi_half / 2:g}")
