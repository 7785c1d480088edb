"""The pages of a small run, served by `gonode web` in a process of its own. For tests."""

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from node.disk.home import Home

HERE = Path(__file__).parents[2]


@contextmanager
def shown_run(home: Home) -> Iterator[str]:
    """The URL of the pages of a node's directory, while the block runs; they end well when told to."""
    command = [sys.executable, "-m", "node", "web", "--dir", str(home.directory), "--port", "0"]
    with subprocess.Popen(command, cwd=HERE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            line = process.stdout.readline()
            found = re.search(r"http://127\.0\.0\.1:\d+", line)
            assert found is not None, line + process.stderr.read()
            yield f"{found[0]}/"
            process.terminate()
            assert process.wait(20) == 0, process.stderr.read()
            assert process.stderr.read() == ""
        finally:
            process.kill()
