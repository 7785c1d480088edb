"""Random games: the engine against the slow reference, move by move, over all rules and sizes (`make soak`: 10^5)."""

from __future__ import annotations

import hashlib

import pytest

from tests.native.random_games import KINDS, play_both

GAMES = 500
PARTS = 10
# SHA-256 over all games of a part: positions, legal sets, ends, scores, planes. The same on every machine.
HASHES = [
    "0013bd5e48a85404",
    "d086381a8a250acf",
    "65a265a0392ead71",
    "792ea74e18e15330",
    "59d240cde40f6cd4",
    "54aca04a46976522",
    "0a77a62607bf46db",
    "6b2b99bd242ee57a",
    "171daa5438ac2ed9",
    "394495f147db87c5",
]


@pytest.mark.parametrize("part", range(PARTS))
def test_random_games_equal_the_reference(part: int) -> None:
    total = hashlib.sha256()
    for number in range(part, GAMES, PARTS):
        total.update(play_both(number))
    assert total.hexdigest()[:16] == HASHES[part]


def test_the_games_cover_all_rules() -> None:
    assert len(set(KINDS)) == 3 * 2 * 3 * 2
    assert len(KINDS) < GAMES
