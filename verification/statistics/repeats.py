"""Games that somebody else played before: an index of digests, and whether one contributor repeats too many.

Pure, in memory. Short games repeat honestly, and so do long ones of a network that hardly varies. Therefore only games
of `least_plies` searched plies or more count, and a contributor's share of repeated games is held against that of the
others. A repeated game rejects nothing.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from protocol.game_block import HEADER_BYTES, GameBlock
from verification.statistics.gamma import poisson_tail
from verification.statistics.residual import FALSE_ALARM

MOST_GAMES: Final = 250_000
"""How many games an index remembers, some 150 bytes each."""
LEAST_REPEATS: Final = 3


def game_digest(game: GameBlock) -> bytes:
    """SHA-256("gonode/game/v1\\0" | u8 size | i16 komi_half | u16 each move): the same for the same game of anybody."""
    header = game.header
    setup = header.size.to_bytes(1, "little") + header.komi_half.to_bytes(2, "little", signed=True)
    return hashlib.sha256(b"gonode/game/v1\0" + setup + game.raw[HEADER_BYTES : header.moves_end]).digest()


def least_plies(games: int) -> int:
    """How many searched plies a game has to have to count, among `games` games: 2 log2(games) + 10, rounded up.

    N games are fewer than N^2 / 2 pairs. Where each searched ply leaves the next move a bit of surprise (two games that
    agreed so far go on alike with probability 1/2), two given games of L plies agree with probability 2^-L, thus any two of
    them with less than N^2 2^-L / 2 <= 2^-11. Runs with less surprise are what `GameIndex.chance` is for.
    """
    return 2 * games.bit_length() + 10 if games > 1 else 10


@dataclass(frozen=True, slots=True)
class Repeats:
    """Of one contributor: long games, and how many of these somebody else had played before."""

    games: int = 0
    repeated: int = 0

    def __add__(self, other: "Repeats") -> "Repeats":
        return Repeats(self.games + other.games, self.repeated + other.repeated)


class GameIndex:
    """Who was first to log a game, for at least the latest `most / 2` and at most `most` different long games, and each
    contributor's repeats.

    Fill it in log order, each batch once: a copy is logged after what it copies.
    """

    def __init__(self, most: int = MOST_GAMES) -> None:
        self._half = max(1, most // 2)
        self._first: dict[bytes, bytes] = {}  # digest to contributor
        self._older: dict[bytes, bytes] = {}  # what `_first` was when it was full
        self._repeats: dict[bytes, Repeats] = {}
        self._total = Repeats()
        self._seen = 0

    def add(self, peer: bytes, games: Iterable[GameBlock]) -> int:
        """Counts a batch of `peer`; gives how many of its long games another peer had already."""
        return self.add_digests(peer, ((game.header.plies, game_digest(game)) for game in games))

    def add_digests(self, peer: bytes, games: Iterable[tuple[int, bytes]]) -> int:
        """The same, of a batch of which only the searched plies and the digest of each game were kept."""
        counted = repeated = 0
        for plies, digest in games:
            self._seen += 1
            if plies >= least_plies(self._seen):
                counted += 1
                repeated += self._first_peer(digest, peer) != peer
        found = Repeats(counted, repeated)
        self._repeats[peer] = self.repeats(peer) + found
        self._total += found
        return repeated

    def _first_peer(self, digest: bytes, peer: bytes) -> bytes:
        """Who had a game first, which is `peer` if nobody had it; remembers that."""
        if len(self._first) >= self._half:
            self._first, self._older = {}, self._first
        return self._first.setdefault(digest, self._older.get(digest, peer))

    @property
    def peers(self) -> tuple[bytes, ...]:
        """The contributors seen, in order of their first batch."""
        return tuple(self._repeats)

    def repeats(self, peer: bytes) -> Repeats:
        """What `peer` repeated so far."""
        return self._repeats.get(peer, Repeats())

    def others(self, peer: bytes) -> Repeats:
        """What all but `peer` repeated so far."""
        own = self.repeats(peer)
        return Repeats(self._total.games - own.games, self._total.repeated - own.repeated)

    def chance(self, peer: bytes) -> float:
        """The chance of as many repeats or more if `peer` repeated games as often as the others (Poisson).

        The others' rate is (repeated + 1) / (games + 1): while they have few games, no number of repeats surprises.
        """
        own, others = self.repeats(peer), self.others(peer)
        rate = min(1.0, (others.repeated + 1) / (others.games + 1))
        return poisson_tail(own.repeated, own.games * rate)

    def is_flagged(self, peer: bytes) -> bool:
        """Whether `peer` repeats so many that q rises: `LEAST_REPEATS`, with a chance below 0.001 over all contributors."""
        if self.repeats(peer).repeated < LEAST_REPEATS:
            return False
        return self.chance(peer) * len(self._repeats) < FALSE_ALARM
