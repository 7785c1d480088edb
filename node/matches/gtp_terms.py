"""What an engine is told before a game and before each of its moves: `GtpTerms`.

Version 2 of the Go Text Protocol (draft 2) has all of it but `kata-set-rules`, which is KataGo's, and `set_random_seed`,
which is GNU Go's; an engine is told by them where it lists them.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from native.rules import Colour, Rules
from node.exchange.rule_names import name_rules
from node.exchange.values import vertex
from node.matches.gtp_engine import GtpEngine

MOST_NUMBER = 2**31 - 1
"""Of seeds that any program takes."""


@dataclass(frozen=True, slots=True)
class GtpTerms:
    """`time_s`: whole seconds a move, None where moves are not timed; `startup`: commands before each game."""

    time_s: float | None = None
    startup: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.time_s is not None and not (self.time_s >= 1 and self.time_s.is_integer()):
            raise ValueError("the seconds of an engine's move are whole ones, as GTP has no others")
        if any(not command.isprintable() or not command.strip() for command in self.startup):
            raise ValueError("a GTP command is one line with something in it")

    def begin(
        self, engine: GtpEngine, commands: Collection[str], rules: Rules, handicap: Sequence[int], number: int
    ) -> None:
        """Sets up a game for an engine that has `commands`; `number` is its seed. Raises GtpError."""
        for command in self.startup:
            engine.ask(command)
        engine.ask(f"boardsize {rules.rows}")
        engine.ask("clear_board")
        if "kata-set-rules" in commands:
            engine.ask(f"kata-set-rules {name_rules(rules)}")
        engine.ask(f"komi {rules.komi_half / 2:g}")
        if "set_random_seed" in commands:
            engine.ask(f"set_random_seed {number}")
        if self.time_s is not None:
            engine.ask(f"time_settings 0 {self.time_s:.0f} 1")
        if handicap:
            stones = " ".join(vertex(point, rules.rows, rules.cols) for point in handicap)
            engine.ask(f"set_free_handicap {stones}")

    def before_move(self, engine: GtpEngine, commands: Collection[str], colour: Colour) -> None:
        """Says how long the next move may take; raises GtpError."""
        if self.time_s is not None and "time_left" in commands:
            engine.ask(f"time_left {colour.name.lower()} {self.time_s:.0f} 1")


def seed_number(seed: bytes) -> int:
    """A game's seed as a number from 1 to MOST_NUMBER."""
    return int.from_bytes(seed[:4], "little") % MOST_NUMBER + 1
