"""Every kernel gives the scalar kernel's outputs, on any network, size and batch."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor

import pytest

from native._engine import ffi, lib
from native.netfile import PLANES, Architecture
from native.network import Evaluator, Kernel, Network, Output
from tests.native.network_reference import random_network

FAST = [kernel for kernel in Kernel.available() if kernel != Kernel.SCALAR]


def test_names_are_those_of_the_engine() -> None:
    names = [kernel.encode() for kernel in Kernel if kernel != Kernel.BEST]
    assert names == ["scalar", "avx2", "vnni", "neon", "neon-dot"]
    assert names == [ffi.string(lib.go_kernel_name(kernel)).decode() for kernel in Kernel if kernel != Kernel.BEST]
    assert [Kernel.parse(kernel.encode()) for kernel in Kernel.available()] == Kernel.available()


def planes_of(r: random.Random, points: int, count: int) -> bytes:
    """Random planes; some positions all 0, all 127, or sparse as real ones are."""
    positions = []
    for _ in range(count):
        kind = r.randrange(5)
        size = PLANES * points
        if kind == 0:
            positions.append(bytes(b & 127 for b in r.randbytes(size)))
        elif kind == 1:
            positions.append(bytes([r.choice((0, 127))]) * size)
        else:
            positions.append(bytes(r.choices((0, 64, 127), (8, 2, 1), k=size)))
    return b"".join(positions)


def evaluate_all(network: Network, rows: int, cols: int, planes: bytes) -> list[Output]:
    outputs = network.evaluate(Kernel.SCALAR, rows, cols, planes)
    for kernel in FAST:
        assert network.evaluate(kernel, rows, cols, planes) == outputs, kernel
    return outputs


@pytest.mark.parametrize("extreme", [False, True])
@pytest.mark.parametrize("channels", [16, 32, 48, 64, 80, 96, 112, 128])
def test_any_channels(channels: int, extreme: bool) -> None:
    r = random.Random(channels)
    network = Network.load(random_network(Architecture(2, channels), channels, extreme=extreme).encode())
    evaluate_all(network, 7, 7, planes_of(r, 49, 3))
    evaluate_all(network, 3, 5, planes_of(r, 15, 5))


def test_widest_network() -> None:
    network = Network.load(random_network(Architecture(1, 224), 1, extreme=True).encode())
    evaluate_all(network, 5, 5, planes_of(random.Random(1), 25, 2))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("side", [7, 9, 13, 19])
def test_any_size_and_batch(side: int, seed: int) -> None:
    r = random.Random(side * 100 + seed)
    network = Network.load(random_network(Architecture(2, r.choice((16, 32, 48))), seed, extreme=seed == 5).encode())
    for batch in (1, 2, 3, 5, 8) if side < 19 else (1, 2, 3):
        evaluate_all(network, side, side, planes_of(r, side * side, batch))


def test_outputs_of_random_networks_differ() -> None:
    """The comparisons would be empty if every output were saturated."""
    for seed, extreme, enough in ((3, False, 100), (4, False, 100), (5, True, 10), (6, True, 10), (7, True, 10)):
        network = Network.load(random_network(Architecture(2, 32), seed, extreme=extreme).encode())
        outputs = evaluate_all(network, 9, 9, planes_of(random.Random(3), 81, 8))
        assert len({x for out in outputs for x in out.policy + out.ownership}) > enough


def test_every_board() -> None:
    network = Network.load(random_network(Architecture(2, 16), 9).encode())
    r = random.Random(9)
    for rows in range(1, 20):
        for cols in (1, 2, rows, 19):
            evaluate_all(network, rows, cols, planes_of(r, rows * cols, 2))


@pytest.mark.parametrize("kernel", Kernel.available())
def test_batch_is_no_input(kernel: Kernel) -> None:
    """A position's output depends on neither its neighbours in the batch nor what the evaluator saw before."""
    network = Network.load(random_network(Architecture(2, 32), 4).encode())
    r = random.Random(4)
    evaluator = Evaluator(network, kernel)
    for side, batch in ((9, 7), (7, 13), (9, 1), (5, 64), (2, 300), (9, 7)):
        planes = planes_of(r, side * side, batch)
        size = len(planes) // batch
        alone = [
            out
            for i in range(0, batch, 1 + batch // 10)
            for out in network.evaluate(kernel, side, side, planes[i * size : (i + 1) * size])
        ]
        assert evaluator.run(side, side, planes)[:: 1 + batch // 10] == alone


@pytest.mark.parametrize("kernel", Kernel.available())
def test_threads_share_a_network(kernel: Kernel) -> None:
    network = Network.load(random_network(Architecture(2, 32), 5).encode())
    planes = planes_of(random.Random(5), 81, 4)
    wanted = network.evaluate(Kernel.SCALAR, 9, 9, planes)
    with ThreadPoolExecutor(4) as threads:
        assert all(out == wanted for out in threads.map(lambda _: network.evaluate(kernel, 9, 9, planes), range(16)))
