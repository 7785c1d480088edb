"""The directory lock: one process a node."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from node.disk.lockfile import DirectoryInUse, locked


def test_second_process_is_told(tmp_path: Path) -> None:
    root = Path(__file__).parents[3]
    script = "import sys, pathlib, node.disk.lockfile as lf\nwith lf.locked(pathlib.Path(sys.argv[1])): pass"
    command = [sys.executable, "-c", script, str(tmp_path / "home")]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    with locked(tmp_path / "home"):
        second = subprocess.run(command, capture_output=True, text=True, env=environment)
        assert second.returncode == 1
        assert f"Another gonode process (process {os.getpid()}) already runs in" in second.stderr
        with pytest.raises(DirectoryInUse), locked(tmp_path / "home"):
            pass
    assert subprocess.run(command, env=environment).returncode == 0
