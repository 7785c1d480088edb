"""What the tests of this folder share: a finished run, a network typed by hand, a small disk."""

import fcntl
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeVar

import pytest

from protocol.entries import parse_entry
from protocol.record import Record
from tests.e2e.process import FAST, LOOPBACK, TINY, Ended, Running, gonode, log_of, running

R = TypeVar("R", bound=Record)
UNTRAINED = ("--set", "window.first_rows=100000")
"""For `gonode run init`: what is tested goes on without a trainer beside it."""


@dataclass(frozen=True, slots=True)
class FinishedRun:
    """A network that made its first release: its folder, and how `gonode local` ended."""

    directory: Path
    ended: Ended

    @property
    def coordinator(self) -> Path:
        """The coordinator's directory."""
        return self.directory / "coordinator"

    def copy(self, directory: Path) -> Path:
        """A copy of the coordinator's directory, with a port of its own, so that several may run at once."""
        shutil.copytree(self.coordinator, directory)
        assert gonode("run", "ticket", directory, "--address", LOOPBACK).status == 0
        return directory


def local(directory: Path, *more: object) -> tuple[object, ...]:
    """The command of a tiny network. Contributors play slowly and the verifier replays fast, so that nothing piles up."""
    kernels = ("--kernel", "scalar", "--verifier-kernel", FAST)
    return "local", "--run", TINY, "--dir", directory, "--releases", 1, "--minutes", 4, "--json", *kernels, *more


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What audits remember is the tests' own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> FinishedRun:
    """One run for all processes of the tests: the first that asks makes it. Look only."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    directory, said = folder / "finished", folder / "finished.json"
    with (folder / "finished.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not said.exists():
            said.write_text(json.dumps(asdict(gonode(*local(directory)))))
    return FinishedRun(directory, Ended(**json.loads(said.read_text())))


@dataclass(frozen=True, slots=True)
class Handmade:
    """A coordinator and a verifier with the scalar kernel, started by their own commands; no window ever fills."""

    folder: Path
    ticket: str
    coordinator: Running
    verifier: Running

    def invite(self, name: str) -> Path:
        """A file with a new invite."""
        ended = gonode("invite", self.folder / "coordinator")
        assert ended.status == 0
        path = self.folder / f"{name}.invite"
        path.write_text(ended.out, encoding="ascii")
        return path

    def joining(self, name: str, *more: object) -> tuple[object, ...]:
        """The arguments of `gonode join` after its name."""
        options = (
            "--dir",
            self.folder / name,
            "--invite",
            self.invite(name),
            "--listen",
            LOOPBACK,
            "--threads",
            1,
            "--in-flight",
            1,
        )
        return self.ticket, *options, "--name", name, "--json", *more

    def logged(self, record: type[R]) -> dict[bytes, R]:
        """The records of this kind in the coordinator's log, by the digests of their envelopes."""
        entries = (parse_entry(entry) for entry in log_of(self.folder / "coordinator"))
        return {entry.envelope.digest: entry.record for entry in entries if isinstance(entry.record, record)}


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Handmade]:
    folder = tmp_path_factory.mktemp("roles")
    key = request_of(folder)
    founded = gonode("run", "init", folder / "coordinator", "--from", TINY, "--verifier", key, *UNTRAINED)
    assert founded.status == 0
    assert "Run tiny, id " in founded.err
    ticket = founded.out.strip()
    assert ticket.startswith("gonode1")
    verifying = ("verify", ticket, "--dir", folder / "verifier", "--listen", LOOPBACK, "--kernel", "scalar", "--json")
    with (
        running(folder / "coordinate", "coordinate", folder / "coordinator", "--json") as coordinator,
        running(folder / "verify", *verifying, "--threads", 1) as verifier,
    ):
        coordinator.event("listening")
        yield Handmade(folder, ticket, coordinator, verifier)


def request_of(folder: Path) -> str:
    """A verifier's key; a ticket is needed to ask for it, so a first run is founded for nothing else."""
    nobody = gonode("run", "init", folder / "asked", "--from", TINY)
    ended = gonode("verify", nobody.out.strip(), "--dir", folder / "verifier", "--request")
    assert ended.status == 0
    assert len(bytes.fromhex(ended.out.strip())) == 32
    return ended.out.strip()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of two megabytes."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if shutil.which("mount") is None or os.geteuid() != 0:
        pytest.skip("Only the superuser can mount a small disk.")
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", folder], capture_output=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip("This machine lets nobody mount a small disk.")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)
