"""One game between two players, from its start to its result: `play_game`, `Start`."""

import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from threading import Event

from native.game import Game
from native.handicap import fixed_points, handicap_game
from native.rules import Colour, End, Rules
from node.exchange.values import vertex
from node.matches.counting import agreed, dispute
from node.matches.move_times import MoveTimes
from node.matches.opponent import Forfeit, GameLost, Opponent, Seat
from node.matches.played_game import PlayedGame, lost_game, scored_game


@dataclass(frozen=True, slots=True)
class Start:
    """How a game begins: with moves, or with Black's stones of a handicap on their fixed points, and White to move."""

    rules: Rules
    opening: tuple[int, ...] = ()
    handicap: int = 0

    def __post_init__(self) -> None:
        if self.handicap and self.opening:
            raise ValueError("a handicap is an opening of its own")

    @property
    def stones(self) -> tuple[int, ...]:
        """The points of the handicap; raises HandicapError for one that the board does not have."""
        return fixed_points(self.rules, self.handicap) if self.handicap else ()

    def game(self) -> Game:
        """The game at its beginning."""
        if self.handicap:
            return handicap_game(self.rules, self.stones)
        game = Game(self.rules)
        for move in self.opening:
            game.play(move)
        return game


def play_game(
    black: Opponent,
    white: Opponent,
    start: Start,
    seed: bytes,
    over: Event,
    *,
    time_s: float | None = None,
    players_count: bool = False,
) -> PlayedGame | None:
    """What became of a game; None once it is over. Moves are timed where they may take `time_s`; the players are asked who
    won, not the rules, after two passes where they count."""
    game = start.game()
    times = {Colour.BLACK: MoveTimes(), Colour.WHITE: MoveTimes()}
    with ExitStack() as seats:
        seated = {
            Colour.BLACK: seats.enter_context(black.sit(start.stones)),
            Colour.WHITE: seats.enter_context(white.sit(start.stones)),
        }
        while not game.end:
            mover = game.to_move
            try:
                seconds = _move(game, seated[mover], seed)
            except GameLost as lost:
                if over.is_set():
                    return None
                name = (black if mover == Colour.BLACK else white).name
                reason = f"{mover.name.capitalize()} ({name}) {lost}."
                return lost_game(game, mover, lost.how, reason, start.handicap, _kept(times, time_s))
            if over.is_set():
                return None
            if time_s is not None:
                times[mover] = times[mover].add(seconds, time_s)
        counts = (
            [seat.count(game, seed) for seat in seated.values()] if players_count and game.end == End.PASSES else None
        )
    found = scored_game(game, start.handicap, _kept(times, time_s))
    if counts is None:
        return found
    result = agreed(counts)
    return replace(found, dispute=dispute(counts)) if result is None else replace(found, result=result)


def _move(game: Game, seat: Seat, seed: bytes) -> float:
    """Plays one move; gives the seconds that it took. Raises GameLost."""
    seat.prepare(game, seed)
    began_s = time.monotonic()
    move = seat.choose(game, seed)
    seconds = time.monotonic() - began_s
    fault = game.check(move)
    if fault is not None:
        shown = vertex(move, game.rules.rows, game.rules.cols)
        raise Forfeit(f"played the illegal move {shown} ({fault})")
    game.play(move)
    return seconds


def _kept(times: Mapping[Colour, MoveTimes], time_s: float | None) -> tuple[MoveTimes, MoveTimes] | None:
    return None if time_s is None else (times[Colour.BLACK], times[Colour.WHITE])
