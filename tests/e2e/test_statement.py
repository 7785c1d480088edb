"""What a finished run published about its release: other people's tools believe it, with the files that it is about."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from protocol.ticket import Ticket
from tests.e2e.conftest import FinishedRun

pytestmark = pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="ssh-keygen is not here: openssh-client")


@pytest.fixture
def folder(finished: FinishedRun, tmp_path: Path) -> Path:
    """The documents of the first release and its two files, as whoever follows PATHS has them."""
    public = finished.coordinator / "public"
    documents = min((public / "statement").iterdir())
    shutil.copytree(documents, tmp_path / "release")
    for line in (documents / "PATHS").read_text(encoding="ascii").splitlines():
        path, name = line.split(" ")
        shutil.copy(public / path, tmp_path / "release" / name)
    return tmp_path / "release"


def holds(folder: Path, *command: str, given: bytes = b"") -> bool:
    return subprocess.run(command, cwd=folder, input=given, capture_output=True, timeout=60).returncode == 0


def test_strangers_believe_a_finished_run(finished: FinishedRun, folder: Path) -> None:
    run = Ticket.parse((finished.coordinator / "ticket").read_text(encoding="ascii")).run.hex()
    options = ("-f", "allowed_signers", "-I", f"gonode/{run}", "-n", "file", "-s", "SHA256SUMS.sig")
    assert holds(folder, "ssh-keygen", "-Y", "verify", *options, given=(folder / "SHA256SUMS").read_bytes())
    assert holds(folder, "sha256sum", "--check", "--strict", "SHA256SUMS")
    model = ("verify", "key", ".", "--signature", "model.sig", "--public_key", "model.pub")
    assert holds(folder, sys.executable, "-m", "model_signing", *model)


def test_each_release_has_its_documents(finished: FinishedRun) -> None:
    public = finished.coordinator / "public"
    assert {path.name for path in (public / "statement").iterdir()} == {
        path.name for path in (public / "release").iterdir()
    }
