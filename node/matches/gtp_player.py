"""A player of matches that is a program of its own, spoken to by GTP: `gtp:COMMAND`, or `gtp:NAME=COMMAND`.

Each game in flight has its process; one that has finished a game plays another. An engine that dies, hangs, answers
nonsense, refuses a legal move or plays an illegal one loses that game, with the reason in its record, and is started anew
for the next if it is of no use any more. The result of a game is by our own rules, unless a match has engines count.
"""

import re
import threading
from collections.abc import Sequence
from typing import ClassVar, Final

from native.rules import Rules
from node.matches.gtp_engine import CannotStart, GtpEngine, GtpError, Refused, shown, split_command
from node.matches.gtp_seat import GtpSeat
from node.matches.gtp_terms import GtpTerms
from node.matches.opponent import OpponentError
from node.matches.warden import Warden

PREFIX: Final = "gtp:"
DEADLINE_S: Final = 120.0
"""Seconds for each command, unless told otherwise."""
CHECKED: Final = 1
"""The seed of an engine that is asked who it is, and whether it takes up a game."""

_NAMED = re.compile(r"([A-Za-z0-9][A-Za-z0-9._+-]{0,63})=(.*)", re.DOTALL)


class GtpOpponent:
    """An engine by its command. `name` is what the user gave, else the engine's own name and version; `about` is those."""

    goes_on: ClassVar[bool] = True
    """Whether an engine that has finished a game plays another."""

    def __init__(self, text: str, deadline_s: float = DEADLINE_S, terms: GtpTerms | None = None) -> None:
        """`text` is what follows `gtp:`. Starts the engine once to ask who it is; raises OpponentError."""
        named = _NAMED.fullmatch(text)
        self.command = named[2].strip() if named else text.strip()
        self._called = named[1] if named else self.command
        self.terms = terms or GtpTerms()
        self._deadline_s = deadline_s
        self._lock = threading.Lock()
        self._idle: list[GtpEngine] = []
        self._all: set[GtpEngine] = set()
        self._is_closed = False
        try:
            self._words = split_command(self.command)
            self._warden = _started_warden()
        except GtpError as error:
            raise self._useless(error) from None
        try:
            self.about, self.commands = self._introduced(named[1] if named else None)
        except GtpError as error:
            self.close()
            raise self._useless(error) from None
        except BaseException:
            self.close()
            raise
        self.name = named[1] if named else self.about

    @property
    def identity(self) -> str:
        """See `Opponent.identity`; what it is told before each game is a part of it."""
        return " | ".join((PREFIX + self.command, *self.terms.startup))

    @property
    def counts(self) -> bool:
        """See `Opponent.counts`."""
        return "final_score" in self.commands

    def verify_plays(self, rules: Rules, handicap: Sequence[int] = ()) -> None:
        """Raises OpponentError when the engine, asked now, does not take up a game by these rules."""
        engine = self.take(CHECKED)
        try:
            self.terms.begin(engine, self.commands, rules, handicap, CHECKED)
        except GtpError as error:
            self.drop(engine)
            raise OpponentError(f"{self.name} {error}.") from None
        self.give_back(engine)

    def sit(self, handicap: Sequence[int] = ()) -> GtpSeat:
        """See `Opponent.sit`."""
        return GtpSeat(self, handicap)

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
        self._warden.close()

    def take(self, number: int) -> GtpEngine:
        """An engine that plays no game, started if need be, for one of this seed number; raises CannotStart."""
        with self._lock:
            if self._idle and (self.goes_on or number == CHECKED):
                return self._idle.pop()
        engine = GtpEngine(self._command_line(number), self._deadline_s, self._warden)
        with self._lock:
            self._all.add(engine)
            if not self._is_closed:
                return engine
        self.drop(engine)
        raise CannotStart("is not started any more: the match is over")

    def give_back(self, engine: GtpEngine) -> None:
        """What was taken, after its game."""
        with self._lock:
            if self.goes_on and not self._is_closed:
                self._idle.append(engine)
                return
        self.drop(engine)

    def drop(self, engine: GtpEngine) -> None:
        """What was taken and is of no use any more."""
        engine.kill()
        engine.release()
        with self._lock:
            self._all.discard(engine)

    def _command_line(self, number: int) -> Sequence[str]:
        """The program and its options, for a game of this seed number."""
        return self._words

    def _useless(self, error: GtpError) -> OpponentError:
        return OpponentError(f"The engine {shown(self._called)!r} {error}.")

    def _introduced(self, given: str | None) -> tuple[str, frozenset[str]]:
        """The engine's name and version, for which the given name may stand, and the commands that it has."""
        engine = self.take(CHECKED)
        try:
            try:
                about = shown(f"{engine.ask('name')} {engine.ask('version')}")[:64].strip()
            except Refused:
                if given is None:
                    raise
                about = given
            try:
                commands = frozenset(engine.ask("list_commands").lower().split())
            except Refused:
                commands = frozenset()
        except BaseException:
            self.drop(engine)
            raise
        with self._lock:
            self._idle.append(engine)
        return about, commands


def _started_warden() -> Warden:
    try:
        return Warden()
    except OSError as error:
        raise CannotStart(f"cannot be watched by `sh`: {error.strerror or error}") from None
