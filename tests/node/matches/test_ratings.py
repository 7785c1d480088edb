"""Ratings: closed forms for two players, transitivity, errors that shrink, and JSON that is JSON."""

import json
import math
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest

from node.matches.ratings import PRIOR_GAMES, Pairing, bradley_terry, release_ratings, state_ratings
from tests.node.homes import grown_world, make_home
from tests.verification.manifests import small_manifest
from tests.verification.world import World
from verification.gate import NO_PAIRS

SCALE = 400 / math.log(10)


@pytest.mark.parametrize(("points", "games"), [(5, 10), (75, 100), (100, 100), (0, 100), (0.5, 1), (399.5, 400)])
def test_two_players_in_closed_form(points: float, games: float) -> None:
    (zero, no_error), (elo, error) = bradley_terry(2, [Pairing(1, 0, points, games)])
    n = games + PRIOR_GAMES
    share = (points + PRIOR_GAMES / 2) / n
    assert (zero, no_error) == (0, 0)
    assert elo == pytest.approx(SCALE * math.log(share / (1 - share)), abs=1e-6)
    assert error == pytest.approx(1.959964 * SCALE / math.sqrt(n * share * (1 - share)), rel=1e-6)


def test_an_even_score_is_no_difference() -> None:
    assert bradley_terry(2, [Pairing(1, 0, 50, 100)])[1][0] == pytest.approx(0, abs=1e-9)


def test_sides_do_not_matter() -> None:
    forth = bradley_terry(2, [Pairing(1, 0, 70, 100)])
    back = bradley_terry(2, [Pairing(0, 1, 30, 100)])
    assert forth[1] == pytest.approx(back[1])


def test_differences_add_up_along_a_chain() -> None:
    pairings = [Pairing(1, 0, 75, 100), Pairing(2, 1, 75, 100), Pairing(3, 2, 75, 100)]
    rated = bradley_terry(4, pairings)
    step = rated[1][0]
    assert [elo for elo, _ in rated] == pytest.approx([0, step, 2 * step, 3 * step], abs=1e-4)
    errors = [error for _, error in rated]
    assert errors == pytest.approx([0, errors[1], errors[1] * math.sqrt(2), errors[1] * math.sqrt(3)], rel=1e-4)


def test_games_against_two_anchor_a_third() -> None:
    """A player who scores the same against equals is rated the same, with less error than from one of them."""
    one = bradley_terry(3, [Pairing(1, 0, 50, 100), Pairing(2, 0, 60, 100)])
    two = bradley_terry(3, [Pairing(1, 0, 50, 100), Pairing(2, 0, 60, 100), Pairing(2, 1, 60, 100)])
    assert two[2][0] == pytest.approx(one[2][0], abs=1)
    assert two[2][1] < one[2][1]


def test_known_maximum() -> None:
    """Three players in a cycle of 2 to 1: everybody is equal."""
    rated = bradley_terry(3, [Pairing(0, 1, 20, 30), Pairing(1, 2, 20, 30), Pairing(2, 0, 20, 30)])
    assert [elo for elo, _ in rated] == pytest.approx([0, 0, 0], abs=1e-6)


def test_who_never_played_has_no_bounds() -> None:
    rated = bradley_terry(5, [Pairing(1, 0, 50, 100), Pairing(3, 4, 80, 100)])
    assert rated[2] == rated[3] == rated[4] == (0, math.inf)
    assert rated[1][1] == pytest.approx(1.959964 * SCALE / math.sqrt(101 * 0.25))


def test_a_long_chain_of_releases() -> None:
    """Each won 70 of 100 against the one before: as far apart as two are, however many they are."""
    rated = bradley_terry(401, [Pairing(number, number - 1, 70, 100) for number in range(1, 401)])
    step = SCALE * math.log(70.5 / 30.5)
    assert [elo for elo, _ in rated] == pytest.approx([step * number for number in range(401)], abs=1e-4)
    assert rated[400][1] == pytest.approx(rated[1][1] * 20, rel=1e-6)


@pytest.mark.parametrize("anchors", [{0: 0.0}, {3: 100.0}, {1: -50.0, 7: 300.0}])
def test_the_maximum_and_its_errors_against_dense_arithmetic(anchors: dict[int, float]) -> None:
    """The expected points are those made, and errors are from the inverse of a whole matrix, for any web of games."""
    rng = Random(5)
    players = 12
    pairs = [(number, rng.randrange(number)) for number in range(1, players)]
    pairs += [(a, b) for a, b in ((rng.randrange(players), rng.randrange(players)) for _ in range(20)) if a != b]
    pairings = [Pairing(a, b, rng.randrange(31), 30) for a, b in pairs]
    rated = bradley_terry(players, pairings, anchors)
    surplus, information = np.zeros(players), np.zeros((players, players))
    for each in pairings:
        share = 1 / (1 + 10 ** ((rated[each.b][0] - rated[each.a][0]) / 400))
        games = each.games + PRIOR_GAMES
        missing = each.points + PRIOR_GAMES / 2 - games * share
        surplus[[each.a, each.b]] += (missing, -missing)
        pair = np.array([1.0, -1.0])
        information[np.ix_([each.a, each.b], [each.a, each.b])] += games * share * (1 - share) * np.outer(pair, pair)
    free = [player for player in range(players) if player not in anchors]
    assert np.abs(surplus[free]).max() < 1e-6
    errors = 1.959964 * SCALE * np.sqrt(np.diag(np.linalg.inv(information[np.ix_(free, free)])))
    assert [rated[player][1] for player in free] == pytest.approx(list(errors), rel=1e-8)
    assert {player: rated[player] for player in anchors} == {player: (elo, 0) for player, elo in anchors.items()}


def test_anchors_far_away_from_what_the_games_say() -> None:
    rated = bradley_terry(
        4, [Pairing(1, 0, 99, 100), Pairing(1, 2, 50, 100), Pairing(3, 1, 99, 100)], {0: -5e3, 3: 5e3}
    )
    assert all(math.isfinite(value) for each in rated for value in each)
    assert rated[0][0] < rated[1][0] < rated[3][0]
    assert rated[2][0] == pytest.approx(rated[1][0], abs=0.1)


def test_releases_are_rated_by_their_gates(tmp_path: Path) -> None:
    world = grown_world()
    rated = state_ratings(world.state)
    assert [each["name"] for each in rated] == [release.name for release in world.state.releases.all[1:]]
    first = world.state.gates.all[0].record
    assert first is not None
    points = sum(k * count for k, count in enumerate(first.counts)) / 2
    share = (points + 0.5) / (2 * first.pairs + 1)
    assert rated[0]["elo"] == pytest.approx(SCALE * math.log(share / (1 - share)), abs=0.06)
    assert release_ratings(make_home(world, tmp_path / "home")) == rated


def test_releases_that_no_gate_decided_have_finite_errors() -> None:
    """A gate that lets everything pass counts no games, and JSON has no infinity."""
    manifest = small_manifest()
    world = World(replace(manifest, gate=replace(manifest.gate, kind="always")))
    world.register("ada")
    world.cycle()
    world.cycle()
    assert [gate.record.counts for gate in world.state.gates.all if gate.record] == [NO_PAIRS] * 2
    rated = state_ratings(world.state)
    assert [each["elo"] for each in rated] == [0, 0]
    assert 0 < rated[0]["elo_error"] < rated[1]["elo_error"]
    json.loads(json.dumps(rated, allow_nan=False))
