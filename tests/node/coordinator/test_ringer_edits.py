"""Ringers' edits: each passes every check but a replay, and differs from its search at one ply only."""

from random import Random

import pytest

from native.errors import EngineError
from native.network import Kernel
from native.pool import Job
from node.coordinator.ringer_edits import EDITS, Edit, diverted, policy_target, spliced, visits
from protocol.game_block import KIND_FULL, GameBlock
from tests.verification.world import World
from verification.admission import check_game
from verification.replay import repeat_ply
from verification.setup import SelfplaySeries, selfplay_series


@pytest.fixture(scope="module")
def played() -> tuple[World, SelfplaySeries, Job, GameBlock]:
    """A world and its first game."""
    world = World()
    key = world.register("ada")
    series = selfplay_series(world.state, world.state.release, key.public)
    job = series.job(0, world.player(world.state.release))
    return world, series, job, GameBlock.parse(world.play_blocks([job])[0])


def wrong_plies(job: Job, block: GameBlock) -> list[int]:
    """The plies that their searches do not give."""
    return [ply for ply in block.plies if repeat_ply(job, block.moves, ply, Kernel.BEST).record() != block.record(ply)]


@pytest.mark.parametrize("edit", EDITS)
def test_an_edit_makes_one_ply_wrong(played: tuple[World, SelfplaySeries, Job, GameBlock], edit: Edit) -> None:
    _, series, job, block = played
    full = [ply for ply, kind in zip(block.plies, block.kinds, strict=True) if kind == KIND_FULL]
    for seed, ply in enumerate((full[0], full[-1])):
        raw = edit(block, ply, Random(seed))
        assert raw is not None
        edited = GameBlock.parse(raw)
        check_game(edited, series.setup(0), series.search, 0)
        assert edited.moves == block.moves
        assert wrong_plies(job, edited) == [ply]


def test_a_fast_ply_has_no_target_to_change(played: tuple[World, SelfplaySeries, Job, GameBlock]) -> None:
    block = played[3]
    fast = next(ply for ply, kind in zip(block.plies, block.kinds, strict=True) if kind != KIND_FULL)
    assert policy_target(block, fast, Random(0)) is None
    assert visits(block, fast, Random(0)) is not None


def test_another_move_makes_one_ply_wrong_and_all_that_follows_is_searched(
    played: tuple[World, SelfplaySeries, Job, GameBlock],
) -> None:
    world, series, job, block = played
    made = 0
    for seed, ply in enumerate(block.plies):
        rest = diverted(job, block, ply, Random(seed))
        if rest is None:
            continue
        try:
            raw = spliced(block, ply, GameBlock.parse(world.play_blocks([rest])[0]))
        except (AssertionError, EngineError):
            continue  # the game ends with that move
        edited = GameBlock.parse(raw)
        assert edited.moves[:ply] == block.moves[:ply]
        assert edited.moves[ply] != block.moves[ply]
        assert edited.visits(ply) == block.visits(ply)
        check_game(edited, series.setup(0), series.search, 0)
        assert wrong_plies(job, edited) == [ply]
        made += 1
    assert made > 3
