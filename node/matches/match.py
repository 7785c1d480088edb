"""Matches between two players: colours swapped within a pair, an opening a pair, scores with error bars.

The same command gives the same games on every machine: all random numbers come from the pair's number.
"""

import hashlib
import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Any

from native.game import Game
from native.rules import Colour, Rules
from node.exchange.replay import game_record
from node.exchange.sgf_writer import encode_sgf
from node.matches.opponent import SEED_DOMAIN, Opponent
from verification.gate import LLR_BOUND_MICRO, NO_PAIRS, add_pair, llr

Z95 = 1.959964


@dataclass(frozen=True, slots=True)
class MatchSettings:
    """What is played: an even number of games; `setup` gives a pair's rules and opening moves from its seed."""

    games: int
    setup: Callable[[bytes], tuple[Rules, tuple[int, ...]]]
    sprt: tuple[int, int] | None
    sgf: Path | None
    threads: int


@dataclass(frozen=True, slots=True)
class MatchResult:
    """Counts from the first player's side; `elo_error` is half of a 95 % interval."""

    names: tuple[str, str]
    wins: int
    draws: int
    losses: int
    llr: float | None
    verdict: str | None

    @property
    def games(self) -> int:
        """Games played."""
        return self.wins + self.draws + self.losses

    @property
    def score(self) -> float:
        """The first player's share of points."""
        return (self.wins + self.draws / 2) / max(1, self.games)

    def to_json(self) -> dict[str, Any]:
        """The object that `gonode match --json` prints; an Elo difference without a loss or without a win is bounded
        by half a point."""
        elo, error = elo_of(self.wins, self.draws, self.losses)
        return {
            "players": list(self.names),
            "games": self.games,
            "wins": self.wins,
            "draws": self.draws,
            "losses": self.losses,
            "score": self.score,
            "elo": elo,
            "elo_error": error,
            "llr": self.llr,
            "verdict": self.verdict,
        }


def elo_of(wins: int, draws: int, losses: int) -> tuple[float, float]:
    """Elo difference and half of its 95 % interval, from a score that is kept half a point away from 0 and 1."""
    games = max(1, wins + draws + losses)
    raw = (wins + draws / 2) / games
    score = min(max(raw, 0.5 / games), 1 - 0.5 / games) if games > 1 else 0.5
    variance = max(
        (wins * (1 - raw) ** 2 + draws * (0.5 - raw) ** 2 + losses * raw**2) / games, score * (1 - score) / (4 * games)
    )
    elo = 400 * math.log10(score / (1 - score))
    slope = 400 / math.log(10) / (score * (1 - score))
    return round(elo, 1), round(Z95 * slope * math.sqrt(variance / games), 1)


def play_match(
    first: Opponent, second: Opponent, settings: MatchSettings, report: Callable[[MatchResult], None]
) -> MatchResult:
    """Plays pairs until all games are played or the test decides; `report` is told after each pair."""
    wins = draws = losses = 0
    counts = NO_PAIRS
    result = MatchResult((first.name, second.name), 0, 0, 0, None, None)
    over = Event()
    with ThreadPoolExecutor(settings.threads) as threads:
        try:
            pairs = threads.map(
                lambda pair: _play_pair(first, second, settings, pair, over), range(settings.games // 2)
            )
            for points in pairs:
                wins += points.count(2)
                draws += points.count(1)
                losses += points.count(0)
                counts = add_pair(counts, sum(points))
                ratio, verdict = None, None
                if settings.sprt is not None:
                    ratio = llr(counts, *settings.sprt)
                    if abs(ratio) * 1e6 >= LLR_BOUND_MICRO:
                        verdict = "passed" if ratio > 0 else "failed"
                result = MatchResult((first.name, second.name), wins, draws, losses, ratio, verdict)
                report(result)
                if verdict is not None:
                    break
        finally:  # also when interrupted: threads end after their move, not after their pair
            over.set()
            threads.shutdown(cancel_futures=True)
    if settings.sprt is not None and result.verdict is None:
        result = MatchResult(result.names, wins, draws, losses, result.llr, "undecided")
    return result


def _play_pair(first: Opponent, second: Opponent, settings: MatchSettings, pair: int, over: Event) -> list[int]:
    """The first player's half points in both games of a pair, as black and as white; nothing useful once it is over."""
    seed = hashlib.sha256(SEED_DOMAIN + pair.to_bytes(8, "little")).digest()
    rules, opening = settings.setup(seed)
    points = []
    for swapped in (False, True):
        black, white = (second, first) if swapped else (first, second)
        game = _play(black, white, rules, opening, seed, over)
        if over.is_set():
            break
        if settings.sgf is not None:
            settings.sgf.mkdir(parents=True, exist_ok=True)
            record = encode_sgf(game_record(game, black.name, white.name))
            (settings.sgf / f"{2 * pair + swapped:05d}.sgf").write_bytes(record)
        score = game.score_half()
        points.append(1 if score == 0 else 2 * ((score > 0) != swapped))
    return points


def _play(black: Opponent, white: Opponent, rules: Rules, opening: Sequence[int], seed: bytes, over: Event) -> Game:
    game = Game(rules)
    for move in opening:
        game.play(move)
    while not game.end and not over.is_set():
        player = black if game.to_move == Colour.BLACK else white
        game.play(player.choose(game, seed))
    return game
