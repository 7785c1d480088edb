"""`python -m tests.node.engine.wrong_serve N`: an engine whose canaries come out N times; then a bit is wrong."""

import sys

from native._engine import ffi
from native.canary import verify_kernel, verify_outputs
from native.network import Evaluator, Kernel, Network
from native.pipe import VERSION, Ready
from native.pool import Pool
from native.serve import serve

KERNEL = Kernel.best()
well = int(sys.argv[1])


def evaluate(network: Network, size: int, planes: bytes) -> bytes:
    """Outputs with one wrong bit."""
    outputs, count = Evaluator(network, KERNEL).run_raw(size, size, planes)
    outputs[count - 1].value ^= 1
    return bytes(ffi.buffer(outputs))


def canary() -> None:
    """As a good one, a few times."""
    global well
    well -= 1
    if well < 0:
        verify_outputs(evaluate)
    verify_kernel(KERNEL)


with Pool(1, KERNEL) as pool:
    serve(pool, canary, Ready(VERSION, KERNEL.encode(), 1, 1))
