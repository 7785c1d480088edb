"""A trainer's result as its file says it, and files that are none."""

import json
from pathlib import Path
from typing import Any

import pytest

from node.training.errors import TrainingFailed
from node.training.result import Losses, Rounding, Trained, load_result, load_segment
from tests.node.training.results import RESULT

TRAINED = Trained("b1c16", 130, 30, 3, 1, (125, 130), "2.13.0", "cpu", 1, 2, "test")


def store(folder: Path, result: Any) -> Path:
    (folder / "result.json").write_text(json.dumps(result))
    return folder


def test_a_cycle(tmp_path: Path) -> None:
    found = load_result(store(tmp_path, RESULT))
    assert found.trained == load_segment(tmp_path) == TRAINED
    assert (found.samples, found.rows, found.network, found.weights) == (960, 400, "network.bin", "weights.bin")
    assert found.losses == Losses(960, 1, 2, 3, 4, 5, 6)
    assert found.losses.to_json() == RESULT["losses"]
    assert found.held_out is None
    assert found.rounding == Rounding(9, 0.0125, 0.03, 0.2, 0.5, 0.875)
    assert found.rounding.to_json() == RESULT["rounding"]
    measured = RESULT | {"held_out_rows": 7, "held_out_losses": RESULT["losses"]}
    assert load_result(store(tmp_path, measured)).held_out == Losses(7, 1, 2, 3, 4, 5, 6)


def test_a_segment_has_no_export(tmp_path: Path) -> None:
    whole = ("samples", "rows", "network", "weights", "losses", "loss_rows", "held_out_losses", "rounding")
    store(tmp_path, {name: value for name, value in RESULT.items() if name not in whole})
    assert load_segment(tmp_path) == TRAINED
    with pytest.raises(TrainingFailed, match=r"result.json: this is no result of a training \(loss_rows is missing\)"):
        load_result(tmp_path)


@pytest.mark.parametrize(
    "wrong",
    [
        [],
        {**RESULT, "step": "130"},
        {**RESULT, "step": True},
        {**RESULT, "states": []},
        {**RESULT, "states": [130]},
        {**RESULT, "losses": {}},
        {**RESULT, "losses": RESULT["losses"] | {"loss": float("nan")}},
        {**RESULT, "network": "network.bin"},
    ],
    ids=repr,
)
def test_what_is_no_result(wrong: Any, tmp_path: Path) -> None:
    with pytest.raises(TrainingFailed, match="no result of a training") as failed:
        load_result(store(tmp_path, wrong))
    assert not failed.value.is_of_the_job


def test_what_is_no_json(tmp_path: Path) -> None:
    (tmp_path / "result.json").write_bytes(b"\xff")
    with pytest.raises(TrainingFailed, match="no result of a training"):
        load_segment(tmp_path)
