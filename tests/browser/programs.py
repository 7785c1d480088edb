"""The audit page's modules under Node.js: programs of this folder, which import them as they lie. For tests."""

import json
import subprocess
from pathlib import Path
from typing import Any

from tests.interop.javascript import install, require_node

HERE = Path(__file__).parent
INSTALLED = HERE.parents[1] / "build" / "browser"
STATIC = HERE.parents[1] / "node" / "web" / "static"


def install_tools() -> Path:
    """The folder with the packages that tests need, or the test is skipped."""
    install(HERE, INSTALLED)
    return INSTALLED / "node_modules"


def answer(program: str, given: Any) -> Any:
    """What a program of this folder prints for a JSON value on its standard input."""
    require_node()
    command = ["node", "--no-warnings", str(HERE / program)]
    done = subprocess.run(command, input=json.dumps(given), capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
