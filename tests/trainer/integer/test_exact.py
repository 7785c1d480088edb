"""What a cycle exports is what the engine plays: the float32 twin gives every kernel's integers on 10,000 positions."""

import numpy as np
import pytest
import torch

from native.netfile import Architecture
from native.network import Evaluator as Engine
from native.network import Kernel, Network
from tests.trainer.integer.random_positions import Planes, part_of, positions_of
from trainer.integer.quantise import observe, quantise
from trainer.network.model import GoNet
from trainer.network.moments import measure
from trainer.serving.evaluator import OUTPUT, Evaluator

POSITIONS = {7: 5600, 9: 3200, 13: 800, 19: 400}
PART = 100
SHAPES = (Architecture(2, 16), Architecture(3, 16), Architecture(1, 32), Architecture(1, 64))


def exported(shape: Architecture, positions: dict[int, Planes]) -> bytes:
    """A network whose weights a seed drew, as a cycle exports it."""
    net = GoNet.seeded(shape, shape.channels)
    parts = [part_of(planes[::20]) for planes in positions.values()]
    measure(net, parts)
    return quantise(net, observe(net, parts)).encode()


@pytest.fixture(scope="module")
def positions() -> dict[int, Planes]:
    return {size: positions_of(size, count) for size, count in POSITIONS.items()}


def test_the_twin_and_every_kernel_agree_on_ten_thousand_positions(positions: dict[int, Planes]) -> None:
    files = [exported(shape, positions) for shape in SHAPES]
    kernels = Kernel.available()
    assert Kernel.SCALAR in kernels
    seen = 0
    for number, file in enumerate(files):
        twin, network = Evaluator(file, torch.device("cpu"), is_tested=True), Network.load(file)
        engines = {kernel: Engine(network, kernel) for kernel in kernels}
        for size, planes in positions.items():
            for start in range(number * PART, len(planes), len(files) * PART):
                part = planes[start : start + PART]
                wanted = twin.evaluate(torch.from_numpy(part.copy())).numpy()
                assert len(np.unique(wanted[:, 362])) > 1
                for kernel, engine in engines.items():
                    answer = np.frombuffer(engine.run_bytes(size, size, part.tobytes()), np.int32).reshape(-1, OUTPUT)
                    assert np.array_equal(answer, wanted), (number, size, start, kernel)
                seen += len(part)
    assert seen == sum(POSITIONS.values()) == 10_000


def test_the_positions_are_of_real_games(positions: dict[int, Planes]) -> None:
    for size, planes in positions.items():
        stones = planes[:, 1:3].reshape(len(planes), -1).astype(bool).sum(1)
        assert len(np.unique(planes.reshape(len(planes), -1), axis=0)) > len(planes) * 0.9
        assert stones.max() > size * size * 0.6
