"""Checks of this machine: kernels of the engine, the canaries and self-test on each, and what `gonode bench` found."""

import platform
from collections.abc import Callable, Sequence

from native.canary import verify_kernel
from native.errors import EngineError
from native.network import Kernel
from node.doctor.finding import Finding, ok, warning, wrong
from node.machine import load_machine
from node.machine.machine import engine_version
from node.machine.processor import cpu_model, usable_cores

FLAGS = {"x86_64": "AVX2", "amd64": "AVX2", "aarch64": "NEON", "arm64": "NEON"}
"""What a processor of a family nearly always has."""


def check_machine() -> list[Finding]:
    """What can be said of the machine alone; takes up to a second."""
    kernels = Kernel.available()
    return [check_kernels(kernels, platform.machine()), check_canaries(kernels), check_threads()]


def check_kernels(kernels: Sequence[Kernel], family: str) -> Finding:
    """Whether the engine was built with the instructions of this processor."""
    names = ", ".join(kernel.encode() for kernel in kernels)
    detail = f"gonode {engine_version()} on {cpu_model()}; kernels: {names}."
    if list(kernels) == [Kernel.SCALAR] and family.lower() in FLAGS:
        return warning(
            "kernels",
            detail,
            f"Play is many times slower without {FLAGS[family.lower()]}: install a build whose compiler knows it; give a "
            "virtual machine the processor of its host.",
        )
    return ok("kernels", f"{detail} The last is used.")


def check_canaries(kernels: Sequence[Kernel], verify: Callable[[Kernel], None] = verify_kernel) -> Finding:
    """Whether every kernel gives the known outputs and finds the known trees."""
    for kernel in kernels:
        try:
            verify(kernel)
        except EngineError as error:
            return wrong(
                "canaries",
                f"Kernel {kernel.encode()}: {error}",
                "Do not play here: take back any overclocking, test the memory, install gonode again.",
            )
    return ok("canaries", "Every kernel gives the known outputs and finds the known games.")


def check_threads() -> Finding:
    """Whether the fastest threads and games in flight are known here."""
    machine = load_machine()
    if machine is None:
        return warning(
            "threads",
            f"Not measured yet: {usable_cores()} threads, a game on each.",
            "Run gonode bench once, while nothing else needs this machine; it takes 20 seconds.",
        )
    return ok("threads", f"gonode bench found {machine.threads} threads with {machine.games} games in flight on each.")
