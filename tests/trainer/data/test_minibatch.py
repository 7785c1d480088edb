"""Minibatches laid out by the engine are those of plain numpy, bit for bit; rows under symmetries, sizes on one canvas."""

from typing import Any

import numpy as np
import pytest

from protocol.manifest import Manifest
from tests.trainer.data.rows_reference import Position, minibatch_of
from tests.trainer.data.rows_reference import window_of as reference_of
from trainer.data.draws import Sampler
from trainer.data.minibatch import Minibatch, collate
from trainer.data.reader import read_window
from trainer.data.rows import Window
from trainer.job import Job

FIELDS = ("legal", "policy", "opponent_policy", "result", "root_value", "score", "ownership", "board")


def assert_equal(batch: Minibatch, rows: list[Position], symmetries: list[int]) -> None:
    """Every array has the reference's bits."""
    wanted = minibatch_of(rows, symmetries)
    assert batch.planes.permute(0, 2, 3, 1).numpy().tobytes() == wanted["planes"].tobytes()
    for name in FIELDS:
        got = getattr(batch, name).numpy()
        assert got.dtype == wanted[name].dtype, name
        assert got.shape == wanted[name].shape, name
        assert got.tobytes() == wanted[name].tobytes(), name


@pytest.fixture
def job(make_job: Any, mixed_batches: list[dict[str, Any]]) -> Job:
    """12 games on 7x7 and 12 on 9x9."""
    return Job.load(make_job(mixed_batches))


@pytest.fixture
def mixed(job: Job) -> Window:
    return read_window(job.batches, job.manifest, lambda file, why: pytest.fail(why))[0]


@pytest.fixture
def reference(job: Job) -> list[Position]:
    return reference_of(list(job.batches), job.manifest)


def test_each_row_under_each_symmetry_is_the_references(mixed: Window, reference: list[Position]) -> None:
    assert len(mixed) == len(reference)
    assert {row.kind for row in reference} == {0, 1}
    assert {row.value for row in reference} == {-1, 0, 1}
    for size, at, numbers in mixed.split(np.arange(len(mixed))):
        assert numbers.tolist() == at.tolist()
        for start in range(0, len(at), 64):
            part = numbers[start : start + 64]
            symmetries = (part + start // 64) % 8
            batch = collate(mixed, part, symmetries)
            assert batch.whole
            assert batch.planes.shape[2:] == (size, size)
            assert_equal(batch, [reference[number] for number in part], symmetries.tolist())


def test_what_is_drawn_from_both_sizes_is_the_references(mixed: Window, reference: list[Position]) -> None:
    sampler = Sampler(bytes(32), mixed.numbers(held_out=False), 48)
    for step in range(12):
        numbers, symmetries = sampler.minibatch(step)
        batch = collate(mixed, numbers, symmetries)
        assert not batch.whole
        assert_equal(batch, [reference[number] for number in numbers], symmetries.tolist())


def test_planes_are_channels_last(mixed: Window) -> None:
    planes = collate(mixed, np.arange(4), np.zeros(4, np.int64)).planes
    assert planes.shape == (4, 20, 7, 7)
    assert planes.stride() == (7 * 7 * 20, 1, 7 * 20, 20)
    assert planes.data_ptr() % 64 == 0


def test_a_smaller_board_lies_in_the_corner_of_the_canvas(mixed: Window) -> None:
    small = 3
    large = len(mixed.split(np.arange(len(mixed)))[0][1]) + 3
    both = collate(mixed, np.array([large, small]), np.array([5, 6]))
    alone = collate(mixed, np.array([small]), np.array([6]))
    assert not both.whole
    assert both.planes.shape == (2, 20, 9, 9)
    assert both.board.sum(1).tolist() == [81, 49]
    assert both.planes[1, :, :7, :7].tolist() == alone.planes[0].tolist()
    assert float(both.planes[1, :, 7:].abs().sum() + both.planes[1, :, :, 7:].abs().sum()) == 0
    assert both.legal[1, :81].view(9, 9)[:7, :7].flatten().tolist() == alone.legal[0, :49].tolist()
    assert int(both.legal[1].sum()) == int(alone.legal[0].sum())


def test_whole_games_are_held_out(mixed: Window, reference: list[Position], make_manifest: Any) -> None:
    manifest: Manifest = make_manifest()
    held = mixed.numbers(held_out=True)
    assert held.tolist() == [number for number, row in enumerate(reference) if row.held_out]
    assert 0 < len(held) < len(mixed) / 2
    assert len(held) + len(mixed.numbers(held_out=False)) == len(mixed)
    assert manifest.training.held_out_ppm == 150_000


def test_rows_outside_the_window_are_refused(mixed: Window) -> None:
    for number in (-1, len(mixed)):
        with pytest.raises(IndexError):
            collate(mixed, np.array([number]), np.array([0]))
