"""The exact network: load a file, evaluate positions, and the spec's softmax and tanh (docs/spec/network.md).

Invariants: outputs are a function of the file's and the planes' bytes alone; every kernel gives the same ones. A
`Network` is immutable and may be used from many threads; an `Evaluator` is one thread's. The records of a file, which
an exporter needs, are in `native.netfile`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

from native._engine import ffi, lib
from native.errors import EngineError, NetworkError, sentence_of, verify_status
from native.netfile import Architecture

if TYPE_CHECKING:
    from native._engine import CData

ONE = 4096
"""1.0 in the Q12 fixed point of all outputs."""

DIGEST_BYTES = 32
MAX_SIDE = 19


class Kernel(IntEnum):
    """Which instructions evaluate; the results are the same. BEST is the fastest that the machine runs."""

    BEST = lib.GO_KERNEL_BEST
    SCALAR = lib.GO_KERNEL_SCALAR
    AVX2 = lib.GO_KERNEL_AVX2
    VNNI = lib.GO_KERNEL_VNNI
    NEON = lib.GO_KERNEL_NEON
    NEON_DOT = lib.GO_KERNEL_NEON_DOT

    @classmethod
    def best(cls) -> Kernel:
        """The kernel that BEST stands for here."""
        return cls(lib.go_kernel_best())

    @classmethod
    def available(cls) -> list[Kernel]:
        """The kernels of this build and machine, BEST left out, slowest first."""
        return [kernel for kernel in cls if kernel != cls.BEST and lib.go_kernel_available(kernel)]

    @classmethod
    def parse(cls, text: str) -> Kernel:
        """Reads `best`, `scalar`, ...; EngineError for an unknown name or a kernel that this machine has not."""
        names = {kernel.encode(): kernel for kernel in (cls.BEST, *cls.available())}
        if text not in names:
            raise EngineError(
                f"The kernels of this machine are {', '.join(names)}; {text!r} is none.", lib.GO_ERR_KERNEL
            )
        return names[text]

    def encode(self) -> str:
        """The name that `parse` reads."""
        return self.name.lower().replace("_", "-")

    def peak(self, steps: int) -> int:
        """Runs `steps` rounds of the kernel's multiply in registers alone; returns the multiply-adds done."""
        return lib.go_kernel_peak(self, steps)


@dataclass(frozen=True, slots=True)
class Output:
    """What a network says of one position from the view of the side to move, in Q12 (4096 is 1).

    `policy`: a logit a point and one for the pass, for `softmax`. `value`: P(win) - P(loss) is `tanh(value)`.
    `score_mean`: own minus opponent's points. `score_spread`: points before softplus. `ownership`: a logit a point.
    """

    policy: tuple[int, ...]
    value: int
    score_mean: int
    score_spread: int
    ownership: tuple[int, ...]


class Network:
    """A loaded network: its architecture, the bytes of its file and their SHA-256."""

    __slots__ = ("_handle", "architecture", "digest", "file")

    architecture: Architecture
    file: bytes
    digest: bytes

    def __init__(self, file: bytes) -> None:
        out, why = ffi.new("go_net **"), ffi.new("char[200]")
        status = lib.go_net_load(ffi.from_buffer("uint8_t[]", file), len(file), out, why, len(why))
        if status == lib.GO_ERR_MEMORY:
            raise MemoryError(sentence_of(status))
        if status != lib.GO_OK:
            raise NetworkError(ffi.string(why).decode("ascii"), status)
        self._handle = ffi.gc(out[0], lib.go_net_free, 3 * len(file))
        self.architecture = Architecture(lib.go_net_blocks(self._handle), lib.go_net_channels(self._handle))
        self.file = bytes(file)
        self.digest = hashlib.sha256(file).digest()

    @classmethod
    def load(cls, file: bytes) -> Network:
        """Reads a network file; raises NetworkError with one sentence."""
        return cls(file)

    @staticmethod
    def first(digest: bytes, blocks: int, channels: int) -> bytes:
        """The file of the integer network that a manifest's digest (32 bytes) draws. Raises NetworkError."""
        if len(digest) != DIGEST_BYTES:
            raise NetworkError(f"A manifest's digest has {DIGEST_BYTES} bytes, not {len(digest)}.", lib.GO_ERR_ARGUMENT)
        Architecture(blocks, channels)
        size = ffi.new("size_t *", 0)
        lib.go_net_first(digest, blocks, channels, ffi.NULL, size)
        file = bytearray(size[0])
        verify_status(lib.go_net_first(digest, blocks, channels, ffi.from_buffer("uint8_t[]", file), size))
        return bytes(file)

    @property
    def handle(self) -> CData:
        """The engine's `const go_net *`, for other modules of `native`; valid while this object lives."""
        return self._handle

    def macs(self, rows: int, cols: int) -> int:
        """Multiply-adds of one evaluation on a board of that size."""
        return lib.go_net_macs(self._handle, rows, cols)

    def evaluate(self, kernel: Kernel, rows: int, cols: int, planes: bytes) -> list[Output]:
        """Evaluates positions of one board size once; see `Evaluator.run`, which keeps its memory."""
        return Evaluator(self, kernel).run(rows, cols, planes)


class Evaluator:
    """Scratch memory of one thread for a network and a kernel. EngineError for a kernel that is not available."""

    __slots__ = ("_handle", "_network")

    def __init__(self, network: Network, kernel: Kernel) -> None:
        out = ffi.new("go_eval **")
        verify_status(lib.go_eval_new(network.handle, kernel, out))
        self._handle = ffi.gc(out[0], lib.go_eval_free)
        self._network = network

    def run(self, rows: int, cols: int, planes: bytes) -> list[Output]:
        """Evaluates positions whose planes, u8 in 0..127 of shape [20][rows][cols], follow one another.

        Raises EngineError for a size, length or plane out of range. Runs without the GIL.
        """
        outputs, count = self.run_raw(rows, cols, planes)
        points = rows * cols
        return [
            Output(
                policy=tuple(ffi.unpack(out.policy, points + 1)),
                value=out.value,
                score_mean=out.score_mean,
                score_spread=out.score_spread,
                ownership=tuple(ffi.unpack(out.ownership, points)),
            )
            for out in (outputs[i] for i in range(count))
        ]

    def run_raw(self, rows: int, cols: int, planes: bytes) -> tuple[CData, int]:
        """As `run`, but gives the engine's `go_output[count]` and the count, for benchmarks."""
        if not (1 <= rows <= MAX_SIDE and 1 <= cols <= MAX_SIDE):
            raise EngineError(f"A board has 1 to {MAX_SIDE} rows and columns, not {rows} by {cols}.")
        count, rest = divmod(len(planes), lib.GO_FEATURE_PLANES * rows * cols)
        outputs = ffi.new("go_output[]", count)
        data = ffi.from_buffer("uint8_t[]", planes)
        status = lib.go_eval_run(self._handle, rows, cols, count, data, len(planes), outputs)
        if rest or status == lib.GO_ERR_ARGUMENT:
            raise EngineError(f"Planes of whole {rows} by {cols} positions with numbers up to 127 are needed.")
        verify_status(status)
        return outputs, count

    def run_bytes(self, rows: int, cols: int, planes: bytes) -> bytes:
        """As `run`, but gives the engine's `go_output[count]` as they lie in memory: int32[count][726]."""
        outputs, _ = self.run_raw(rows, cols, planes)
        return bytes(ffi.buffer(outputs))


def softmax(logits: Sequence[int], legal: bytes | None = None) -> list[float]:
    """Softmax of Q12 logits; 0 where `legal` (a byte each) is 0. Some entry must be legal, or EngineError is raised."""
    if legal is not None and len(legal) != len(logits):
        raise EngineError(f"{len(logits)} logits need as many legal flags, not {len(legal)}.")
    probabilities = ffi.new("double[]", len(logits))
    mask = ffi.NULL if legal is None else ffi.from_buffer("uint8_t[]", legal)
    verify_status(lib.go_softmax(ffi.new("int32_t[]", logits), mask, len(logits), probabilities))
    return list(probabilities)


def tanh(logit: int) -> float:
    """tanh(logit / 4096) in the spec's integers; `logit` is an int32."""
    return lib.go_tanh(logit)
