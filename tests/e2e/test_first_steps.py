"""`docs/first-steps.md` typed as it stands: real processes, a terminal each, and a page read over HTTP.

Every `sh` block is typed but the demo, which takes eight minutes (`test_finished_run` is about such a run) and has to be a
goal of the Makefile. Settings of the environment make the run small and keep it on loopback: what is typed stays as it is.
"""

import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.process import LOOPBACK, REPOSITORY, WITHIN_S, wait_for

PAGE = REPOSITORY / "docs" / "first-steps.md"
BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
DEMO, ACTIVATE, FOUND, COORDINATE, VERIFY, JOIN, WEB, DRAIN, AUDIT = BLOCK.findall(PAGE.read_text(encoding="utf-8"))

SMALL = {
    "GONODE_RUN_INIT_SET": " ".join(
        (
            "selfplay.visits_full=32",
            "selfplay.visits_fast=16",
            "gate_search.visits_full=6",
            "gate_search.visits_fast=6",
            "network.blocks=1",
            "network.channels=16",
            "rules.move_cap_factor=1",
            "admission.games_per_batch=2",
            "window.first_rows=100000",
        )
    ),
    "GONODE_JOIN_LISTEN": LOOPBACK,
    "GONODE_JOIN_ON_BATTERY": "yes",
    "GONODE_VERIFY_LISTEN": LOOPBACK,
    "GONODE_VERIFY_THREADS": "1",
    "GONODE_WEB_PORT": "0",
}


class Terminal:
    """A block of the page that is being typed; what it prints goes to a file."""

    def __init__(self, block: str, printed: Path, environment: dict[str, str]) -> None:
        self._printed = printed
        with printed.open("ab") as file:
            self._process = subprocess.Popen(
                ["bash", "-euo", "pipefail", "-c", block],
                cwd=REPOSITORY,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def shown(self) -> str:
        """What it printed so far."""
        return self._printed.read_text(encoding="utf-8")

    def shows(self, pattern: str) -> re.Match[str]:
        """The first place that `pattern` matches, waited for."""

        def found() -> re.Match[str] | None:
            match = re.search(pattern, self.shown)
            assert match or self._process.poll() is None, f"ended with {self._process.returncode}: {self.shown}"
            return match

        return wait_for(found, f"a line with {pattern}")

    def interrupt(self) -> None:
        """Ctrl-C."""
        os.killpg(self._process.pid, signal.SIGINT)

    def ends_well(self) -> str:
        """What it printed, once it has ended with status 0."""
        assert self._process.wait(WITHIN_S) == 0, self.shown
        assert "Traceback" not in self.shown, self.shown
        return self.shown

    def close(self) -> None:
        """Ends what is left of it."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGTERM)
            try:
                self._process.wait(30)
            except subprocess.TimeoutExpired:
                os.killpg(self._process.pid, signal.SIGKILL)
                self._process.wait()


class Newcomer:
    """Somebody who has the page, a home of their own, and as many terminals as they like."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.home.mkdir()
        self._folder = folder
        self._opened = 0
        tools = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        self._environment = {**os.environ, **SMALL, "HOME": str(self.home), "PATH": tools}

    @contextmanager
    def typing(self, block: str) -> Iterator[Terminal]:
        """A new terminal in which a block is typed."""
        self._opened += 1
        terminal = Terminal(block, self._folder / f"terminal-{self._opened}.txt", self._environment)
        try:
            yield terminal
        finally:
            terminal.close()

    def types(self, block: str) -> str:
        """What a block prints that ends by itself."""
        with self.typing(block) as terminal:
            return terminal.ends_well()


def contributors(address: str) -> list[dict[str, Any]]:
    """What the pages say of contributors; none while they have nothing to say."""
    try:
        with urllib.request.urlopen(f"{address}/api/v1/contributors", timeout=10) as answer:
            found: list[dict[str, Any]] = json.load(answer)["answer"]["items"]
            return found
    except OSError:
        return []


def play(address: str, moves: list[int]) -> dict[str, Any]:
    """What the newest release answers on the pages' board; it names itself once the pages have the log."""
    path = f"{address}/api/v1/play/latest"
    with urllib.request.urlopen(path, timeout=10) as page:  # leads to the release's own name
        path = page.url
    question = {"size": 7, "komi": 0.5, "moves": moves, "visits": 16}
    asked = urllib.request.Request(path, json.dumps(question).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(asked, timeout=30) as answer:
        found: dict[str, Any] = json.load(answer)["answer"]
        return found


@pytest.mark.soak
def test_the_page_works_from_its_first_command_to_its_last(tmp_path: Path) -> None:
    newcomer = Newcomer(tmp_path)
    run = newcomer.home / "first-run"
    ticket = re.search(r"^gonode1\w+$", newcomer.types(FOUND), re.MULTILINE)
    assert ticket is not None
    assert (run / "invite").read_text(encoding="ascii").startswith("gonode-invite1")
    with newcomer.typing(COORDINATE) as coordinator:
        coordinator.shows("Listening at ")
        with newcomer.typing(VERIFY) as verifier, newcomer.typing(WEB) as web:
            with newcomer.typing(JOIN) as contributor:
                name = contributor.shows(r"Joined run demo7 as (\S+) ")[1]
                contributor.shows(r"Game \d+ finished after")
                address = web.shows(r"http://127\.0\.0\.1:\d+")[0]

                def credited() -> bool:
                    return any(each["name"] == name and each["verified_games"] for each in contributors(address))

                wait_for(credited, "credit on the pages")
                with urllib.request.urlopen(f"{address}/", timeout=10) as front:
                    page = front.read().decode()
                assert "demo7" in page
                assert "Play against it" in page
                found = play(address, [24])
                assert found["move"] is not None
                assert sum(map(abs, found["stones"])) == 1 + (found["move"] < 49)
                assert play(address, [24, 49, 49])["end"]["result"] == "B+48.5"
                assert "\nplaying " in newcomer.types(DRAIN)
                contributor.ends_well()
            with newcomer.typing(JOIN) as again:
                again.shows(r"Game \d+ finished after")
                audited = newcomer.types(AUDIT)
                assert re.search(r"^ok +head ", audited, re.MULTILINE), audited
                assert "FAIL" not in audited
                again.interrupt()
                again.ends_well()
            web.interrupt()
            web.ends_well()
            verifier.interrupt()
            verifier.ends_well()
        coordinator.interrupt()
        coordinator.ends_well()


def test_what_is_not_typed_is_there() -> None:
    """The demo is a goal of the Makefile, and what each terminal begins with is where the Makefile makes it."""
    makefile = (REPOSITORY / "Makefile").read_text(encoding="utf-8")
    assert DEMO == "make demo\n"
    assert re.search(r"^demo:", makefile, re.MULTILINE)
    assert ACTIVATE == ". .venv/bin/activate\n"
    assert "\nVENV := .venv\n" in makefile
