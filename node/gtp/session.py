"""One controller's game: the table, the player, the clock, and the move that is made at it. `Session`, `Limits`.

Nothing passes from search to search. A game draws with one seed, so that the same moves in a game of the same seed find
the same answers; a new game has a new one, unless it was set.
"""

import os
import sys
import time
from collections.abc import Collection
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Final

from native.errors import EngineError
from native.game import Game
from native.rules import Colour, End, Rules
from native.search import Ply
from node.exchange.rule_names import NamedRules, by_name
from node.gtp.clock import Clock
from node.gtp.errors import BAD_SIZE, Failure
from node.gtp.table import Table
from node.play.pace import MOST_VISITS, Pace
from node.play.player import AnyPlayer, RandomPlayer
from node.play.resignation import RESIGNING
from node.play.searcher import Searcher
from node.play.timed import Timed
from node.play.worth import worth_of

SEED_DOMAIN: Final = b"gonode/gtp/v1\0"


@dataclass(frozen=True, slots=True)
class Limits:
    """What a move may take: `visits` at most, or `time_s`; None: not said. `usual` visits where nothing is said at all."""

    visits: int | None = None
    time_s: float | None = None
    usual: int = 100


@dataclass(frozen=True, slots=True)
class Choice:
    """The move for a position (None: it resigns), the game that was searched, and the search, if there was one."""

    move: int | None
    game: Game
    ply: Ply | None


class Session:
    """What the commands of one controller act on."""

    def __init__(
        self,
        player: AnyPlayer,
        rules: Rules,
        limits: Limits,
        *,
        resigns: bool = True,
        sizes: Collection[int] = (),
    ) -> None:
        """`rules`: as the run has them, on the first board; `sizes` of boards that it learned on, if known."""
        self.player = player
        self.limits = limits
        self.table = Table(rules)
        self.clock = Clock()
        self.pace = Pace()
        self._timed = Timed(self.pace)
        self.seed_number: int | None = None
        self._house = rules
        self._resigns = resigns
        self._sizes = sizes
        self._seed = b""
        self.draw_seed()

    # ---- rules and seeds ----------------------------------------------------------------------------------------

    def sized(self, rows: int, cols: int) -> Rules:
        """The table's rules on another board; Failure for one that is not played on."""
        if rows != cols and isinstance(self.player, Searcher) and self.player.network is not None:
            raise Failure(f"{BAD_SIZE}: a network plays on square boards")
        try:
            found = replace(self.table.rules, rows=rows, cols=cols)
        except EngineError:
            raise Failure(BAD_SIZE) from None
        self._warn_of(rows)
        return found

    def _warn_of(self, size: int) -> None:
        """Says, once a session, that the player did not learn on boards of this size."""
        if self._sizes and size not in self._sizes:
            known = ", ".join(f"{each}x{each}" for each in sorted(self._sizes))
            say(
                f"{self.player.name} learned on {known}; on {size}x{size} it plays what that taught it, which may be weak."
            )
            self._sizes = ()

    def named(self, named: NamedRules) -> Rules:
        """The table's rules with another ko rule, suicide and scoring; what only area scoring knows is as in the run."""
        return by_name(self.table.rules, named, self._house)

    def draw_seed(self) -> None:
        """The seed of a new game."""
        drawn = os.urandom(32) if self.seed_number is None else str(self.seed_number).encode()
        self._seed = sha256(SEED_DOMAIN + drawn).digest()

    @property
    def seed(self) -> bytes:
        """What searches of this game draw with."""
        return self._seed

    # ---- moves --------------------------------------------------------------------------------------------------

    def searcher(self) -> Searcher:
        """The player, if it is one that searches; else Failure."""
        if not isinstance(self.player, Searcher):
            raise Failure(f"The player {self.player.name} searches nothing, so there is nothing to show.")
        return self.player

    def to_move(self) -> Colour:
        """Whose turn it is, if turns count."""
        return self.table.game.to_move

    def choose(self, colour: Colour, *, may_resign: bool = False, share: float = 1.0) -> Choice:
        """The move for `colour` here, which is not played; a search takes no more than its share of the time for a move."""
        began_s = time.monotonic()
        game = self.table.stand.turn_of(colour).game
        if self.table.game.end == End.SETTLED:
            return Choice(game.pass_move, game, None)
        if isinstance(self.player, RandomPlayer):
            return Choice(self.player.choose(game, self._seed), game, None)
        ply = self._think(colour, game, began_s, share)
        gives_up = RESIGNING.is_due(game, worth_of(ply), sum(ply.visits) + 1)
        return Choice(None if may_resign and self._resigns and gives_up else ply.move, game, ply)

    def make(self, colour: Colour, move: int | None, began_s: float) -> None:
        """Plays what was chosen, unless it resigned, and takes the time since from the clock."""
        if move is not None:
            self.table.play(colour, move)
        self.clock.spend(colour, time.monotonic() - began_s)

    def search(self, game: Game, visits: int, *, varies: bool = True) -> Ply:
        """One search, which is measured; see `Searcher.search`."""
        self._warn_of(game.rules.rows)
        began_s = time.perf_counter()
        ply = self.searcher().search(game, visits, self._seed, varies=varies)
        self.pace.note(game.rules.points, visits, time.perf_counter() - began_s)
        return ply

    def _think(self, colour: Colour, game: Game, began_s: float, share: float) -> Ply:
        """The search of a move, by visits or within the time."""
        rules, limits = game.rules, self.limits
        moves_left = max(rules.points // 8, (rules.points * 7 // 10 - len(self.table.moves)) // 2, 2)
        clock_s = self.clock.budget_s(colour, moves_left)
        asked = [seconds for seconds in (limits.time_s, clock_s) if seconds is not None]
        if not asked:
            return self.search(game, limits.visits or limits.usual)
        left_s = share * min(asked) - (time.monotonic() - began_s)
        most = limits.visits or MOST_VISITS
        return self._timed.search(lambda visits: self.search(game.copy(), visits), rules.points, left_s, most)


def say(text: str) -> None:
    """A remark for people, on standard error: standard output is the protocol's."""
    print(text, file=sys.stderr, flush=True)
