"""What a match gave: wins, draws and losses from the first player's side, by colour and by komi, with error bars."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Final

from native.rules import Colour
from node.matches.colours import Colours
from node.matches.move_times import MoveTimes
from node.matches.played_game import PlayedGame
from verification.gate import LLR_BOUND_MICRO, NO_PAIRS, Counts, add_pair, llr

Z95: Final = 1.959964


@dataclass(frozen=True, slots=True)
class Score:
    """Games of one player, as it sees them."""

    wins: int = 0
    draws: int = 0
    losses: int = 0

    @property
    def games(self) -> int:
        """Games played."""
        return self.wins + self.draws + self.losses

    @property
    def share(self) -> float:
        """The share of points, a draw as half a win; 0 without games."""
        return (self.wins + self.draws / 2) / max(1, self.games)

    def __add__(self, other: "Score") -> "Score":
        return Score(self.wins + other.wins, self.draws + other.draws, self.losses + other.losses)

    def add(self, half_points: int) -> "Score":
        """With one more game of 2, 1 or 0 half points."""
        return self + Score(half_points == 2, half_points == 1, half_points == 0)

    def to_json(self) -> dict[str, Any]:
        """Counts, the share, and the Elo difference with its error."""
        elo, error = elo_of(self.wins, self.draws, self.losses)
        return {
            "games": self.games,
            "wins": self.wins,
            "draws": self.draws,
            "losses": self.losses,
            "score": self.share,
            "elo": elo,
            "elo_error": error,
        }


@dataclass(frozen=True, slots=True)
class MatchResult:
    """Counts from the first player's side: `black` and `white` by the colour that it had. `komi` has Black's score, whoever
    was Black, by half points of komi; `forfeits` the games that each player lost by a fault, and the last fault of each;
    `time_s` what a move had and `times` what the players' moves took, both None where moves were not timed;
    `disputes` the games that the rules counted since the engines did not agree."""

    names: tuple[str, str]
    black: Score = Score()
    white: Score = Score()
    komi: tuple[tuple[int, Score], ...] = ()
    different: int = 0
    forfeits: tuple[tuple[str, int, str], ...] = ()
    llr: float | None = None
    verdict: str | None = None
    time_s: float | None = None
    times: tuple[MoveTimes, MoveTimes] | None = None
    disputes: int = 0

    @property
    def total(self) -> Score:
        """All games."""
        return self.black + self.white

    def to_json(self) -> dict[str, Any]:
        """The object that `gonode match --json` prints; an Elo difference without a loss or without a win is bounded
        by half a point."""
        return {
            "players": list(self.names),
            **self.total.to_json(),
            "llr": self.llr,
            "verdict": self.verdict,
            "as_black": self.black.to_json(),
            "as_white": self.white.to_json(),
            "komi": [
                {
                    "komi": half / 2,
                    "games": score.games,
                    "black_wins": score.wins,
                    "draws": score.draws,
                    "white_wins": score.losses,
                    "black_share": score.share,
                    "black_share_95": list(share_interval(score.share, score.games)),
                }
                for half, score in self.komi
            ],
            "different_games": self.different,
            "forfeits": [
                {"player": name, "games": games, "last_reason": reason} for name, games, reason in self.forfeits
            ],
            "disputes": self.disputes,
            "time_s": self.time_s,
            "times": [
                {"moves": each.moves, "mean_s": each.mean_s, "longest_s": each.longest_s, "late": each.late}
                for each in self.times or ()
            ],
        }


@dataclass(slots=True)
class Tally:
    """Counts a match's pairs, in the order of their numbers; `sprt` are the bounds of its test, if it has one."""

    names: tuple[str, str]
    sprt: tuple[int, int] | None
    colours: Colours = Colours.SWAP
    scores: dict[Colour, Score] = field(default_factory=lambda: {Colour.BLACK: Score(), Colour.WHITE: Score()})
    komi: dict[int, Score] = field(default_factory=dict)
    pairs: Counts = NO_PAIRS
    _seen: set[bytes] = field(default_factory=set)
    _forfeits: dict[int, tuple[int, str]] = field(default_factory=dict)
    _disputes: int = 0
    _times: tuple[MoveTimes, MoveTimes] = (MoveTimes(), MoveTimes())

    def add(self, games: Sequence[PlayedGame]) -> None:
        """Counts both games of a pair."""
        points = 0
        for colour, game in zip(map(self.colours.of_first, (0, 1)), games, strict=True):
            half_points = game.half_points(colour)
            points += half_points
            self.scores[colour] = self.scores[colour].add(half_points)
            self.komi[game.komi_half] = self.komi.get(game.komi_half, Score()).add(game.half_points(Colour.BLACK))
            self._seen.add(sha256(f"{game.size} {game.komi_half} {game.moves}".encode()).digest()[:16])
            if game.is_forfeit:
                loser = 0 if half_points == 0 else 1
                self._forfeits[loser] = (self._forfeits.get(loser, (0, ""))[0] + 1, game.reason)
            self._disputes += bool(game.dispute)
            mine, others = self._times
            self._times = mine + game.times_of(colour), others + game.times_of(colour.other)
        self.pairs = add_pair(self.pairs, points)

    def result(self) -> MatchResult:
        """How it stands; `verdict` is None while the test, if there is one, does not decide."""
        ratio = verdict = None
        if self.sprt is not None:
            ratio = llr(self.pairs, *self.sprt)
            if abs(ratio) * 1e6 >= LLR_BOUND_MICRO:
                verdict = "passed" if ratio > 0 else "failed"
        return MatchResult(
            self.names,
            self.scores[Colour.BLACK],
            self.scores[Colour.WHITE],
            tuple(sorted(self.komi.items())),
            len(self._seen),
            tuple((self.names[loser], *counted) for loser, counted in sorted(self._forfeits.items())),
            ratio,
            verdict,
            times=self._times if any(each.moves for each in self._times) else None,
            disputes=self._disputes,
        )


def elo_of(wins: int, draws: int, losses: int) -> tuple[float, float]:
    """Elo difference and half of its 95 % interval, from a score that is kept half a point away from 0 and 1.

    Where all games were won, or lost, the error reaches to the end of the score's own interval: the other end is infinite.
    """
    games = max(1, wins + draws + losses)
    raw = (wins + draws / 2) / games
    score = min(max(raw, 0.5 / games), 1 - 0.5 / games) if games > 1 else 0.5
    variance = max(
        (wins * (1 - raw) ** 2 + draws * (0.5 - raw) ** 2 + losses * raw**2) / games, score * (1 - score) / (4 * games)
    )
    elo = 400 * math.log10(score / (1 - score))
    if raw in (0, 1):
        end = 400 * math.log10(games / Z95**2)  # Wilson's interval ends at the share games / (games + z^2)
        return round(elo, 1), round(abs(abs(elo) - end), 1)
    slope = 400 / math.log(10) / (score * (1 - score))
    return round(elo, 1), round(Z95 * slope * math.sqrt(variance / games), 1)


def share_interval(share: float, games: int) -> tuple[float, float]:
    """The 95 % interval of a share of games (Wilson 1927); 0 to 1 without games."""
    if games == 0:
        return 0.0, 1.0
    weight = Z95**2 / games
    middle = (share + weight / 2) / (1 + weight)
    reach = Z95 / (1 + weight) * math.sqrt(share * (1 - share) / games + weight / (4 * games))
    return round(max(0.0, middle - reach), 4), round(min(1.0, middle + reach), 4)
