"""Matches between two players: colours swapped within a pair, or fixed, an opening a pair, one seed a game.

All random numbers come from the numbers of pairs and games, so between players of our own the same command gives the same
games on every machine, unless moves have seconds and not visits. Pairs are counted in the order of their numbers,
whichever ends first.
"""

import hashlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from threading import Event

from native.rules import Colour, Rules
from node.matches.colours import Colours
from node.matches.match_record import MatchRecord
from node.matches.match_result import MatchResult, Tally
from node.matches.match_sgf import MatchSgf
from node.matches.opponent import SEED_DOMAIN, Opponent
from node.matches.played_game import Pair
from node.matches.playing import Start, play_game


@dataclass(frozen=True, slots=True)
class MatchSettings:
    """What is played: an even number of games; `setup` gives a pair's rules and opening moves from its number and seed.

    `sgf` gets the games. `record`: pairs that it has are not played again, those that are get there. `handicap`: Black's
    stones, on their fixed points, of all games; then there are no opening moves. `time_s`: what a move may take, which
    players are told by whoever made them. `players_count`: engines say who won, where they agree.
    """

    games: int
    setup: Callable[[int, bytes], tuple[Rules, Sequence[int]]]
    sprt: tuple[int, int] | None = None
    sgf: MatchSgf | None = None
    threads: int = 1
    record: MatchRecord | None = None
    colours: Colours = Colours.SWAP
    handicap: int = 0
    time_s: float | None = None
    players_count: bool = False


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
    tally = Tally((first.name, second.name), settings.sprt, settings.colours)
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
    return replace(result, time_s=settings.time_s)


def _pair(first: Opponent, second: Opponent, settings: MatchSettings, pair: int, over: Event) -> Pair | None:
    """Both games of a pair, those of the record with the files that they have not got yet; None once it is over."""
    known = settings.record.pair(pair) if settings.record is not None else None
    sgf = settings.sgf
    if known is not None and (sgf is None or all(sgf.path(2 * pair + half).exists() for half in (0, 1))):
        return known
    rules, opening = settings.setup(pair, pair_seed(pair))
    games = []
    for half in (0, 1):
        number = 2 * pair + half
        is_black = settings.colours.of_first(half) == Colour.BLACK
        black, white = (first, second) if is_black else (second, first)
        if known is None:
            start = Start(rules, tuple(opening), settings.handicap)
            played = play_game(
                black,
                white,
                start,
                game_seed(number),
                over,
                time_s=settings.time_s,
                players_count=settings.players_count,
            )
        else:
            played = known[half]
        if played is None:
            return None
        if sgf is not None:
            sgf.write(number, played, rules, black, white)
        games.append(played)
    found = (games[0], games[1])
    if settings.record is not None and known is None:
        settings.record.add(pair, found)
    return found
