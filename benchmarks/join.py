"""How soon somebody who is invited has played a game: `python -m benchmarks.join [--quick] [--json]`.

A run as `gonode run init` makes it, on 9x9 with 50 visits a move and else as by default (6 blocks of 96 channels, drawn at
random), whose coordinator and verifier run on this machine. Then `gonode join TICKET --invite FILE` in a home where nothing
is yet, again and again by somebody new: seconds from the start of the command until its key lies on the disk, it listens,
it has the log, it is registered and witnessed, it has the network and plays, and its first game is finished. A young run's
network is made from the run's seed by everybody: how long one takes to come from peers is in `benchmarks.blobs`.
"""

import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks._run import Row, Summary, arguments, show
from tests.e2e.process import gonode, running

VISITS = 50
RUN = ("--preset", "9x9", "--preset", "invited")
SEARCH = ("--set", f"selfplay.visits_full={VISITS}", "--set", f"selfplay.visits_fast={VISITS}")
LONG, QUICK = 7, 2

KEY = "key made"
EVENTS = {
    "listening": "listening",
    "no-recovery": "log is here",
    "registered": "registered and witnessed",
    "playing": "network is here, playing",
    "game": "first game finished",
}
"""What a contributor tells (`--json`), in this order, and what that means here."""


@dataclass(frozen=True, slots=True)
class Young:
    """A run that has just begun, in `folder`."""

    folder: Path
    ticket: str

    def join(self, number: int) -> dict[str, float]:
        """Somebody new joins, plays a game and goes: seconds from the command's start by what was reached."""
        home = self.folder / f"newcomer-{number}"
        home.mkdir()
        invite = self.folder / f"invite-{number}"
        invite.write_text(told("invite", self.folder / "coordinator"), encoding="ascii")
        with own_home(home):
            began_unix_s = time.time()
            with running(home / "said", "join", self.ticket, "--invite", invite, "--json") as newcomer:
                newcomer.event("game")
                reached = {words: newcomer.event(event)["unix_s"] for event, words in EVENTS.items()}
        (key,) = home.glob(".gonode/*/keys/host")
        return {words: unix_s - began_unix_s for words, unix_s in {KEY: key.stat().st_mtime, **reached}.items()}


@contextmanager
def own_home(home: Path) -> Iterator[None]:
    """Commands that are started meanwhile have this home, and none of the user's settings."""
    before = dict(os.environ)
    for name in before:
        if name.startswith(("GONODE_", "XDG_")):
            del os.environ[name]
    os.environ["HOME"] = str(home)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def told(*command: object) -> str:
    """What a command prints; RuntimeError when it fails."""
    ended = gonode(*command)
    if ended.status != 0:
        raise RuntimeError(f"gonode {' '.join(map(str, command))} ended with {ended.status}: {ended.err}")
    return ended.out.strip()


@contextmanager
def young() -> Iterator[Young]:
    """A run with a verifier, both of whose nodes listen and have taken the run up."""
    with tempfile.TemporaryDirectory(prefix="gonode-join-") as name, own_home(Path(name)):
        folder = Path(name)
        coordinator, verifier = folder / "coordinator", folder / "verifier"
        ticket = told("run", "init", coordinator, *RUN, *SEARCH)
        key = told("verify", ticket, "--dir", verifier, "--request")
        told("root", "sign", coordinator, "--verifier", key)
        with (
            running(folder / "coordinate", "coordinate", coordinator, "--json") as coordinating,
            running(folder / "verify", "verify", ticket, "--dir", verifier, "--json") as verifying,
        ):
            coordinating.event("listening")
            verifying.event("listening")
            yield Young(folder, ticket)


def rows(found: list[dict[str, float]]) -> Iterator[Row]:
    """A row for each thing that was reached: since the start, and since the one before, medians of all newcomers."""
    before = [0.0] * len(found)
    for words in found[0]:
        since_start = [each[words] for each in found]
        total = Summary.of(since_start)
        took = Summary.of(now - then for now, then in zip(since_start, before, strict=True))
        yield {"reached": words, "s": total.median, "spread": total.spread, "s after the one before": took.median}
        before = since_start


def main() -> None:
    """Measures and prints."""
    given = arguments(__doc__)
    with young() as run:
        found = [run.join(number) for number in range(QUICK if given.quick else LONG)]
    show(rows(found), given.json)


if __name__ == "__main__":
    main()
