"""Seeds and draws: against the formulas written out by hand, and their distributions."""

import hmac
from collections import Counter
from hashlib import sha256

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol import seeds
from protocol.errors import ParseError

A, B, C, D, E = (bytes([n]) * 32 for n in range(1, 6))


def le(number: int, size: int = 8) -> bytes:
    return number.to_bytes(size, "little")


def test_formulas() -> None:
    def digest(*parts: bytes) -> bytes:
        return sha256(b"".join(parts)).digest()

    assert seeds.run_id(b"root", b"manifest") == digest(b"gonode/run/v1\0", le(4), b"root", le(8), b"manifest")
    assert seeds.beacon_share(A, B, 9, C) == hmac.new(A, b"gonode/beacon/v1\0" + B + le(9) + C, sha256).digest()
    assert seeds.beacon(A, 9, B, {D: C, C: E}) == digest(b"gonode/beacon/v1\0", A, le(9), B, E, C)
    assert seeds.join_nonce(A, B, C) == digest(b"gonode/join/v1\0", A, B, C)
    n = le(32)
    assert seeds.game_seed(A, B, C, D, E, 5) == digest(b"gonode/seed/v1\0", n, A, n, B, n, C, n, D, n, E, le(5))
    assert seeds.gate_seed(A, B, C, D, 5) == digest(b"gonode/gate/v1\0", A, B, C, D, le(5))
    assert seeds.first_net_key(A) == digest(b"gonode/init/v1\0", A)
    assert seeds.epoch_hash(A, B, 5, C) == digest(b"gonode/epoch/v1\0", A, B, le(5), C)
    assert seeds.verifier_rank(A, B, C) == digest(A, B, C)
    assert seeds.work(A, B, C, [D, E]) == digest(b"gonode/work/v1\0", A, B, C, D, E)
    number = int.from_bytes(digest(b"gonode/setup/v1\0", A, b"komi")[:8], "little")
    assert seeds.setup_draw(A, "komi", [1] * 97) == number % 97
    assert seeds.philox_key(bytes(range(32))) == (0x03020100, 0x07060504)
    assert seeds.log_origin(A) == "gonode/" + "01" * 32


@settings(deadline=None)
@given(st.integers(0, 1_000_000), st.integers(0, 2**32 - 1))
def test_a_game_is_drawn_below_the_threshold(q_ppm: int, game: int) -> None:
    message = b"gonode/draw/v1\0" + B + le(7) + C + le(game, 4)
    number = int.from_bytes(hmac.new(A, message, sha256).digest()[:8], "little")
    assert seeds.is_drawn(A, B, 7, C, game, q_ppm) == (number < q_ppm * 2**64 // 10**6)


def test_draws_at_the_ends_and_between() -> None:
    assert seeds.drawn_games(A, B, 7, C, 100, 0) == ()
    assert seeds.drawn_games(A, B, 7, C, 100, 1_000_000) == tuple(range(100))
    assert seeds.draw_threshold(1_000_000) == 2**64
    assert 400 < len(seeds.drawn_games(A, B, 7, C, 10_000, 50_000)) < 600
    for q_ppm in (-1, 1_000_001):
        with pytest.raises(ParseError):
            seeds.draw_threshold(q_ppm)


def test_a_second_verifier_is_assigned_to_one_batch_in_ten() -> None:
    headers = [sha256(le(n)).digest() for n in range(5000)]
    assert 400 < sum(seeds.is_second_assigned(A, header) for header in headers) < 600
    assert 400 < sum(seeds.is_picked("gate-replay", A, header, 100_000) for header in headers) < 600
    assert not any(seeds.is_picked("gate-replay", A, header, 0) for header in headers)
    assert all(seeds.is_picked("gate-replay", A, header, 1_000_000) for header in headers)


def test_setup_draws_follow_their_weights() -> None:
    drawn = Counter(seeds.setup_draw(sha256(le(n)).digest(), "size", [1, 0, 3]) for n in range(4000))
    assert drawn[1] == 0
    assert 850 < drawn[0] < 1150


@settings(deadline=None)
@given(st.lists(st.integers(0, 2**61), min_size=1, max_size=6).filter(any), st.sampled_from(seeds.SETUP_DRAWS))
def test_a_setup_draw_has_a_weight(weights: list[int], what: str) -> None:
    assert weights[seeds.setup_draw(A, what, weights)] > 0


def test_nothing_without_a_fixed_length_is_hashed_unmarked() -> None:
    short = bytes(31)
    for call in (
        lambda: seeds.beacon_share(short, A, 1, B),
        lambda: seeds.beacon(A, 1, B, {C: short}),
        lambda: seeds.join_nonce(A, short, B),
        lambda: seeds.game_seed(A, B, C, D, short, 1),
        lambda: seeds.game_seed(A, B, C, D, E, -1),
        lambda: seeds.gate_seed(A, B, C, D, 2**64),
        lambda: seeds.verifier_rank(A, B, short),
        lambda: seeds.work(A, B, C, [short]),
        lambda: seeds.is_drawn(A, B, 1, C, 2**32, 1),
        lambda: seeds.setup_draw(A, "size", []),
    ):
        with pytest.raises(ParseError):
            call()
