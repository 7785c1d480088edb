"""What makes a run of torch repeatable on one machine: threads, deterministic algorithms, and a record of the rest.

Spec: docs/spec/train-state.md ("Repeating"). ATEN_CPU_CAPABILITY, ONEDNN_MAX_CPU_ISA and MKL_ENABLE_INSTRUCTIONS choose
kernels and so the last bits; they are taken from the environment as it is and recorded with what came of them. What they
leave open is chosen by the processor, which is recorded too.
"""

from __future__ import annotations

import os
import platform
from pathlib import Path

import torch

from trainer.errors import NoDevice
from trainer.memory import keep_freed_memory

_CHOICES = ("ATEN_CPU_CAPABILITY", "ONEDNN_MAX_CPU_ISA", "MKL_ENABLE_INSTRUCTIONS")


def pin(threads: int, device: str = "cpu") -> None:
    """Fixes the thread count, allows deterministic algorithms only, and keeps memory from step to step.

    Call before any work; raises NoDevice.
    """
    keep_freed_memory()
    if device == "cuda":
        if not torch.cuda.is_available():
            raise NoDevice("This machine, or this build of torch, has no CUDA device.")
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # read when cuBLAS first starts
        torch.backends.cudnn.benchmark = False
        torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False
    torch.set_num_threads(threads)
    # As use_deterministic_algorithms(True), which also imports the compiler: a second for what is not used here.
    torch.set_deterministic_debug_mode("error")
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]
    torch.backends.nnpack.set_flags(False)  # type: ignore[no-untyped-call]


def capability(device: str = "cpu") -> str:
    """What chooses kernels: settings and the processor; at most 200 characters of ASCII."""
    chosen = [f"{name}={os.environ.get(name, 'default')}" for name in _CHOICES]
    if device == "cuda":
        chosen.insert(0, f"cuda={torch.version.cuda} gpu={torch.cuda.get_device_name()}")
    text = " ".join((f"cpu={torch.backends.cpu.get_cpu_capability()}", *chosen, f"processor={_processor()}"))
    return "".join(c for c in text if " " <= c <= "~")[:200]


def _processor() -> str:
    """The processor's name as the system gives it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    named = (line.partition(":")[2] for line in lines if line.startswith("model name"))
    return " ".join((next(named, "") or platform.processor() or platform.machine() or "unknown").split())
