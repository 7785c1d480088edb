"""A mirror as a process: a copy that audits, from a directory and over HTTP, whatever became of the process meanwhile."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.e2e.conftest import FinishedRun
from tests.e2e.process import LOOPBACK, Running, gonode, kill, parse_events, running, wait_for
from tests.node.audits.web_server import web_server


@dataclass(frozen=True, slots=True)
class Source:
    """The finished run's coordinator, running alone in a copy of its directory."""

    home: Path
    process: Running

    @property
    def ticket(self) -> str:
        """The run's ticket."""
        return (self.home / "ticket").read_text(encoding="ascii").strip()

    def mirror(self, directory: Path, *more: object) -> tuple[object, ...]:
        """The arguments of `gonode mirror`."""
        return "mirror", self.ticket, directory, "--listen", LOOPBACK, "--no-lan", "--json", *more


@pytest.fixture(scope="module")
def source(finished: FinishedRun, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Source]:
    home = finished.copy(tmp_path_factory.mktemp("source") / "coordinator")
    with running(home.with_name("said"), "coordinate", home, "--json") as process:
        process.event("listening")
        yield Source(home, process)


def contents(public: Path) -> dict[str, bytes]:
    return {path.relative_to(public).as_posix(): path.read_bytes() for path in public.rglob("*") if path.is_file()}


def blobs(directory: Path) -> int:
    return sum(path.is_file() for path in (directory / "public" / "blob").rglob("*"))


def test_a_run_is_mirrored_audited_and_shown(source: Source, tmp_path: Path) -> None:
    mirror = tmp_path / "mirror"
    with running(tmp_path / "said", *source.mirror(mirror)) as process:
        copied = process.event("copied")
        assert copied["role"] == "mirror"
        assert copied["size"] > 2
        status = gonode("status", "--dir", mirror, "--json").json
        assert (status["role"], status["shown"]) == ("mirror", copied["size"])
        assert status["missing"] == copied["missing"]
        ended = gonode("audit", "--dir", mirror, "--sample", 1, "--json")
        assert ended.status == 0, ended.json
        process.interrupt()
        assert process.ended().status == 0
    shown, own = contents(mirror / "public"), contents(source.home / "public")
    assert shown.keys() <= own.keys() | {path for path in shown if path.startswith("tile/")}
    assert all(own[path] == data for path, data in shown.items() if path.startswith(("blob/", "release/")))
    with web_server(shown) as server:
        ended = gonode("audit", "--url", server.url, "--ticket", source.ticket, "--sample", 1, "--json")
        assert ended.status == 0, ended.json
        changed = next(path for path in shown if path.startswith("release/"))
        server.files = {**shown, changed: shown[changed] + b"x"}
        ended = gonode("audit", "--url", server.url, "--sample", 0, "--json")
        assert ended.status == 1
        assert changed in next(check["detail"] for check in ended.json["checks"] if check["name"] == "files")


def test_a_killed_copy_is_gone_on_with(source: Source, tmp_path: Path) -> None:
    mirror = tmp_path / "mirror"
    with running(tmp_path / "slow", *source.mirror(mirror, "--once", "--down", "16k")) as process:
        wait_for(lambda: blobs(mirror) >= 3, "some blobs")
        kill(process.process.pid)
        process.process.wait()
    before = blobs(mirror)
    assert before >= 3
    assert not (mirror / "public" / "checkpoint").exists(), "a head is shown once what it names is there"
    ended = gonode(*source.mirror(mirror, "--once"))
    assert ended.status == 0, ended.err
    (copied,) = [event for event in parse_events(ended.out) if event["event"] == "copied"]
    assert copied["blobs"] == blobs(mirror) > before
    assert gonode("audit", "--dir", mirror, "--sample", 0).status == 0
    first = contents(mirror / "public")
    assert gonode(*source.mirror(mirror, "--once")).status == 0
    assert contents(mirror / "public") == first


def test_an_interrupted_copy_says_so(source: Source, tmp_path: Path) -> None:
    mirror = tmp_path / "mirror"
    with running(tmp_path / "slow", *source.mirror(mirror, "--once", "--down", "1k")) as process:
        process.event("listening")
        wait_for(lambda: (mirror / "public.partial").exists() or None, "the first blob's beginning")
        process.interrupt()
        ended = process.ended()
    assert ended.status == 130
    assert ended.err == ""


def test_an_audit_keeps_its_copy(source: Source, tmp_path: Path) -> None:
    for _ in range(2):
        ended = gonode("audit", "--ticket", source.ticket, "--dir", tmp_path / "kept", "--sample", 1, "--json")
        assert ended.status == 0, ended.json
    assert blobs(tmp_path / "kept") > 3
