"""The commands of `docs/verify-a-release.md` do what it says, as they stand there, on a run that a web server shows."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from node.disk.files import write_file
from protocol.statement.sshsig import fingerprint
from tests.node.homes import grown_world

PAGE = Path(__file__).parents[1] / "docs" / "verify-a-release.md"
BLOCK = re.compile(r"^```(sh|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
DOWNLOAD, SIGNATURE, FILES, PROVENANCE, WHOSE_KEY, MODEL = BLOCK.findall(PAGE.read_text(encoding="utf-8"))

pytestmark = pytest.mark.skipif(
    any(shutil.which(tool) is None for tool in ("bash", "curl", "sha256sum", "ssh-keygen")),
    reason="bash, curl, sha256sum and ssh-keygen are needed",
)


class Quiet(SimpleHTTPRequestHandler):
    """Serves a folder and says nothing about it."""

    def log_message(self, format: str, *args: object) -> None:
        """As the class says."""


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address of a server on this machine that shows a folder."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder))) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


class Stranger:
    """Somebody with a shell, a folder, and what the page says has to be known."""

    def __init__(self, folder: Path, url: str) -> None:
        world = grown_world()
        release = world.state.release
        self.folder = folder
        self.said = ""
        self.known = {
            "URL": url,
            "RELEASE": f"{release.number:05d}-{release.name}",
            "RUN": world.run.hex(),
            "KEY": fingerprint(world.coordinator.public),
        }

    def does(self, block: tuple[str, str]) -> bool:
        """Whether a block of the page ends well; each begins in the folder where the first one ends."""
        language, text = block
        command = ["bash", "-euo", "pipefail"] if language == "sh" else [sys.executable, "-"]
        inside = self.folder / "release"
        tools = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            command,
            cwd=inside if inside.is_dir() else self.folder,
            input=text,
            capture_output=True,
            text=True,
            timeout=60,
            env={**os.environ, **self.known, "PATH": tools},
        )
        self.said = done.stdout + done.stderr
        return done.returncode == 0


@pytest.fixture
def public(tmp_path: Path) -> Path:
    """A public folder, which a test may change."""
    for path, data in grown_world().public().items():
        write_file(tmp_path / "public" / path, data, is_durable=False)
    return tmp_path / "public"


def test_the_page_works_from_its_first_command_to_its_last(public: Path, tmp_path: Path) -> None:
    with served(public) as url:
        stranger = Stranger(tmp_path, url)
        for block in (DOWNLOAD, SIGNATURE, FILES, PROVENANCE, WHOSE_KEY, MODEL):
            assert stranger.does(block), stranger.said
    there = {file.name for file in (tmp_path / "release").iterdir()}
    assert len(there) == 9, there


def document(public: Path, stranger: Stranger, name: str) -> Path:
    return public / "statement" / stranger.known["RELEASE"] / name


def test_another_key_is_seen(public: Path, tmp_path: Path) -> None:
    with served(public) as url:
        stranger = Stranger(tmp_path, url)
        stranger.known["KEY"] = fingerprint(grown_world().root_key.public)
        assert stranger.does(DOWNLOAD)
        assert not stranger.does(SIGNATURE)
        assert not stranger.does(WHOSE_KEY)


def test_changed_sums_are_seen(public: Path, tmp_path: Path) -> None:
    with served(public) as url:
        stranger = Stranger(tmp_path, url)
        sums = document(public, stranger, "SHA256SUMS")
        sums.write_bytes(sums.read_bytes()[::-1])
        assert stranger.does(DOWNLOAD)
        assert not stranger.does(SIGNATURE)


def test_paths_that_nobody_signed_are_not_followed(public: Path, tmp_path: Path) -> None:
    with served(public) as url:
        stranger = Stranger(tmp_path, url)
        paths = document(public, stranger, "PATHS")
        paths.write_bytes(paths.read_bytes().replace(b" world", b" ../world"))
        assert stranger.does(DOWNLOAD)
        assert stranger.does(SIGNATURE)
        assert not stranger.does(FILES)
    assert "PATHS" in stranger.said
    assert not list(tmp_path.glob("*.bin"))


def test_another_network_is_seen(public: Path, tmp_path: Path) -> None:
    release = grown_world().state.release
    with served(public) as url:
        stranger = Stranger(tmp_path, url)
        blob = public / "blob" / release.network_blob.hex()[:2] / release.network_blob.hex()
        blob.write_bytes(blob.read_bytes()[:-1] + b"?")
        assert stranger.does(DOWNLOAD)
        assert stranger.does(SIGNATURE)
        assert not stranger.does(FILES)
        assert f"{release.name}.network.bin: FAILED" in stranger.said
        assert not stranger.does(PROVENANCE)
        assert not stranger.does(MODEL)
