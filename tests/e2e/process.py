"""gonode as real processes: starts commands, waits for what they say, reads what they keep. For tests."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from native.network import Kernel

REPOSITORY = Path(__file__).parents[2]
TINY = Path(__file__).with_name("tiny.toml")
LOOPBACK = "/ip4/127.0.0.1/tcp/0"
FAST = Kernel.best().name.lower()
WITHIN_S = 150.0
"""How long anything may take on a busy machine before a test gives up."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Ended:
    """A command that ended."""

    status: int
    out: str
    err: str

    @property
    def sentence(self) -> str:
        """The one line that a refused command prints, `gonode: ` before it; fails for anything else."""
        assert self.out == ""
        assert self.err.startswith("gonode: "), self.err
        assert self.err.count("\n") == 1, self.err
        return self.err.removeprefix("gonode: ").strip()

    @property
    def json(self) -> Any:
        """The one object on standard output."""
        assert self.out.count("\n") == 1, self.out
        return json.loads(self.out)


def gonode(*arguments: object, setup: Callable[[], None] | None = None) -> Ended:
    """Runs a command to its end."""
    command = [sys.executable, "-m", "node", *map(str, arguments)]
    done = subprocess.run(
        command, cwd=REPOSITORY, capture_output=True, text=True, timeout=WITHIN_S, preexec_fn=setup, check=False
    )
    assert "Traceback" not in done.stderr, done.stderr
    return Ended(done.returncode, done.stdout, done.stderr)


class Running:
    """A command that runs; its output goes to files beside `output`."""

    def __init__(self, output: Path, *arguments: object, module: str = "node") -> None:
        self._out, self._err = output.with_suffix(".out"), output.with_suffix(".err")
        with self._out.open("ab") as out, self._err.open("ab") as err:
            self.process = subprocess.Popen(
                [sys.executable, "-m", module, *map(str, arguments)],
                cwd=REPOSITORY,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )

    @property
    def out(self) -> str:
        """What it printed so far."""
        return self._out.read_text(encoding="utf-8")

    @property
    def err(self) -> str:
        """What it printed on standard error so far."""
        return self._err.read_text(encoding="utf-8")

    def event(self, name: str) -> dict[str, Any]:
        """The first event `name`, waited for."""

        def found() -> dict[str, Any] | None:
            assert self.process.poll() is None, f"ended with status {self.process.returncode}: {self.out}\n{self.err}"
            return next((event for event in parse_events(self.out) if event["event"] == name), None)

        return wait_for(found, f"the event {name}")

    def interrupt(self) -> None:
        """Ctrl-C."""
        self.process.send_signal(signal.SIGINT)

    def ended(self) -> Ended:
        """How it ended, waited for."""
        status = self.process.wait(WITHIN_S)
        assert "Traceback" not in self.err, self.err
        return Ended(status, self.out, self.err)

    def close(self) -> None:
        """Ends it if it runs."""
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


@contextmanager
def running(output: Path, *arguments: object, module: str = "node") -> Iterator[Running]:
    """A command that runs while the block does."""
    command = Running(output, *arguments, module=module)
    try:
        yield command
    finally:
        command.close()


def wait_for(condition: Callable[[], T | None], what: str, within_s: float = WITHIN_S) -> T:
    """The first answer of `condition` that is not empty."""
    deadline = time.monotonic() + within_s
    while True:
        answer = condition()
        if answer:
            return answer
        assert time.monotonic() < deadline, f"{what} did not come within {within_s:g} s"
        time.sleep(0.05)


def parse_events(text: str) -> list[dict[str, Any]]:
    """The whole lines of `text` that are events; `log.txt` of `gonode local` has plain lines of errors between them."""
    lines = text.split("\n")[:-1]
    return [json.loads(line) for line in lines if line.startswith("{")]


def events(home: Path) -> list[dict[str, Any]]:
    """What the node in `home` told `gonode local` so far, over all its starts."""
    path = home / "log.txt"
    return parse_events(path.read_text(encoding="utf-8")) if path.exists() else []


def process_id(home: Path) -> int:
    """The process that runs in `home`, or ran there last; 0, which nobody is, while one takes the lock."""
    return int((home / "lock").read_text(encoding="ascii") or 0)


def child_of(parent: int, word: str) -> int | None:
    """A child process with `word` in its command line."""
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
                command = (folder / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if int(fields[1]) == parent and word.encode() in command:
                return int(folder.name)
    return None


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that ended and waits for its parent does not."""
    try:
        return (Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def kill(pid: int) -> None:
    """SIGKILL."""
    os.kill(pid, signal.SIGKILL)


def query(home: Path, text: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
    """Rows of a node's store, which may be in use; none before the store is made."""
    path = home / "node.db"
    if not path.exists():
        return []
    database = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=30)
    try:
        is_made = database.execute("PRAGMA user_version").fetchone() != (0,)
        return database.execute(text, values).fetchall() if is_made else []
    finally:
        database.close()


def log_of(home: Path) -> list[bytes]:
    """The entries of the log that a node has."""
    return [bytes(entry) for (entry,) in query(home, "SELECT entry FROM log ORDER BY number")]
