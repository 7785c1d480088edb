"""A whole network on one machine: each role a process of its own, over real libp2p on loopback.

This process only supervises: it makes the run on the first start, starts the roles, starts again what dies, sums up what
they report, and ends them in an order that leaves nothing open (contributors, verifier, coordinator). The next start with
the same directory goes on.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import trio

from node.control import ControlError, ask, ask_status
from node.disk.files import naming, write_file
from node.disk.home import Home
from node.disk.keyring import load_or_create_key
from node.founding.founding import found_run
from node.founding.invites import make_invite
from node.founding.layers import NO_CHOICES, Choices
from node.lifetime import SUPERVISOR_VARIABLE
from node.role_status import Coordinating, ReleaseState
from node.status import Status

LOOPBACK = "/ip4/127.0.0.1/tcp/0"
CONTRIBUTOR_NICE = "10"
START_WITHIN_S = 60
DRAIN_WITHIN_S = 60
STOP_WITHIN_S = 15
ASK_AGAIN_S = 0.5
TOLD = ("release", "candidate", "refused-candidate", "given-up", "ban", "fault", "training-failed")
"""Events of the coordinator that are worth a line of the log."""

BAD_INPUT = 2

Progress = Callable[["LocalNetwork"], None]


class LocalError(Exception):
    """One sentence about a network that cannot be started."""


@dataclass(slots=True)
class Child:
    """One role's process and what it last said."""

    name: str
    home: Home
    command: list[str]
    process: trio.Process | None = None
    listening: trio.Event = field(default_factory=trio.Event)
    restarts: int = -1
    last: str = ""
    status: Status | None = None
    ended: bool = False


@dataclass(frozen=True, slots=True)
class LocalOptions:
    """What `gonode local` was asked for."""

    directory: Path
    source: Path | None
    contributors: int
    releases: int
    minutes: float
    at_least_minutes: float
    kernel: str | None
    verifier_kernel: str | None
    choices: Choices = NO_CHOICES


class LocalNetwork:
    """The supervised processes."""

    def __init__(self, options: LocalOptions, log: Callable[[str, str], None]) -> None:
        self.options = options
        self._log = log
        self.started = time.monotonic()
        self.children: list[Child] = []
        self._prepare()

    @property
    def coordinator(self) -> Child:
        """The coordinator's process."""
        return self.children[0]

    @property
    def releases(self) -> tuple[ReleaseState, ...]:
        """The releases that the coordinator reports, oldest first, release 0 not among them."""
        status = self.coordinator.status
        return status.work.releases if status is not None and isinstance(status.work, Coordinating) else ()

    def _prepare(self) -> None:
        directory = self.options.directory
        home = Home(directory / "coordinator")
        verifier = Home(directory / "verifier")
        key = load_or_create_key(verifier.key("verifier"))
        if not home.ticket.exists():
            found_run(home.directory, self.options.source, [key.public], LOOPBACK, self.options.choices)
        ticket = str(home.ticket)
        kernel = ["--kernel", self.options.kernel] if self.options.kernel else []
        verifying = ["--kernel", self.options.verifier_kernel] if self.options.verifier_kernel else []
        self._add("coordinator", home, ["coordinate", str(home.directory)])
        self._add(
            "verifier",
            verifier,
            ["verify", ticket, "--listen", LOOPBACK, "--dir", str(verifier.directory), "--threads", "1", *verifying],
        )
        for number in range(1, self.options.contributors + 1):
            contributor = Home(directory / f"contributor-{number}")
            invite = contributor.directory / "invite"
            if not invite.exists():
                write_file(invite, f"{make_invite(home)}\n".encode("ascii"))
            arguments = [
                "join",
                ticket,
                "--listen",
                LOOPBACK,
                "--dir",
                str(contributor.directory),
                "--invite",
                str(invite),
                "--nice",
                CONTRIBUTOR_NICE,
                "--threads",
                "1",
                "--on-battery",
                "yes",
            ]
            self._add(f"contributor-{number}", contributor, [*arguments, *kernel])

    def _add(self, name: str, home: Home, arguments: list[str]) -> None:
        self.children.append(Child(name, home, [sys.executable, "-P", "-m", "node", *arguments, "--json"]))

    async def run(self, progress: Progress) -> bool:
        """Runs until the releases are there (True) or the time is over (False), then ends every process in order."""
        try:
            async with trio.open_nursery() as nursery:
                await self._start(nursery)
                nursery.start_soon(self._watch, progress)
                reached = await self._wait_for_releases()
                await self._drain()
                nursery.cancel_scope.cancel()
        finally:
            with trio.CancelScope(shield=True):
                await self._stop_all()
        return reached

    async def _start(self, nursery: trio.Nursery) -> None:
        nursery.start_soon(self._keep, self.coordinator)
        with trio.move_on_after(START_WITHIN_S) as starting:
            await self.coordinator.listening.wait()
        if starting.cancelled_caught:
            log = self.coordinator.home.directory / "log.txt"
            raise LocalError(f"The coordinator did not start within {START_WITHIN_S} s; see {log}.")
        for child in self.children[1:]:
            nursery.start_soon(self._keep, child)

    async def _keep(self, child: Child) -> None:
        """Runs a child again whenever it ends unasked, a little later each time."""
        while not child.ended:
            child.restarts += 1
            if child.restarts:
                self._log("restart", f"{child.name} ended; started again (time {child.restarts}). {child.last}")
                await trio.sleep(min(30, 2 ** min(child.restarts, 6) / 2))
            if not child.ended:
                await self._run_once(child)

    async def _run_once(self, child: Child) -> None:
        environment = {**os.environ, SUPERVISOR_VARIABLE: str(os.getpid()), "OMP_NUM_THREADS": "1"}
        child.home.directory.mkdir(parents=True, exist_ok=True)
        path = child.home.directory / "log.txt"
        with path.open("ab", buffering=0) as log:
            child.process = await trio.lowlevel.open_process(
                child.command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                env=environment,
                start_new_session=True,
            )
            assert child.process.stdout is not None
            pending = b""
            async for part in child.process.stdout:
                with naming(path):
                    log.write(part)
                *lines, pending = (pending + part).split(b"\n")
                for line in lines:
                    self._heard(child, line)
            status = await child.process.wait()
        if status == BAD_INPUT and not child.listening.is_set():
            reasons = (child.home.directory / "log.txt").read_text(encoding="utf-8", errors="replace").splitlines()
            raise LocalError(f"The {child.name} cannot start: {reasons[-1] if reasons else 'it gave no reason.'}")

    def _heard(self, child: Child, line: bytes) -> None:
        try:
            event = json.loads(line)
        except ValueError:
            return
        if event.get("event") == "listening":
            child.listening.set()
        child.last = str(event.get("text", ""))
        if event.get("event") in TOLD:
            self._log(str(event["event"]), child.last)

    async def _watch(self, progress: Progress) -> None:
        while True:
            for child in self.children:
                if child.process is not None and child.process.returncode is None and not child.ended:
                    try:
                        child.status = await trio.to_thread.run_sync(ask_status, child.home.control)
                    except ControlError:
                        continue
            progress(self)
            await trio.sleep(1)

    async def _wait_for_releases(self) -> bool:
        deadline = self.started + 60 * self.options.minutes
        earliest = self.started + 60 * self.options.at_least_minutes
        while time.monotonic() < deadline:
            if len(self.releases) >= self.options.releases and time.monotonic() >= earliest:
                return True
            await trio.sleep(0.5)
        return len(self.releases) >= self.options.releases

    async def _drain(self) -> None:
        """Contributors send what they have, the coordinator begins nothing new, the verifier judges what is left."""
        await self._drain_group(self.children[2:])
        await self._ask_to_drain(self.coordinator)
        await self._drain_group(self.children[1:2])

    async def _drain_group(self, group: list[Child]) -> None:
        for child in group:
            child.ended = True
        with trio.move_on_after(DRAIN_WITHIN_S) as scope:
            async with trio.open_nursery() as nursery:
                for child in group:
                    nursery.start_soon(self._drain_child, child)
        if scope.cancelled_caught:
            self._log("drain", f"Not drained within {DRAIN_WITHIN_S} s: {', '.join(c.name for c in group)}.")

    async def _drain_child(self, child: Child) -> None:
        """Asks until the node, which may be starting only now, has heard; returns when it has ended."""
        process = child.process
        while process is not None and process.returncode is None:
            try:
                await trio.to_thread.run_sync(ask, child.home.control, "drain")
            except ControlError:
                await trio.sleep(ASK_AGAIN_S)
            else:
                await process.wait()

    async def _ask_to_drain(self, child: Child) -> None:
        try:
            await trio.to_thread.run_sync(ask, child.home.control, "drain")
        except ControlError:
            self._log("drain", f"{child.name} does not answer.")

    async def _stop_all(self) -> None:
        for child in self.children:
            child.ended = True
        for child in reversed(self.children):
            process = child.process
            if process is None or process.returncode is not None:
                continue
            process.send_signal(signal.SIGTERM)
            with trio.move_on_after(STOP_WITHIN_S):
                await process.wait()
            if process.returncode is None:
                process.kill()
                await process.wait()
