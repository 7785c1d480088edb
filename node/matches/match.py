"""Matches between two players: colours swapped within a pair, an opening a pair, one seed a game.

All random numbers come from the numbers of pairs and games, so between players of our own the same command gives the same
games on every machine. Pairs are counted in the order of their numbers, whichever ends first.
"""

import hashlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event

from native.game import Game
from native.rules import Colour, Rules
from node.disk.files import naming
from node.exchange.values import vertex
from node.matches.match_record import MatchRecord
from node.matches.match_result import MatchResult, Tally
from node.matches.opponent import SEED_DOMAIN, Forfeit, GameLost, Opponent, Seat
from node.matches.played_game import PlayedGame, game_sgf, lost_game, scored_game

Pair = tuple[PlayedGame, PlayedGame]


@dataclass(frozen=True, slots=True)
class MatchSettings:
    """What is played: an even number of games; `setup` gives a pair's rules and opening moves from its number and seed.

    `sgf`: a folder for the games. `record`: pairs that it has are not played again, those that are get there.
    """

    games: int
    setup: Callable[[int, bytes], tuple[Rules, Sequence[int]]]
    sprt: tuple[int, int] | None = None
    sgf: Path | None = None
    threads: int = 1
    record: MatchRecord | None = None


def pair_seed(pair: int) -> bytes:
    """What the setup of a pair is drawn with."""
    return hashlib.sha256(SEED_DOMAIN + pair.to_bytes(8, "little")).digest()


def game_seed(game: int) -> bytes:
    """What the players of a game draw with; the games of a pair differ in it, so that a network that plays itself plays two
    games."""
    return hashlib.sha256(SEED_DOMAIN + b"game" + game.to_bytes(8, "little")).digest()


def play_match(
    first: Opponent, second: Opponent, settings: MatchSettings, report: Callable[[MatchResult], None]
) -> MatchResult:
    """Plays pairs until all games are played or the test decides; `report` is told after each pair. Both players are closed
    at its end."""
    tally = Tally((first.name, second.name), settings.sprt)
    result = tally.result()
    over = Event()
    with ThreadPoolExecutor(settings.threads) as threads:
        try:
            pairs = threads.map(lambda pair: _pair(first, second, settings, pair, over), range(settings.games // 2))
            for games in pairs:
                assert games is not None, "nobody ends a match before its last pair is counted"
                tally.add(games)
                result = tally.result()
                report(result)
                if result.verdict is not None:
                    break
        finally:  # also when interrupted: threads end after their move, not after their pair
            over.set()
            first.close()
            second.close()
            threads.shutdown(cancel_futures=True)
    if settings.sprt is not None and result.verdict is None:
        result = replace(result, verdict="undecided")
    return result


def _pair(first: Opponent, second: Opponent, settings: MatchSettings, pair: int, over: Event) -> Pair | None:
    """Both games of a pair, the first player as black and as white; None once it is over."""
    known = settings.record.pair(pair) if settings.record is not None else None
    if known is not None:
        return known
    rules, opening = settings.setup(pair, pair_seed(pair))
    games = []
    for swapped in (False, True):
        number = 2 * pair + swapped
        black, white = (second, first) if swapped else (first, second)
        played = _play(black, white, rules, opening, game_seed(number), over)
        if played is None:
            return None
        game, ended = played
        if settings.sgf is not None:
            settings.sgf.mkdir(parents=True, exist_ok=True)
            file = settings.sgf / f"{number:05d}.sgf"
            with naming(file):
                file.write_bytes(game_sgf(game, ended, black.name, white.name))
        games.append(ended)
    found = (games[0], games[1])
    if settings.record is not None:
        settings.record.add(pair, found)
    return found


def _play(
    black: Opponent, white: Opponent, rules: Rules, opening: Sequence[int], seed: bytes, over: Event
) -> tuple[Game, PlayedGame] | None:
    """One game, and what became of it; None once it is over."""
    game = Game(rules)
    for move in opening:
        game.play(move)
    with ExitStack() as seats:
        seated = {Colour.BLACK: seats.enter_context(black.sit()), Colour.WHITE: seats.enter_context(white.sit())}
        while not game.end:
            mover = game.to_move
            try:
                _move(game, seated[mover], seed)
            except GameLost as lost:
                name = (black if mover == Colour.BLACK else white).name
                if over.is_set():
                    return None
                reason = f"{mover.name.capitalize()} ({name}) {lost}."
                return game, lost_game(game, mover, lost.how, reason)
            if over.is_set():
                return None
    return game, scored_game(game)


def _move(game: Game, seat: Seat, seed: bytes) -> None:
    """Plays one move; raises GameLost."""
    move = seat.choose(game, seed)
    fault = game.check(move)
    if fault is not None:
        shown = vertex(move, game.rules.rows, game.rules.cols)
        raise Forfeit(f"played the illegal move {shown} ({fault})")
    game.play(move)
