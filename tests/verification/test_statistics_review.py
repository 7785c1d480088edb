"""A review of everybody: the strongest of what is found counts, and whom nothing speaks against is reported all the same."""

import numpy as np

from protocol.seeds import PPM
from tests.verification.blocks import block
from tests.verification.crowd import Style, peer, play
from verification.statistics.profile import Profile
from verification.statistics.repeats import GameIndex, game_digest
from verification.statistics.review import joined, review_all
from verification.statistics.suspicion import Suspicion


def test_everybody_is_reviewed() -> None:
    rng = np.random.default_rng(1)
    own = {peer(number): play(rng, 1000) for number in range(8)}
    own[peer(50)] = play(rng, 1000, Style(length=60.0))
    own[peer(51)] = play(rng, 1000, Style(black=0.9))
    games = [block(tuple(int(move) for move in rng.integers(0, 82, 50))) for _ in range(200)]
    index = GameIndex()
    index.add(peer(1), games)
    index.add_digests(peer(2), [(game.header.plies, game_digest(game)) for game in games[:40]])
    reviews = review_all(own, {peer(51): play(rng, 500), peer(3): play(rng, 500)}, index)
    assert reviews.keys() == own.keys()
    asked = {key: review.suspicion for key, review in reviews.items() if review.suspicion is not None}
    assert asked.keys() == {peer(2), peer(50), peer(51)}
    assert (asked[peer(2)].q_ppm, asked[peer(2)].restart) == (PPM, False)
    assert (asked[peer(50)].q_ppm, asked[peer(50)].restart) == (PPM // 2, False)
    assert (asked[peer(51)].q_ppm, asked[peer(51)].restart) == (PPM // 2, True)
    assert reviews[peer(50)].residual.family == "lengths"
    assert reviews[peer(3)].residual.p > 1e-6


def test_nothing_to_review() -> None:
    assert review_all({}, {peer(1): Profile()}, GameIndex()) == {}
    assert joined([]) is None


def test_suspicions_are_joined() -> None:
    both = joined([Suspicion(peer(1), 5, True, "a" * 150), Suspicion(peer(1), 7, False, "b" * 150)])
    assert both is not None
    assert (both.q_ppm, both.restart, len(both.reason)) == (7, True, 200)
