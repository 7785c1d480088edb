"""Other engines that evaluate the same architecture in the same run: torch, and ONNX Runtime where it is installed.

They compute in floats, or in int8 as ONNX Runtime quantises; the numbers that they give are not ours, the work is the same.
ONNX Runtime is no dependency: `pip install onnx onnxruntime onnxscript` beside torch makes its rows appear.
"""

import importlib.util
import logging
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from native.netfile import PLANES, Architecture
from node.machine.evaluating import SLICE_S
from trainer.network.model import GoNet

SEED = 1
INPUT = "planes"
CALIBRATION_BATCHES = 4
HAS_ONNX = all(importlib.util.find_spec(name) is not None for name in ("onnx", "onnxruntime", "onnxscript"))


@dataclass(frozen=True, slots=True)
class Peer:
    """Another engine: its name, and one call that evaluates `batch` positions."""

    name: str
    batch: int
    run: Callable[[], object]

    def seconds(self) -> float:
        """Processor seconds of one evaluation by one thread."""
        started, calls = time.thread_time(), 0
        while (spent := time.thread_time() - started) < SLICE_S or calls == 0:
            self.run()
            calls += 1
        return spent / (calls * self.batch)


class _Outputs(nn.Module):
    """The outputs that the exact network has too, for boards that fill the canvas."""

    def __init__(self, net: GoNet) -> None:
        super().__init__()
        self.net = net

    def forward(self, planes: Tensor) -> tuple[Tensor, ...]:
        heads = self.net(planes, True)
        return heads.policy, heads.value, heads.score_mean, heads.score_spread, heads.ownership


def peers(shape: Architecture, size: int, batch: int) -> list[Peer]:
    """The peers that are installed, each with one thread."""
    net = _Outputs(GoNet.seeded(shape, SEED)).eval()
    return [_torch(net, size, batch), *(_onnx(net, size, batch) if HAS_ONNX else ())]


def _planes(size: int, batch: int, seed: int) -> np.ndarray:
    planes = np.random.default_rng(seed).integers(0, 2, (batch, PLANES, size, size)).astype(np.float32)
    planes[:, 0] = 1
    return planes


def _torch(net: nn.Module, size: int, batch: int) -> Peer:
    torch.set_num_threads(1)
    planes = torch.from_numpy(_planes(size, batch, SEED)).to(memory_format=torch.channels_last)

    def run() -> object:
        with torch.inference_mode():
            return net(planes)

    run()
    return Peer(f"torch {torch.__version__.split('+')[0]} fp32", batch, run)


def _onnx(net: nn.Module, size: int, batch: int) -> list[Peer]:
    import onnxruntime
    from onnxruntime import quantization

    logging.disable(logging.WARNING)

    class Calibration(quantization.CalibrationDataReader):
        def __init__(self) -> None:
            self._left = iter(range(CALIBRATION_BATCHES))

        def get_next(self) -> dict[str, np.ndarray] | None:
            number = next(self._left, None)
            return None if number is None else {INPUT: _planes(size, batch, number)}

    def session(path: Path, kind: str) -> Peer:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        found = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        planes = {INPUT: _planes(size, batch, SEED)}
        return Peer(f"ONNX Runtime {onnxruntime.__version__} {kind}", batch, lambda: found.run(None, planes))

    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exported, ready, small = (Path(folder) / f"{name}.onnx" for name in ("float", "ready", "int8"))
        example = torch.from_numpy(_planes(size, batch, SEED))
        torch.onnx.export(
            net, (example,), exported, input_names=[INPUT], dynamo=True, external_data=False, verbose=False
        )
        quantization.shape_inference.quant_pre_process(exported, ready, skip_symbolic_shape=True)
        quantization.quantize_static(
            ready, small, Calibration(), per_channel=True, activation_type=quantization.QuantType.QUInt8
        )
        return [session(exported, "fp32"), session(small, "int8")]
