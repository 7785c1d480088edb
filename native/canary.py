"""Canaries: positions whose outputs are known, evaluated and searched again to see whether this machine still computes.

Spec: docs/spec/pipe.md ("Canaries"). Invariant: what is known holds for every kernel and device, for all give the same
integers; a wrong answer is the machine's or the build's fault, never the input's.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from native._engine import ffi, lib
from native.errors import EngineError
from native.network import Evaluator, Kernel, Network
from native.search import selftest

SEED = hashlib.sha256(b"gonode/canary/v1").digest()
POSITIONS = 2
_SEVEN_BITS = bytes(byte & 127 for byte in range(256))

MEND = "Nothing that it computes is believed. Check cooling, memory and overclocking, then: gonode doctor."

Evaluate = Callable[[Network, int, bytes], bytes]
"""Evaluates u8 planes [n, 20, size, size] of a board size; gives the bytes of n `go_output`."""


class WrongMachine(EngineError):
    """This machine or build computes something else than what is known: nothing it made may be used."""

    def __init__(self, sentence: str, status: int = lib.GO_ERR_MISMATCH) -> None:
        super().__init__(sentence, status)


@dataclass(frozen=True, slots=True)
class Canary:
    """A first network, a board size, and the SHA-256 of the outputs of its POSITIONS positions."""

    blocks: int
    channels: int
    size: int
    known: str

    @property
    def planes(self) -> bytes:
        """The planes of its positions, drawn."""
        length = POSITIONS * lib.GO_FEATURE_PLANES * self.size * self.size
        return hashlib.shake_128(SEED + bytes([self.size])).digest(length).translate(_SEVEN_BITS)


CANARIES = (
    Canary(2, 32, 9, "1d0b56bef8acca66b6dea491501f9e6a2de392bf9dae73f968ed7ac2b225fd7a"),
    Canary(1, 96, 19, "5908844b97626a1e69acc0aad00fef11c16559b0031cabf195e38b72e51785e0"),
    Canary(1, 160, 13, "ecdb529b5078d4a156bdcad5831ff9082f7bc88cd7542c2a029ac47b844f2a2d"),
)
"""Shapes of networks between them meet every way in which a kernel cuts its work into registers."""


def verify_outputs(evaluate: Evaluate) -> None:
    """Raises WrongMachine unless `evaluate` gives the known outputs."""
    for canary in CANARIES:
        outputs = evaluate(_network(canary), canary.size, canary.planes)
        if hashlib.sha256(outputs).hexdigest() != canary.known:
            raise WrongMachine(
                f"This machine computes wrongly: a network of {canary.blocks} blocks of {canary.channels} channels gave "
                f"other outputs than the known ones on a {canary.size}x{canary.size} board. {MEND}"
            )


def verify_kernel(kernel: Kernel) -> None:
    """Raises WrongMachine unless this kernel gives the known outputs, and the search with it the known trees. Takes some
    milliseconds, some hundred with the scalar kernel; runs without the GIL."""

    def evaluate(network: Network, size: int, planes: bytes) -> bytes:
        outputs, _ = Evaluator(network, kernel).run_raw(size, size, planes)
        return bytes(ffi.buffer(outputs))

    verify_outputs(evaluate)
    try:
        selftest(kernel)
    except EngineError as error:
        if error.status != lib.GO_ERR_MISMATCH:
            raise
        raise WrongMachine(
            f"This machine computes wrongly: a search found another tree than the known one. {MEND}"
        ) from None


@cache
def _network(canary: Canary) -> Network:
    return Network.load(Network.first(SEED, canary.blocks, canary.channels))
