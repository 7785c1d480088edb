"""Training rows in KataGo's own layout, drawn at random: `write_rows`.

The layout is that of its self-play and `shuffle.py`, as `katago/train/data_processing_pytorch.py` reads it: packed binary
planes, global features, visits of both players' moves, global targets, the distribution of scores and targets by point.
Every target has a weight, so that no loss is without work; what the rows say about Go is nothing.
"""

import json
import os
from pathlib import Path

import numpy as np

PLANES, GLOBALS, TARGETS, EXTRA_SCORES = 22, 19, 80, 60
_OUTCOMES = (0, 4, 8, 12)
_SCORES = (3, 7, 11, 15, 21)
_WEIGHTS = (25, 26, 27, 28, 29, 33, 34)
_HISTORY = range(9, 14)


def rows_of(size: int, count: int, seed: int) -> dict[str, np.ndarray]:
    """The arrays of a file with `count` rows on boards of this size."""
    draw = np.random.default_rng(seed)
    points = size * size
    stones = draw.integers(0, 3, (count, points))
    planes = draw.random((count, PLANES, points)) < 0.05
    planes[:, 0], planes[:, 1], planes[:, 2] = True, stones == 1, stones == 2
    for plane in _HISTORY:
        planes[:, plane] = np.arange(points) == draw.integers(0, points, (count, 1))
    visits = np.zeros((count, 2, points + 1), np.int16)
    for _ in range(8):
        np.put_along_axis(
            visits, draw.integers(0, points + 1, (count, 2, 1)), draw.integers(1, 100, (count, 2, 1), np.int16), 2
        )
    outcomes = draw.integers(0, 2, (count, len(_OUTCOMES)))
    scores = draw.integers(-points, points + 1, (count, len(_SCORES)))
    targets = np.zeros((count, TARGETS), np.float32)
    for number, start in enumerate(_OUTCOMES):
        targets[np.arange(count), start + outcomes[:, number]] = 1
    targets[:, _SCORES] = scores
    targets[:, 22] = draw.integers(1, points, count)
    targets[:, _WEIGHTS] = 1
    distribution = np.zeros((count, 2 * (points + EXTRA_SCORES)), np.int8)
    distribution[np.arange(count), points + EXTRA_SCORES + scores[:, 0] - 1] = 100
    by_point = draw.integers(-1, 2, (count, 5, size, size)).astype(np.int8)
    by_point[:, 1] = by_point[:, 1] * (draw.random((count, size, size)) < 0.01)
    by_point[:, 4] *= 120
    return {
        "binaryInputNCHWPacked": np.packbits(planes, axis=2),
        "globalInputNC": draw.random((count, GLOBALS), np.float32),
        "policyTargetsNCMove": visits,
        "globalTargetsNC": targets,
        "scoreDistrN": distribution,
        "valueTargetsNCHW": by_point,
    }


def write_rows(folder: Path, size: int, count: int, files: int, seed: int = 1) -> None:
    """A data folder as `train.py -datadir` takes it: `files` names of one compressed file with `count` rows."""
    train = folder / "train"
    train.mkdir(parents=True)
    (folder / "val").mkdir()
    names = [f"data{number}.npz" for number in range(files)]
    np.savez_compressed(train / names[0], allow_pickle=False, **rows_of(size, count, seed))
    for name in names[1:]:
        os.link(train / names[0], train / name)
    index = {"files": [{"name": name, "num_rows": count} for name in names]}
    (train / "index.json").write_text(json.dumps(index), encoding="ascii")
    (folder / "train.json").write_text(json.dumps({"range": [0, files * count]}), encoding="ascii")
