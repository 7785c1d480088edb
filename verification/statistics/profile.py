"""A contributor's games as counts: how they ended, how long they were, how they began; what a node keeps instead of them.

Profiles add, over batches, releases and contributors alike; all numbers are integers, so sums do not depend on order. A
stratum holds the games that are alike by rule: same release, search config, board size and komi. It grows by at most one
row a game, and has a few hundred rows where games begin alike. `profile_record` is the form to keep. Counters in a profile
are never changed once it is made.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Self

from protocol.batch import Batch
from protocol.game_block import BLACK_WINS, WHITE_WINS, GameBlock
from verification.statistics.first_moves import first_moves

BINS_PER_BOARD: Final = 8
LENGTH_BINS: Final = 24


class Stratum(NamedTuple):
    """What has to be equal before games are compared: release and config digests, board size, komi in half points."""

    release: bytes
    config: bytes
    size: int
    komi_half: int


class Moments(NamedTuple):
    """The sum and the sum of squares of an integer measure over games."""

    total: int = 0
    squares: int = 0

    @classmethod
    def of(cls, numbers: Sequence[int]) -> Self:
        """The moments of these numbers."""
        return cls(sum(numbers), sum(number * number for number in numbers))

    @classmethod
    def merge(cls, parts: Iterable["Moments"]) -> Self:
        """The moments of all numbers that `parts` are of."""
        total = squares = 0
        for part in parts:
            total += part.total
            squares += part.squares
        return cls(total, squares)


def length_bin(moves: int, size: int) -> int:
    """The bin of a game's length, the opening included: an eighth of the board's points wide, the last one open."""
    return min(LENGTH_BINS - 1, BINS_PER_BOARD * moves // (size * size))


@dataclass(frozen=True, slots=True)
class Counts:
    """The games of one stratum.

    `results` by DRAW, BLACK_WINS, WHITE_WINS; `ends` by END_*; `lengths` by `length_bin`; `first_moves` by class, of
    games without an opening. `moves` and `score_half` (black minus white, komi included) are moments over all games.
    """

    results: Counter[int]
    ends: Counter[int]
    lengths: Counter[int]
    first_moves: Counter[int]
    moves: Moments
    score_half: Moments

    @classmethod
    def of(cls, games: Sequence[GameBlock]) -> Self:
        """The counts of these games."""
        headers = [game.header for game in games]
        return cls(
            Counter(header.result for header in headers),
            Counter(header.end for header in headers),
            Counter(length_bin(header.moves, header.size) for header in headers),
            Counter(begun for game in games if (begun := first_moves(game)) is not None),
            Moments.of([header.moves for header in headers]),
            Moments.of([header.score_half for header in headers]),
        )

    @classmethod
    def merge(cls, parts: Sequence["Counts"]) -> Self:
        """The counts of all games of `parts`, which have none in common."""
        return cls(
            _merged(part.results for part in parts),
            _merged(part.ends for part in parts),
            _merged(part.lengths for part in parts),
            _merged(part.first_moves for part in parts),
            Moments.merge(part.moves for part in parts),
            Moments.merge(part.score_half for part in parts),
        )

    @property
    def games(self) -> int:
        """The number of games."""
        return self.results.total()

    @property
    def black_result(self) -> Moments:
        """The moments of 1 for a game that black won, -1 for one that white won, 0 for a draw."""
        black, white = self.results[BLACK_WINS], self.results[WHITE_WINS]
        return Moments(black - white, black + white)


@dataclass(frozen=True, slots=True)
class Profile:
    """Counts by stratum; `a + b` are the games of both."""

    strata: Mapping[Stratum, Counts] = field(default_factory=dict)

    @classmethod
    def of_batch(cls, release: bytes, config: bytes, batch: Batch) -> Self:
        """The profile of a batch played with a release (its id) under a search config (its digest)."""
        games: defaultdict[Stratum, list[GameBlock]] = defaultdict(list)
        for game in batch.games:
            games[Stratum(release, config, game.header.size, game.header.komi_half)].append(game)
        return cls({stratum: Counts.of(alike) for stratum, alike in games.items()})

    @classmethod
    def merge(cls, profiles: Iterable["Profile"]) -> Self:
        """The profile of all games of `profiles`, which have none in common."""
        parts: defaultdict[Stratum, list[Counts]] = defaultdict(list)
        for profile in profiles:
            for stratum, counts in profile.strata.items():
                parts[stratum].append(counts)
        return cls({stratum: Counts.merge(each) for stratum, each in parts.items()})

    def __add__(self, other: "Profile") -> "Profile":
        return Profile.merge((self, other))

    @property
    def games(self) -> int:
        """The number of games in all strata."""
        return sum(counts.games for counts in self.strata.values())

    def of_releases(self, releases: Iterable[bytes]) -> "Profile":
        """The part played with these releases: the rest may be forgotten."""
        kept = frozenset(releases)
        return Profile({stratum: counts for stratum, counts in self.strata.items() if stratum.release in kept})


def _merged(counters: Iterable[Counter[int]]) -> Counter[int]:
    total: Counter[int] = Counter()
    for counter in counters:
        total.update(counter)
    return total
