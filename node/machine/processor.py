"""Which processor this is and how many cores of it this process may use."""

import os
import platform
import subprocess
from pathlib import Path

CPUINFO = Path("/proc/cpuinfo")

NAMES = ("model name", "hardware", "cpu part")
"""Lines of /proc/cpuinfo that name a processor, best first; ARM has only the last."""


def cpu_model() -> str:
    """The processor's name, as the system gives it; never empty."""
    return _from_cpuinfo() or _from_sysctl() or platform.processor() or platform.machine() or "unknown"


def usable_cores() -> int:
    """Logical cores on which this process may run; at least 1."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1


def _from_cpuinfo() -> str:
    try:
        lines = CPUINFO.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    found: dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition(":")
        found.setdefault(name.strip().lower(), value.strip())
    return next((" ".join(found[name].split()) for name in NAMES if found.get(name)), "")


def _from_sysctl() -> str:
    if platform.system() != "Darwin":
        return ""
    try:
        command = ["sysctl", "-n", "machdep.cpu.brand_string"]
        return subprocess.run(command, capture_output=True, text=True, timeout=5, check=False).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""
