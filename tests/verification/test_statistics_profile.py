"""Profiles count what is in the games, add, and come back from their bytes."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.batch import Batch
from protocol.errors import ParseError, ProtocolError
from protocol.game_block import BLACK_WINS, DRAW, WHITE_WINS
from protocol.openings import image
from tests.verification.blocks import batch_of, batches, block
from tests.verification.manifests import digest_of
from verification.statistics.first_moves import first_moves, first_moves_class
from verification.statistics.profile import LENGTH_BINS, Moments, Profile, Stratum, length_bin
from verification.statistics.profile_record import ProfileRecord, encode_profile, parse_profile

RELEASE, CONFIG = digest_of("release"), digest_of("config")


def of(batch: Batch, release: bytes = RELEASE) -> Profile:
    return Profile.of_batch(release, CONFIG, batch)


def test_a_batch_is_counted_by_hand() -> None:
    found = of(
        batch_of(
            [
                block((40, 20, 3), counter=7, result=BLACK_WINS, end=1, score_half=5),
                block((40, 60, 4, 5), counter=8, result=WHITE_WINS, end=2, score_half=-3),
                block((40, 3, 20, 6, 7), counter=9, opening_moves=1, result=DRAW, end=3, score_half=0),
                block((1, 2), counter=10, size=5, result=WHITE_WINS, score_half=-1),
            ]
        )
    )
    nine = found.strata[Stratum(RELEASE, CONFIG, 9, 14)]
    five = found.strata[Stratum(RELEASE, CONFIG, 5, 14)]
    assert len(found.strata) == 2
    assert (found.games, nine.games, five.games) == (4, 3, 1)
    assert nine.results == {DRAW: 1, BLACK_WINS: 1, WHITE_WINS: 1}
    assert nine.ends == {1: 1, 2: 1, 3: 1}
    assert nine.lengths == {0: 3}
    assert five.lengths == {0: 1}
    assert nine.first_moves == {40 * 82 + 20: 2}  # both by the centre, then the same point turned
    assert nine.moves == (12, 50)
    assert nine.score_half == (2, 34)
    assert nine.black_result == (0, 2)
    assert five.black_result == (-1, 1)


@pytest.mark.parametrize("size", [5, 9])
def test_symmetric_beginnings_are_one_class(size: int) -> None:
    area = size * size
    for first, second in ((0, area), (area, area), (3, 7), (area // 2, 1)):
        turned = {tuple(move if move == area else image(move, size, k) for move in (first, second)) for k in range(8)}
        assert len({first_moves_class(*pair, size) for pair in turned}) == 1


def test_classes_number_as_burnside_says() -> None:
    size, area = 5, 25
    pairs = [(a, b) for a in range(area + 1) for b in range(area + 1)]
    fixed = [sum(all(p == area or image(p, size, k) == p for p in pair) for pair in pairs) for k in range(8)]
    assert len({first_moves_class(a, b, size) for a, b in pairs}) == sum(fixed) / 8


def test_beginnings_of_openings_and_of_one_move() -> None:
    assert first_moves(block((1, 2, 3), opening_moves=1)) is None
    assert first_moves(block((0,), size=5)) == 0 * 26 + 25


def test_lengths_fall_into_open_ended_bins() -> None:
    assert [length_bin(moves, 9) for moves in (1, 10, 11, 81, 10**4)] == [0, 0, 1, 8, LENGTH_BINS - 1]


@given(st.lists(batches(), max_size=4))
def test_profiles_add_as_games_do(parts: list[Batch]) -> None:
    games = [game for part in parts for game in part.games]
    total = Profile.merge(of(part) for part in parts)
    assert total == of(Batch(tuple(games)))
    assert total == Profile.merge(of(part) for part in reversed(parts))
    assert total.games == len(games)


@given(batches(), batches(), batches())
def test_addition_is_associative_and_leaves_its_terms(a: Batch, b: Batch, c: Batch) -> None:
    x, y, z = of(a), of(b, digest_of("other")), of(c)
    before = encode_profile(x)
    assert (x + y) + z == x + (y + z) == z + y + x
    assert x + Profile() == x
    assert encode_profile(x) == before


@given(batches(), batches())
def test_profiles_come_back_from_their_bytes(a: Batch, b: Batch) -> None:
    profile = of(a) + of(b, digest_of("other"))
    data = encode_profile(profile)
    assert parse_profile(data) == profile
    assert encode_profile(parse_profile(data)) == data


@given(batches(), batches())
def test_releases_can_be_forgotten(a: Batch, b: Batch) -> None:
    assert (of(a) + of(b, digest_of("other"))).of_releases([RELEASE]) == of(a)


PLAYED = of(batch_of([block((1, 2), size=5), block((1, 2), counter=1, size=5), block((40, 20), counter=2)]))
GOOD = ProfileRecord.parse(encode_profile(PLAYED)).strata


@pytest.mark.parametrize(
    "change",
    [
        {"results": (1, 1, 2)},
        {"results": (2, 1, 1, 1)},
        {"results": (1, 1, 1, 1)},
        {"results": (3, 2)},
        {"results": (1, 0)},
        {"ends": (0, 2)},
        {"lengths": (LENGTH_BINS, 2)},
        {"lengths": (0, 1)},
        {"first_moves": (26 * 26, 1)},
        {"first_moves": (0, 3)},
        {"size": 20},
    ],
)
def test_counts_that_contradict_each_other_are_refused(change: dict[str, object]) -> None:
    with pytest.raises(ParseError):
        replace(GOOD[0], **change)  # type: ignore[arg-type]


def test_strata_have_one_order() -> None:
    with pytest.raises(ParseError, match="order"):
        ProfileRecord(GOOD[::-1])
    with pytest.raises(ParseError, match="order"):
        ProfileRecord((GOOD[0], GOOD[0]))


@given(st.binary(max_size=60))
def test_other_bytes_raise_named_errors(data: bytes) -> None:
    with pytest.raises(ProtocolError):
        parse_profile(data)


def test_moments_are_sums() -> None:
    assert Moments.of([1, -2, 3]) == (2, 14)
    assert Moments.merge([]) == (0, 0)
