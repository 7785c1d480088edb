"""The JavaScript peer: its packages installed once under `build/`, its programs started. For tests."""

import fcntl
import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
INSTALLED = HERE.parents[1] / "build" / "interop"
NODE = (20, 19)
"""The oldest Node.js that the packages run on."""
WITHIN_S = 90.0

UNREACHABLE = {"EAI_AGAIN", "ENOTFOUND", "ECONNREFUSED", "ECONNRESET", "ETIMEDOUT", "ENETUNREACH", "ERR_SOCKET_TIMEOUT"}
"""What npm says when it reaches no registry."""


def install(source: Path = HERE, installed: Path = INSTALLED) -> None:
    """Puts programs and packages into `installed`, the latter only after a change; skips the test where that cannot be."""
    require_node()
    installed.mkdir(parents=True, exist_ok=True)
    with (installed / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # other test processes install here as well
        _install_locked(source, installed)


def _install_locked(source: Path, installed: Path) -> None:
    stamp = installed / ".installed"
    names = ("package.json", "package-lock.json", ".npmrc")
    wanted = "".join((source / name).read_text(encoding="utf-8") for name in names)
    for path in (*(source / name for name in names), *source.glob("*.js")):
        shutil.copy(path, installed)
    if stamp.exists() and stamp.read_text(encoding="utf-8") == wanted:
        return
    stamp.unlink(missing_ok=True)
    patience = ("--fetch-retries", "1", "--fetch-timeout", "60000")
    command = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", *patience]
    done = subprocess.run(command, cwd=installed, capture_output=True, text=True, timeout=300, check=False)
    if _is_unreachable(done.stderr):
        pytest.skip(f"npm reaches no registry, so what {source.name} needs cannot be installed")
    assert done.returncode == 0, done.stderr
    stamp.write_text(wanted, encoding="utf-8")


def require_node() -> None:
    """Skips the test where Node.js or npm is missing or too old."""
    for command in ("node", "npm"):
        if shutil.which(command) is None:
            pytest.skip(f"{command} is not installed")
    text = subprocess.run(["node", "--version"], capture_output=True, text=True, timeout=60, check=True).stdout
    version = tuple(map(int, re.findall(r"\d+", text)[:2]))
    if version < NODE:
        pytest.skip(f"Node.js {'.'.join(map(str, NODE))} or later is needed; here is {text.strip()}")


def _is_unreachable(said: str) -> bool:
    """Whether npm ended with the code of an error of the network."""
    code = re.search(r"^npm (?:error|ERR!) code (\S+)", said, re.M)
    return code is not None and code[1] in UNREACHABLE


def program(name: str, *arguments: object, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """Runs a program to its end."""
    command = ["node", name, *map(str, arguments)]
    return subprocess.run(
        command, cwd=INSTALLED, input=stdin, capture_output=True, text=True, timeout=WITHIN_S, check=False
    )


@contextmanager
def started(name: str, *arguments: object) -> Iterator[subprocess.Popen[str]]:
    """A program that runs while the block does, with pipes."""
    command = ["node", name, *map(str, arguments)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=INSTALLED, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


@contextmanager
def serving(name: str, *arguments: object) -> Iterator[Any]:
    """The object that a program printed once it served; it serves while the block runs."""
    with started(name, *arguments) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        yield json.loads(process.stdout.readline() or "null")
        process.stdin.close()
        assert process.wait(WITHIN_S) == 0
