"""What statistics recommend becomes a logged order as it stands."""

import numpy as np
import pytest

from protocol.orders import Scrutiny
from protocol.seeds import PPM
from tests.verification.blocks import block
from tests.verification.crowd import Style, peer, play
from tests.verification.manifests import digest_of
from verification.statistics.profile import Profile
from verification.statistics.repeats import GameIndex
from verification.statistics.residual import Residual
from verification.statistics.suspicion import Suspicion, describe, suspect_repeats, suspect_results, suspect_tails


def scrutiny(suspicion: Suspicion) -> Scrutiny:
    """The order that the coordinator logs for a suspicion."""
    return Scrutiny(digest_of("run"), suspicion.peer, suspicion.q_ppm, 10**6, suspicion.restart, suspicion.reason)


def test_a_residual_in_words() -> None:
    residual = Residual("results", 45.12, 8, 3.4e-7, 5.21)
    assert (
        describe(residual)
        == "results differ from the others': chi-squared 45.1 at 8 degrees of freedom, p 3e-07, z 5.2"
    )
    assert len(describe(Residual("first moves", 1e12, 10**4, 0.0, 1e6))) <= 200


def test_strange_games_are_replayed_by_half() -> None:
    rng = np.random.default_rng(1)
    profiles = {peer(number): play(rng, 1000) for number in range(10)}
    assert suspect_results(profiles) == ()
    profiles[peer(50)] = play(rng, 1000, Style(length=60.0))
    (found,) = suspect_results(profiles)
    assert (found.peer, found.q_ppm, found.restart) == (peer(50), PPM // 2, False)
    assert found.reason.startswith("lengths differ from the others': chi-squared ")
    assert Scrutiny.parse(scrutiny(found).encode()) == scrutiny(found)


def test_copied_games_are_replayed_all() -> None:
    rng = np.random.default_rng(2)
    games = [block(tuple(int(move) for move in rng.integers(0, 82, 50))) for _ in range(200)]
    index = GameIndex()
    index.add(peer(1), games)
    assert suspect_repeats(index) == ()
    index.add(peer(2), games[:40])
    (found,) = suspect_repeats(index)
    assert (found.peer, found.q_ppm, found.restart) == (peer(2), PPM, False)
    assert found.reason.startswith("40 of 40 long games were played by others before, who repeat 0 of 200: p ")
    assert scrutiny(found).reason == found.reason


def test_picked_games_restart_probation() -> None:
    rng = np.random.default_rng(3)
    honest, liked = play(rng, 500), play(rng, 1000, Style(black=0.8))
    assert suspect_tails(peer(1), play(rng, 1000), honest) is None
    assert suspect_tails(peer(1), Profile(), Profile()) is None
    found = suspect_tails(peer(1), liked, honest, play(rng, 5000))
    assert found is not None
    assert found.restart
    assert found.reason.startswith("submitted games differ from those filled in by others: z ")
    assert found.reason.endswith(" in result (1000 and 500 games)")
    assert scrutiny(found).restart


def test_a_reason_is_one_printable_line() -> None:
    with pytest.raises(ValueError, match="reason"):
        Suspicion(peer(1), PPM, False, "a\nb")
