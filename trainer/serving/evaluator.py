"""The exact integer network in batches on a device, as the engine's pool takes it: `Evaluator`, `open_device`.

Spec: docs/spec/network.md. Outputs are those of the scalar kernel, bit for bit, on any device, in any batch, with any
number of threads; a device that gives another integer is refused before it evaluates anything that counts.
"""

from __future__ import annotations

from typing import Final, Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from native.netfile import PLANES, NetworkFile
from native.network import Evaluator as Reference
from native.network import Kernel, Network
from trainer.data.draws import random_words
from trainer.errors import NoDevice, TrainerError
from trainer.integer.twin import Twin

POLICY: Final = 362
OUTPUT: Final = 726
"""Numbers of one `go_output`: policy 362, value, score_mean, score_spread, ownership 361."""

DEVICES: Final = ("cpu", "cuda")

_WORKSPACE: Final = {"cpu": 1 << 25, "cuda": 1 << 30}
_TEST_SHAPES: Final = ((1, 16), (2, 96), (1, 224))
_TEST_BATCHES: Final = ((7, 5), (9, 17), (19, 2))
_LOAD_BATCHES: Final = ((9, 3), (19, 1))

Outputs = npt.NDArray[np.int32]


class NotExact(TrainerError):
    """The device computes other integers than the engine."""


class Evaluates(Protocol):
    """What `verify_exact` looks at."""

    def evaluate(self, planes: Tensor) -> Tensor:
        """As `Evaluator.evaluate`."""


def open_device(name: str) -> torch.device:
    """The device `cpu` or `cuda` after its self-test; raises NoDevice or NotExact with one sentence."""
    if name not in DEVICES:
        raise NoDevice(f"A device is one of {', '.join(DEVICES)}, not {name[:20]!r}.")
    if name == "cuda" and not torch.cuda.is_available():
        raise NoDevice("This machine, or this build of torch, has no CUDA device.")
    device = torch.device(name)
    for number, (blocks, channels) in enumerate(_TEST_SHAPES):
        file = Network.first(bytes([number]) * 32, blocks, channels)
        verify_exact(Evaluator(file, device, is_tested=True), file, _TEST_BATCHES)
    return device


def verify_exact(evaluator: Evaluates, file: bytes, batches: tuple[tuple[int, int], ...]) -> None:
    """Compares with the scalar kernel on pseudo-random planes, `batches` of (size, positions); raises NotExact."""
    reference = Reference(Network.load(file), Kernel.SCALAR)
    for size, count in batches:
        planes = sample_planes(size, count)
        wanted = _reference(reference, size, planes)
        if not np.array_equal(evaluator.evaluate(torch.from_numpy(planes)).numpy(), wanted):
            raise NotExact("This device evaluates the network to other integers than the engine, so it is not used.")


def sample_planes(size: int, count: int, purpose: str = "self-test") -> npt.NDArray[np.uint8]:
    """Pseudo-random planes u8 [count, 20, size, size]: every other position binary (0, 64), the rest 0..127."""
    words = random_words(bytes(32), purpose, size, count * PLANES * size * size)
    planes = (words % np.uint64(128)).astype(np.uint8).reshape(count, PLANES, size, size)
    planes[::2] = np.where(planes[::2] > 90, 64, 0)
    return planes


class Evaluator:
    """A network file on a device. Tested against the scalar kernel when it is made, unless `is_tested` says that the
    caller does; raises native's NetworkError for a bad file and NotExact."""

    def __init__(self, file: bytes, device: torch.device, *, is_tested: bool = False) -> None:
        self._twin = Twin(NetworkFile.parse(file), device)
        self._device = device
        if not is_tested:
            verify_exact(self, file, _LOAD_BATCHES)

    def evaluate(self, planes: Tensor) -> Tensor:
        """`planes` u8 [n, 20, size, size] on the CPU to int32 [n, 726] on the CPU, each row a `go_output`: the policy
        of the points and at size * size of the pass, then zeros up to 362; value, score_mean, score_spread; ownership
        of the points, then zeros."""
        if planes.dtype != torch.uint8 or planes.dim() != 4 or planes.shape[1] != PLANES:
            raise ValueError(f"planes are u8 [n, {PLANES}, size, size], not {planes.dtype} {tuple(planes.shape)}")
        n, size = len(planes), planes.shape[2]
        if not 1 <= size <= 19 or planes.shape[3] != size:
            raise ValueError(f"a board of {size} by {planes.shape[3]} points")
        points = size * size
        outputs = torch.zeros((n, OUTPUT), dtype=torch.int32)
        part = max(1, _WORKSPACE[self._device.type] // (9 * 4 * self._twin.architecture.channels * points))
        for start in range(0, n, part):
            logits = self._twin.evaluate(planes[start : start + part].to(self._device))
            here = outputs[start : start + part]
            scalars = torch.stack((logits.value, logits.score_mean, logits.score_spread), 1)
            here[:, : points + 1] = logits.policy.int().cpu()
            here[:, POLICY : POLICY + 3] = scalars.int().cpu()
            here[:, POLICY + 3 : POLICY + 3 + points] = logits.ownership.int().cpu()
        return outputs

    def run(self, size: int, planes: bytes | bytearray | memoryview) -> Outputs:
        """As `evaluate`, from the bytes of whole positions of one board size; gives a C-contiguous array."""
        array = np.frombuffer(planes, np.uint8).reshape(-1, PLANES, size, size)
        if not array.flags.writeable:
            array = array.copy()
        outputs: Outputs = self.evaluate(torch.from_numpy(array)).numpy()
        return outputs


def _reference(evaluator: Reference, size: int, planes: npt.NDArray[np.uint8]) -> Outputs:
    """The engine's outputs as int32 [n, 726]."""
    found: Outputs = np.frombuffer(evaluator.run_bytes(size, size, planes.tobytes()), np.int32).reshape(-1, OUTPUT)
    return found
