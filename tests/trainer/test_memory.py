"""Memory that is freed and allocated again is not cleared by the kernel in between."""

import platform
import subprocess
import sys

import pytest

SCRIPT = """
import resource
from trainer.memory import keep_freed_memory
assert keep_freed_memory()
def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    parts = [bytearray(8 << 20) for _ in range(4)]
    del parts
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
faults()
print(faults())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library")
def test_what_is_freed_is_kept() -> None:
    ended = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    assert int(ended.stdout) < 100  # of 8,192 pages
