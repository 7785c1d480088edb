"""Poisoned windows are refused by name, with the batch and the game."""

import struct
from pathlib import Path
from typing import Any

import pytest

from native.packed import pack_game, packed_facts
from native.rules import Rules
from tests.native.blocks import game_block
from trainer.__main__ import main
from trainer.data.health import verify_window
from trainer.data.reader import read_window
from trainer.data.rows import Window
from trainer.errors import NoRows, PoisonedWindow, PolicyNotFinite, RepeatedGame, ValueOffRange
from trainer.job import Job

RULES = Rules(5, 5, 3, move_cap=30)
ROW_AT = 32 + 2 * 4  # header and areas of 5x5, then starts


def game_of(first: int, plies: int = 12) -> bytes:
    """A packed game whose moves begin at `first`; all searches are full."""
    moves = [(first + 2 * i) % 25 for i in range(plies - 2)]
    return pack_game(RULES, game_block(RULES, [*moves, 25, 25]))


def row_at(game: bytes, row: int) -> int:
    """Where a row begins."""
    return int(struct.unpack_from("<I", game, ROW_AT + 4 * row)[0])


def edited(game: bytes, at: int, value: bytes) -> bytes:
    changed = game[:at] + value + game[at + len(value) :]
    packed_facts(changed)
    return changed


GOOD = [game_of(first) for first in range(8)]


def test_a_window_of_different_games_is_fit() -> None:
    verify_window(Window.of(GOOD))


def test_no_rows() -> None:
    with pytest.raises(NoRows, match="no rows to train on"):
        verify_window(Window.of(GOOD, [True] * len(GOOD)))
    verify_window(Window.of(GOOD, [True] * (len(GOOD) - 1) + [False]))


@pytest.mark.parametrize("weight", [0, 1, 39_999])
def test_a_policy_that_is_no_distribution_is_named(weight: int) -> None:
    game = GOOD[3]
    weights = row_at(game, 4 + 1) - 4  # of the move and of the pass, at the end of row 4
    none = edited(game, weights, struct.pack("<HH", weight, 0))
    with pytest.raises(PolicyNotFinite, match=r"row 4 of game 3 of batch memory is no distribution"):
        verify_window(Window.of([*GOOD[:3], none, *GOOD[4:]]))


@pytest.mark.parametrize("value", [(1 << 24) + 1, -(1 << 24) - 1, 2**31 - 1])
def test_a_value_off_its_range_is_named(value: int) -> None:
    wrong = edited(GOOD[1], row_at(GOOD[1], 2) + 1, struct.pack("<i", value))
    with pytest.raises(ValueOffRange, match=r"row 2 of game 1 of batch memory"):
        verify_window(Window.of([GOOD[0], wrong]))
    score = edited(GOOD[1], 12, struct.pack("<i", 10**6))
    with pytest.raises(ValueOffRange, match=r"game 1 of batch memory"):
        verify_window(Window.of([GOOD[0], score]))


def test_one_game_repeated_is_named() -> None:
    verify_window(Window.of([*GOOD[1:], *[GOOD[0]] * 8]))
    with pytest.raises(RepeatedGame, match=r"9 times in the window of 16 games.* game 7 of batch memory"):
        verify_window(Window.of([*GOOD[1:], *[GOOD[0]] * 9]))


def test_many_games_allow_one_to_repeat_in_a_hundred() -> None:
    different = [game_of(first, plies) for first in range(25) for plies in range(10, 16)]
    rest = [different[i % 150] for i in range(1100)]  # each 7 or 8 times
    with pytest.raises(RepeatedGame):
        verify_window(Window.of([*rest, *[game_of(3, 16)] * 12]))
    verify_window(Window.of([*rest, *[game_of(3, 16)] * 11]))


def test_short_games_may_repeat() -> None:
    short = [game_of(2, 9)]
    assert packed_facts(short[0]).moves == 9
    verify_window(Window.of([*GOOD, *short * 50]))
    with pytest.raises(RepeatedGame):
        verify_window(Window.of([*GOOD, *[game_of(2, 10)] * 50]))


def test_a_run_that_played_one_game_over_and_over_is_refused_by_its_cycle(
    make_job: Any, blocks_7: list[bytes], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from tests.trainer.conftest import store_batches

    same = [struct.pack("<Q", counter) + blocks_7[0][8:] for counter in range(12)]
    path = make_job(store_batches(tmp_path, same), held_out_ppm=0)
    job = Job.load(path)
    with pytest.raises(RepeatedGame) as caught:
        read_window(job.batches, job.manifest, lambda file, why: pytest.fail(why))
    assert issubclass(RepeatedGame, PoisonedWindow)
    assert job.batches[0].name in str(caught.value)
    assert main(["cycle", str(path)]) == 1
    assert capsys.readouterr().err == f"{caught.value}\n"
