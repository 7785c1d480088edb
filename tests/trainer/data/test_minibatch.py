"""Rows under symmetries, and boards of several sizes on one canvas."""

from typing import Any

import numpy as np
import pytest

from protocol.manifest import Manifest
from trainer.data.minibatch import collate, symmetry_maps
from trainer.data.reader import read_window
from trainer.data.rows import Window
from trainer.job import Job


def window_of(make_job: Any, batches: list[dict[str, Any]]) -> Window:
    job = Job.load(make_job(batches))
    return read_window(job.batches, job.manifest, lambda file, why: pytest.fail(why))[0]


@pytest.fixture
def mixed(make_job: Any, mixed_batches: list[dict[str, Any]]) -> Window:
    """12 games on 7x7 and 12 on 9x9."""
    return window_of(make_job, mixed_batches)


def test_the_eight_symmetries_are_those_of_the_square() -> None:
    corners = {tuple(row) for row in symmetry_maps(2).tolist()}
    assert len(corners) == 8
    for size in (1, 3, 7):
        maps = symmetry_maps(size)
        assert maps[0].tolist() == list(range(size * size))
        group = {tuple(row) for row in maps.tolist()}
        assert all(tuple(a[b]) in group for a in maps for b in maps)


def test_planes_policy_and_ownership_turn_together(mixed: Window) -> None:
    rows = mixed.groups[0]
    number = int(np.flatnonzero(rows.policy.sum(1) > 0)[9])
    numbers = np.full(8, number)
    batch = collate(mixed, numbers, np.arange(8))
    for k in range(8):
        points = symmetry_maps(7)[k]
        planes = batch.planes[k].numpy().reshape(20, 49) * 64
        assert planes.tolist() == rows.planes[number][:, points].tolist()
        assert np.allclose(batch.policy[k, :49].numpy() * 65535, rows.policy[number][points], atol=0.01)
        assert batch.ownership[k].tolist() == rows.ownership[number][points].tolist()
        assert batch.policy[k, 49] == batch.policy[0, 49]


def test_targets_are_what_the_rows_say(mixed: Window) -> None:
    rows = mixed.groups[0]
    numbers = np.arange(len(rows))
    batch = collate(mixed, numbers, np.zeros(len(rows), np.int64))
    assert batch.whole
    assert batch.result.tolist() == rows.value.tolist()
    assert batch.score.tolist() == (rows.score / 2).tolist()
    sums = batch.policy.sum(1).numpy()
    assert np.allclose(sums, rows.kind)
    assert 0 < rows.kind.mean() < 1
    assert bool(batch.legal[batch.policy > 0].all())
    assert 0.2 < float(batch.legal.float().mean()) < 0.9


def test_a_smaller_board_lies_in_the_corner_of_the_canvas(mixed: Window) -> None:
    small, large = 3, len(mixed.groups[0]) + 3
    both = collate(mixed, np.array([large, small]), np.array([5, 6]))
    alone = collate(mixed, np.array([small]), np.array([6]))
    assert not both.whole
    assert both.planes.shape == (2, 20, 9, 9)
    assert both.board.sum(1).tolist() == [81, 49]
    assert both.planes[1, :, :7, :7].tolist() == alone.planes[0].tolist()
    assert float(both.planes[1, :, 7:].abs().sum() + both.planes[1, :, :, 7:].abs().sum()) == 0
    assert both.policy[1, :81].view(9, 9)[:7, :7].flatten().tolist() == alone.policy[0, :49].tolist()
    assert both.policy[1, 81] == alone.policy[0, 49]
    assert both.legal[1, :81].view(9, 9)[:7, :7].flatten().tolist() == alone.legal[0, :49].tolist()
    assert int(both.legal[1].sum()) == int(alone.legal[0].sum())
    assert both.ownership[1].view(9, 9)[:7, :7].flatten().tolist() == alone.ownership[0].tolist()


def test_whole_games_are_held_out(mixed: Window, make_manifest: Any) -> None:
    manifest: Manifest = make_manifest()
    held = len(mixed.numbers(held_out=True))
    assert 0 < held < len(mixed) / 2
    assert held + len(mixed.numbers(held_out=False)) == len(mixed)
    assert manifest.training.held_out_ppm == 150_000
