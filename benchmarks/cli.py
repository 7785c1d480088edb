"""How long commands take that only say something: `python -m benchmarks.cli [--quick] [--json]`.

Each is a process of its own, started again and again in turns: by the clock, and of the processor (its own and its
children's), in milliseconds; beside them a Python that does nothing, which no command can be faster than.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time
from functools import partial

from benchmarks._run import Row, Summary, arguments, rounds, show

GONODE = [sys.executable, "-m", "node"]
COMMANDS: dict[str, list[str]] = {
    "python -c pass": [sys.executable, "-c", "pass"],
    "gonode --help": [*GONODE, "--help"],
    "gonode --version": [*GONODE, "--version"],
    "gonode join --help": [*GONODE, "join", "--help"],
    "gonode config": [*GONODE, "config"],
    "gonode completion bash": [*GONODE, "completion", "bash"],
}


def milliseconds(command: list[str], home: str) -> tuple[float, float]:
    """One run, in an empty home: by the clock, and of the processor. RuntimeError when the command fails."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    ended = subprocess.run(command, env={**os.environ, "HOME": home}, stdout=subprocess.DEVNULL, check=False)
    clock, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    if ended.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} ended with {ended.returncode}.")
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return 1000 * clock, 1000 * processor


def main() -> None:
    """Measures and prints."""
    given = arguments(__doc__)
    with tempfile.TemporaryDirectory() as home:
        works = [partial(milliseconds, command, home) for command in COMMANDS.values()]
        found = rounds(works, 8.0 if given.quick else 30.0, least=5)
    rows: list[Row] = []
    for name, times in zip(COMMANDS, found, strict=True):
        clock, processor = Summary.of(time for time, _ in times), Summary.of(time for _, time in times)
        rows.append({"command": name, "ms": clock.median, "spread": clock.spread, "processor ms": processor.median})
    show(rows, given.json)


if __name__ == "__main__":
    main()
