"""What a cycle leaves: the integer network and the float weights of the averaged weights, measured and compared.

Spec: docs/spec/train-state.md ("Step", "Draws", "Files"). A function of the learner, the window and the seed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from protocol.manifest import TrainingPolicy
from trainer.data.draws import random_words
from trainer.data.minibatch import Minibatch, collate
from trainer.data.rows import Window
from trainer.files import store
from trainer.integer.integers import Reals
from trainer.integer.quantise import Ranges, observe, quantise
from trainer.integer.rounding import Rounding, rounding, validate
from trainer.learning.learner import Learner
from trainer.learning.tensors import TensorFile
from trainer.network.model import GoNet
from trainer.network.moments import measure, moments

NETWORK: Final = "network.bin"
WEIGHTS: Final = "weights.bin"
WEIGHTS_KIND: Final = "weights"
_PART_ROWS: Final = 1024
_HELD_OUT_MOST: Final = 8192


@dataclass(frozen=True, slots=True)
class Exported:
    """Digests of the two files, the network's length, the losses on held-out rows, and what rounding cost."""

    network: bytes
    network_len: int
    weights: bytes
    held_out: dict[str, float]
    held_out_rows: int
    rounding: Rounding

    def files(self) -> dict[str, dict[str, str]]:
        """Path and digest of each file, as a result lists them."""
        return {
            "network": {"path": NETWORK, "digest": self.network.hex()},
            "weights": {"path": WEIGHTS, "digest": self.weights.hex()},
        }


def export(learner: Learner, window: Window, seed: bytes, policy: TrainingPolicy, out: Path) -> Exported:
    """Writes network and weights to `out`; raises NotQuantisable."""
    net, ranges = _calibrated(learner, window, seed, policy)
    held_out = window.numbers(held_out=True)[:_HELD_OUT_MOST]
    found = validate(net, list(_parts(window, held_out, seed)), learner.weights)
    file = quantise(net, ranges)
    tensors = dict(net.named_parameters()) | moments(net)
    weights = TensorFile(
        {"kind": WEIGHTS_KIND, "network": learner.shape.encode(), "step": learner.step_number},
        {name: tensor.detach().contiguous().numpy() for name, tensor in tensors.items()},
    )
    data = file.encode()
    return Exported(
        network=store(out / NETWORK, data),
        network_len=len(data),
        weights=store(out / WEIGHTS, weights.encode()),
        held_out=found,
        held_out_rows=len(held_out),
        rounding=rounding(net, file, calibration_parts(window, seed, policy)),
    )


def ranges_of(learner: Learner, window: Window, seed: bytes, policy: TrainingPolicy) -> Reals:
    """What the activations of the averaged weights would hold, were these exported now."""
    _, ranges = _calibrated(learner, window, seed, policy)
    return ranges.all_held(learner.shape)


def calibration_parts(window: Window, seed: bytes, policy: TrainingPolicy) -> list[Minibatch]:
    """The calibration rows as minibatches, each of one board size."""
    rows = _calibration_rows(window, seed, policy)
    return [part for _, at, _ in window.split(rows) for part in _parts(window, rows[at], seed)]


def _calibrated(learner: Learner, window: Window, seed: bytes, policy: TrainingPolicy) -> tuple[GoNet, Ranges]:
    """The averaged weights with fixed moments, and their ranges."""
    calibration = _calibration_rows(window, seed, policy)
    net = learner.averaged()
    measure(net, _parts(window, calibration, seed))
    return net, observe(net, _parts(window, calibration, seed))


def _calibration_rows(window: Window, seed: bytes, policy: TrainingPolicy) -> npt.NDArray[np.int64]:
    """The rows that fix moments and ranges, drawn from the seed."""
    numbers = window.numbers(held_out=False)
    keys = random_words(seed, "calibration", 0, len(numbers))
    return np.sort(numbers[np.argsort(keys, kind="stable")[: policy.calibration_rows]])


def _parts(window: Window, numbers: npt.NDArray[np.int64], seed: bytes) -> Iterator[Minibatch]:
    """These rows as large parts, each row under a symmetry of its own."""
    turns = random_words(seed, "calibration symmetry", 0, len(window)) % np.uint64(8)
    for start in range(0, len(numbers), _PART_ROWS):
        part = numbers[start : start + _PART_ROWS]
        yield collate(window, part, turns[part].astype(np.int64))
