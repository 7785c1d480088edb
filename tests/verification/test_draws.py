"""Shares of replay and who verifies."""

from collections import Counter
from dataclasses import replace

import pytest

from protocol.seeds import PPM
from tests.verification.manifests import digest_of, small_manifest
from verification.draws import assigned_verifier, drawn_gate_games
from verification.probation import q_ppm

POLICY = small_manifest().admission


@pytest.mark.parametrize(
    ("accepted", "passed", "k", "q_min", "q"),
    [
        (0, False, 10, 50_000, PPM),
        (9, True, 10, 50_000, PPM),
        (10, False, 10, 50_000, PPM),
        (10, True, 10, 50_000, PPM),
        (30, True, 10, 50_000, 333_334),
        (10_000, True, 10, 50_000, 50_000),
    ],
)
def test_share_of_replay(accepted: int, passed: bool, k: int, q_min: int, q: int) -> None:
    policy = replace(POLICY, probation_batches=k, q_min_ppm=q_min)
    assert q_ppm(accepted, passed, policy) == q


def test_assignment_is_by_rank_and_fair() -> None:
    keys = [digest_of(f"verifier {n}") for n in range(4)]
    beacon = digest_of("beacon")
    chosen = Counter(assigned_verifier(beacon, digest_of(f"batch {n}"), keys) for n in range(400))
    assert set(chosen) == set(keys)
    assert min(chosen.values()) > 60
    assert assigned_verifier(beacon, beacon, ()) is None
    assert assigned_verifier(beacon, beacon, keys) == assigned_verifier(beacon, beacon, keys[::-1])


def test_gate_replay_draws_whole_pairs() -> None:
    beacon, result = digest_of("beacon"), digest_of("result")
    assert drawn_gate_games(beacon, result, 3, PPM) == (0, 1, 2, 3, 4, 5)
    assert drawn_gate_games(beacon, result, 3, 0) == ()
    drawn = drawn_gate_games(beacon, result, 2000, 250_000)
    assert all(game + 1 in drawn for game in drawn if game % 2 == 0)
    assert 400 < len(drawn) // 2 < 600
