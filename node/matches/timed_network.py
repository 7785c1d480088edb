"""A network that has seconds for a move, not visits: `TimedNetwork`.

It searches as its run's gates do, with as many visits as fit, by the pace that it measures in each game. So its games cannot
be repeated.
"""

import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace

from native.game import Game
from native.network import Kernel, Network
from native.search import Ply, SearchConfig
from node.matches.network_player import NetworkOpponent
from node.matches.opponent import Seat
from node.play.pace import MOST_VISITS, Pace
from node.play.timed import Timed


class TimedNetwork(NetworkOpponent):
    """See `NetworkOpponent`; `time_s` is for one move."""

    def __init__(self, name: str, network: Network | None, config: SearchConfig, kernel: Kernel, time_s: float) -> None:
        super().__init__(name, network, config, kernel)
        self.time_s = time_s

    def sit(self, handicap: Sequence[int] = ()) -> AbstractContextManager[Seat]:
        """See `Opponent.sit`."""
        return nullcontext(TimedSeat(self))


class TimedSeat:
    """The network in one game."""

    def __init__(self, player: TimedNetwork) -> None:
        self._player = player
        self._pace = Pace()
        self._timed = Timed(self._pace)

    def prepare(self, game: Game, seed: bytes) -> None:
        """See `Seat.prepare`."""

    def choose(self, game: Game, seed: bytes) -> int:
        """See `Seat.choose`."""
        points = game.rules.points

        def search(visits: int) -> Ply:
            position = game.copy()  # a search that is late goes on beside the game
            began_s = time.perf_counter()
            config = replace(self._player.config, visits_full=visits, visits_fast=visits)
            ply = self._player.search(position, seed, config)
            self._pace.note(points, visits, time.perf_counter() - began_s)
            return ply

        return self._timed.search(search, points, self._player.time_s, MOST_VISITS).move

    def count(self, game: Game, seed: bytes) -> str | None:
        """See `Seat.count`."""
        return None
