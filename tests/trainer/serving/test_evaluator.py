"""The torch evaluator gives the scalar kernel's integers: any network, board, batch and number of threads."""

from collections.abc import Iterator, Sequence

import numpy as np
import pytest
import torch

from native.errors import NetworkError
from native.netfile import (
    CONV_SHIFT_MAX,
    HIDDEN_SHIFT_MAX,
    PLANES,
    STREAM_MULTIPLIER,
    U8_MULTIPLIER,
    Architecture,
    BlockLayers,
    ConvLayer,
    HiddenLayer,
    LogitLayer,
    NetworkFile,
    NormLayer,
    PoolLayer,
)
from native.network import Evaluator as Reference
from native.network import Kernel, Network
from trainer.errors import NoDevice
from trainer.serving import evaluator as module
from trainer.serving.evaluator import OUTPUT, Evaluator, NotExact, open_device, sample_planes, verify_exact

CPU = torch.device("cpu")
FIRSTS = ((1, 16), (2, 16), (3, 32), (2, 48))
SIZES = (7, 8, 9, 11, 13, 16, 19)


class Wild:
    """Networks of random numbers up to the format's bounds, so that everything saturates somewhere."""

    def __init__(self, seed: int, shape: Architecture) -> None:
        self._random, self._shape = np.random.default_rng(seed), shape

    def file(self) -> bytes:
        shape, c, k, h = self._shape, self._shape.channels, self._shape.head, self._shape.hidden
        return NetworkFile(
            architecture=shape,
            stem=self.conv(PLANES, c, 9, stream=True),
            blocks=tuple(
                BlockLayers(
                    self.norm(c),
                    self.conv(c, c, 9, stream=False),
                    self.pool(2 * c, c) if shape.is_pooled(i) else None,
                    self.conv(c, c, 9, stream=True),
                )
                for i in range(shape.blocks)
            ),
            tip=self.norm(c),
            pool_conv=self.conv(c, k, 1, stream=False),
            policy_conv=self.conv(c, k, 1, stream=False),
            policy_pool=self.pool(2 * k, k),
            policy_point=self.logit(k, pooled=False),
            policy_pass=self.logit(2 * k, pooled=True),
            value_conv=self.conv(c, k, 1, stream=False),
            value_hidden=self.hidden(3 * k, h),
            value=self.logit(h, pooled=False),
            score_mean=self.logit(h, pooled=False),
            score_spread=self.logit(h, pooled=False),
            ownership=self.logit(k, pooled=False),
        ).encode()

    def numbers(self, count: int, low: int, high: int) -> tuple[int, ...]:
        return tuple(self._random.integers(low, high, count, endpoint=True).tolist())

    def mostly(self, count: int, usual: tuple[int, int], widest: tuple[int, int]) -> tuple[int, ...]:
        """Numbers within the usual range, one in eight anywhere in the widest."""
        chosen = zip(self.numbers(count, *usual), self.numbers(count, *widest), self.numbers(count, 0, 7), strict=True)
        return tuple(wide if pick == 0 else number for number, wide, pick in chosen)

    def weights(self, count: int, most: int) -> bytes:
        return self._random.integers(-most, most, count, endpoint=True).astype(np.int8).tobytes()

    def conv(self, inputs: int, outputs: int, taps: int, *, stream: bool) -> ConvLayer:
        shifts = self.mostly(outputs, (1, 4), (0, 22))
        room = [(1 << 24) - 127 * 64 * inputs * taps - (1 << s) - 1 for s in shifts]
        bias = self.mostly(outputs, (-40_000, 40_000), (-(1 << 24), 1 << 24))
        bias = tuple(max(-most, min(b, most)) for b, most in zip(bias, room, strict=True))
        low, high = STREAM_MULTIPLIER if stream else U8_MULTIPLIER
        weights = self.weights(inputs * outputs * taps, 64)
        return ConvLayer(inputs, outputs, taps, stream, weights, bias, shifts, self.numbers(outputs, low, high))

    def norm(self, channels: int) -> NormLayer:
        bias = self.mostly(channels, (-9000, 9000), (-32768, 32767))
        return NormLayer(channels, bias, self.mostly(channels, (100, 800), (1, 32767)))

    def pool(self, inputs: int, outputs: int) -> PoolLayer:
        room = (1 << 30) - 8128 * 127 * inputs - 1
        bias = self.mostly(outputs, (-(1 << 20), 1 << 20), (-room, room))
        shifts = self.mostly(outputs, (4, 9), (0, CONV_SHIFT_MAX))
        return PoolLayer(inputs, outputs, self.weights(inputs * outputs, 127), bias, shifts)

    def hidden(self, inputs: int, outputs: int) -> HiddenLayer:
        pool = self.pool(inputs, outputs)
        shifts, multiplier = self.mostly(outputs, (7, 11), (0, HIDDEN_SHIFT_MAX)), self.numbers(outputs, *U8_MULTIPLIER)
        return HiddenLayer(inputs, outputs, pool.weights, pool.bias, shifts, multiplier)

    def logit(self, inputs: int, *, pooled: bool) -> LogitLayer:
        (bias,), (multiplier,) = self.numbers(1, -20_000, 20_000), self.numbers(1, 1 << 14, 32767)
        (shift,) = self.numbers(1, 18, 22) if pooled else self.numbers(1, 14, 18)
        return LogitLayer(inputs, pooled, self.weights(inputs, 127), bias, multiplier, shift)


def engine(file: bytes, kernel: Kernel, size: int, planes: np.ndarray) -> np.ndarray:
    found = Reference(Network.load(file), kernel).run_bytes(size, size, planes.tobytes())
    return np.frombuffer(found, np.int32).reshape(-1, OUTPUT)


def networks() -> Iterator[bytes]:
    for number, (blocks, channels) in enumerate(FIRSTS):
        yield Network.first(bytes([number]) * 32, blocks, channels)
        yield Wild(number, Architecture(blocks, channels)).file()


@pytest.fixture
def threads() -> Iterator[None]:
    """Gives the number of torch's threads back."""
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def test_ten_thousand_positions_are_the_engines_bit_for_bit() -> None:
    seen = 0
    for number, file in enumerate(networks()):
        evaluator = Evaluator(file, CPU)
        for size in SIZES:
            count = 320 if size < 10 else 90
            planes = sample_planes(size, count, f"exact {number}")
            found = evaluator.run(size, planes.tobytes())
            assert np.array_equal(found, engine(file, Kernel.BEST, size, planes)), (number, size)
            assert np.array_equal(found[:8], engine(file, Kernel.SCALAR, size, planes[:8])), (number, size)
            seen += count
    assert seen >= 10_000


def test_wild_networks_saturate_and_still_say_something() -> None:
    for number, (blocks, channels) in enumerate(FIRSTS):
        file = Wild(number, Architecture(blocks, channels)).file()
        outputs = engine(file, Kernel.BEST, 9, sample_planes(9, 50))
        for part in (outputs[:, :81], outputs[:, 81], outputs[:, 362:365], outputs[:, 365:446]):
            assert len(np.unique(part)) > 20


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize(("count", "batches"), [(1, range(1, 65)), (2, (1, 2, 7, 33, 64))])
def test_no_batch_and_no_thread_changes_an_integer(count: int, batches: Sequence[int]) -> None:
    torch.set_num_threads(count)
    file = Wild(5, Architecture(2, 16)).file()
    evaluator, planes = Evaluator(file, CPU), sample_planes(7, 64)
    wanted = engine(file, Kernel.SCALAR, 7, planes)
    for batch in batches:
        assert np.array_equal(evaluator.run(7, planes[:batch].tobytes()), wanted[:batch]), batch


def test_a_small_workspace_cuts_batches_and_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    evaluator, planes = Evaluator(Network.first(bytes(32), 2, 16), CPU), sample_planes(7, 30).tobytes()
    whole = evaluator.run(7, planes)
    monkeypatch.setitem(module._WORKSPACE, "cpu", 9 * 4 * 16 * 49 * 7)
    assert np.array_equal(evaluator.run(7, planes), whole)


def test_coarser_products_allowed_elsewhere_change_nothing() -> None:
    evaluator, planes = Evaluator(Network.first(bytes(32), 2, 16), CPU), sample_planes(7, 20)
    whole = evaluator.evaluate(torch.from_numpy(planes))
    torch.set_float32_matmul_precision("medium")
    try:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            assert torch.equal(evaluator.evaluate(torch.from_numpy(planes)), whole)
        assert torch.get_float32_matmul_precision() == "medium"
    finally:
        torch.set_float32_matmul_precision("highest")


class OneOff:
    """A device with one wrong integer."""

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator

    def evaluate(self, planes: torch.Tensor) -> torch.Tensor:
        outputs = self._evaluator.evaluate(planes)
        outputs[-1, -1] += 1
        return outputs


def test_one_wrong_integer_is_refused() -> None:
    file = Network.first(bytes(32), 1, 16)
    evaluator = Evaluator(file, CPU)
    verify_exact(evaluator, file, ((19, 3),))
    with pytest.raises(NotExact, match="other integers"):
        verify_exact(OneOff(evaluator), file, ((19, 3),))


def test_the_cpu_passes_its_self_test() -> None:
    assert open_device("cpu") == CPU


def test_a_device_that_is_not_there_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(NoDevice, match=r"no CUDA device\.$"):
        open_device("cuda")
    with pytest.raises(NoDevice, match=r"cpu, cuda, not 'tpu'\.$"):
        open_device("tpu")


@pytest.mark.parametrize("planes", [torch.zeros(1, 20, 9, 8), torch.zeros(1, 19, 9, 9), torch.zeros(20, 9, 9)])
def test_planes_of_another_form_are_refused(planes: torch.Tensor) -> None:
    evaluator = Evaluator(Network.first(bytes(32), 1, 16), CPU)
    for odd in (planes, planes.to(torch.uint8)):
        with pytest.raises(ValueError, match=r"planes are|a board of"):
            evaluator.evaluate(odd)


def test_bytes_that_are_no_network_are_refused() -> None:
    with pytest.raises(NetworkError):
        Evaluator(b"GONODENN", CPU)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device on this machine")
def test_a_cuda_device_gives_the_engines_integers() -> None:
    device = open_device("cuda")
    for number, file in enumerate(networks()):
        evaluator = Evaluator(file, device)
        for size in SIZES:
            for count in (1, 3, 64, 257):
                planes = sample_planes(size, count, f"cuda {number}")
                assert np.array_equal(evaluator.run(size, planes.tobytes()), engine(file, Kernel.BEST, size, planes))
