"""The command line that every fuzzer in Python has: `python -m tests.fuzz.fuzz_X SECONDS [SEED]`."""

import random
import sys
import time
from collections.abc import Callable, Mapping


def run_command(name: str, fuzz: Callable[[float, int], Mapping[str, int]]) -> None:
    """Runs `fuzz` for the seconds and with the seed of the command line, and prints what it counted.

    `fuzz` raises what should not have escaped, after it has printed the input.
    """
    if not 2 <= len(sys.argv) <= 3:
        sys.exit(f"usage: python -m tests.fuzz.{name} SECONDS [SEED]")
    seed = int(sys.argv[2]) if len(sys.argv) == 3 else random.SystemRandom().randrange(2**32)
    print(f"{name}: seed {seed}", flush=True)
    begin = time.monotonic()
    counts = fuzz(float(sys.argv[1]), seed)
    rate = sum(counts.values()) / max(time.monotonic() - begin, 1e-9)
    few = len(counts) <= 5
    kinds = ", ".join(f"{count} {what}" for what, count in counts.items()) if few else f"{len(counts)} parsers"
    print(f"{name}: {sum(counts.values())} inputs ({kinds}), {rate:.0f} a second, nothing escaped")
