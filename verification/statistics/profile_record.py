"""A profile as a canonical record, so that a node keeps it in its store; never signed, never sent.

Invariants: `parse_profile(encode_profile(p)) == p`; equal profiles have equal bytes; counters are lists of key and count in
turn, keys rising, counts above 0. Bytes that no profile encodes to raise the protocol's named errors.
"""

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, Final

from protocol.game_block import DRAW, END_CAP, END_PASSES, WHITE_WINS
from protocol.record import Record
from protocol.types import I16, I64, U64, Digest, Size
from verification.statistics.profile import LENGTH_BINS, Counts, Moments, Profile, Stratum

MAX_BYTES: Final = 64 * 2**20


@dataclass(frozen=True, slots=True)
class StratumRecord(Record):
    """One stratum and its counts."""

    release: Digest
    config: Digest
    size: Size
    komi_half: I16
    results: tuple[U64, ...]
    ends: tuple[U64, ...]
    lengths: tuple[U64, ...]
    first_moves: tuple[U64, ...]
    moves: U64
    moves_squares: U64
    score_half: I64
    score_half_squares: U64

    def check(self) -> None:
        moves = self.size * self.size + 1
        games = self._total("results", self.results, DRAW, WHITE_WINS)
        ends = self._total("ends", self.ends, END_PASSES, END_CAP)
        lengths = self._total("lengths", self.lengths, 0, LENGTH_BINS - 1)
        begun = self._total("first moves", self.first_moves, 0, moves * moves - 1)
        if not games == ends == lengths or begun > games:
            raise self.fail("its counts are not of the same games")

    def _total(self, what: str, flat: tuple[int, ...], low: int, high: int) -> int:
        keys, counts = flat[::2], flat[1::2]
        rising = all(a < b for a, b in zip((low - 1, *keys), (*keys, high + 1), strict=True))
        if len(flat) % 2 or not rising or not all(counts):
            raise self.fail(f"{what} are not rising keys with counts")
        return sum(counts)


@dataclass(frozen=True, slots=True)
class ProfileRecord(Record):
    """All strata, in order."""

    NAME = "profile"
    MAX_BYTES: ClassVar[int] = MAX_BYTES

    strata: tuple[StratumRecord, ...]

    def check(self) -> None:
        keys = [_stratum(each) for each in self.strata]
        if any(a >= b for a, b in pairwise(keys)):
            raise self.fail("its strata are not in order")


def encode_profile(profile: Profile) -> bytes:
    """The canonical bytes; raises TooLarge over `MAX_BYTES`."""
    return ProfileRecord(tuple(_lower(*item) for item in sorted(profile.strata.items(), key=_key))).encode()


def parse_profile(data: bytes) -> Profile:
    """The profile of canonical bytes; raises ParseError, NotCanonical or TooLarge."""
    return Profile({_stratum(each): _lift(each) for each in ProfileRecord.parse(data).strata})


def _key(item: tuple[Stratum, Counts]) -> Stratum:
    return item[0]


def _stratum(record: StratumRecord) -> Stratum:
    return Stratum(record.release, record.config, record.size, record.komi_half)


def _lower(stratum: Stratum, counts: Counts) -> StratumRecord:
    return StratumRecord(
        release=stratum.release,
        config=stratum.config,
        size=stratum.size,
        komi_half=stratum.komi_half,
        results=_flat(counts.results),
        ends=_flat(counts.ends),
        lengths=_flat(counts.lengths),
        first_moves=_flat(counts.first_moves),
        moves=counts.moves.total,
        moves_squares=counts.moves.squares,
        score_half=counts.score_half.total,
        score_half_squares=counts.score_half.squares,
    )


def _lift(record: StratumRecord) -> Counts:
    return Counts(
        results=_counter(record.results),
        ends=_counter(record.ends),
        lengths=_counter(record.lengths),
        first_moves=_counter(record.first_moves),
        moves=Moments(record.moves, record.moves_squares),
        score_half=Moments(record.score_half, record.score_half_squares),
    )


def _flat(counter: Counter[int]) -> tuple[int, ...]:
    return tuple(number for item in sorted(counter.items()) for number in item)


def _counter(flat: tuple[int, ...]) -> Counter[int]:
    return Counter(dict(zip(flat[::2], flat[1::2], strict=True)))
