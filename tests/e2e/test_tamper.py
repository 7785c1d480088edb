"""A thousand changes of what a run published: the audit says no, and names the file; so does the command."""

import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from protocol.entries import parse_entry
from protocol.header import BatchHeader
from protocol.layout import blob_path
from protocol.record import Record
from protocol.release import Release
from protocol.verdict import Verdict
from tests.e2e.conftest import FinishedRun
from tests.e2e.process import gonode
from tests.verification.audit.changes import kind_of, try_changes
from tests.verification.remembered import remembered

CHANGES = 1000
WITHIN_S = 20.0
"""What the changes may take; `make soak` makes all of them however long that takes."""

Place = tuple[str, int, tuple[str, ...]]
"""A file of the public folder, the offset of the byte to change, and what the audit has to name."""


@pytest.fixture
def copy(finished: FinishedRun, tmp_path: Path) -> Path:
    """A node's directory with nothing but the run's public folder."""
    shutil.copytree(finished.coordinator / "public", tmp_path / "public")
    return tmp_path


def entry_tile(public: Path, record: type[Record]) -> tuple[str, int]:
    """The entry bundle with the first entry of this kind, and where that entry's payload ends in it."""
    for tile in sorted((public / "tile" / "entries").rglob("*")):
        data = tile.read_bytes() if tile.is_file() else b""
        at = 0
        while at < len(data):
            length = int.from_bytes(data[at : at + 2], "big")
            if isinstance(parse_entry(data[at + 2 : at + 2 + length]).record, record):
                return tile.relative_to(public).as_posix(), at + 2 + length // 2
            at += 2 + length
    raise AssertionError(f"no {record.NAME} is in the log")


def release(public: Path) -> Place:
    path = next((public / "release").iterdir())
    return f"release/{path.name}", path.stat().st_size // 2, (f"release/{path.name}", "not the entry")


def network(public: Path) -> Place:
    record = Release.open(parse_entry(next((public / "release").iterdir()).read_bytes()).envelope)
    path = blob_path(record.network_blob)
    return path, 1000, (path, "does not have the content")


def batch(public: Path) -> Place:
    path, _ = entry_tile(public, BatchHeader)
    data = (public / path).read_bytes()
    at = 0
    while True:
        length = int.from_bytes(data[at : at + 2], "big")
        entry = parse_entry(data[at + 2 : at + 2 + length])
        if isinstance(entry.record, BatchHeader):
            path = blob_path(entry.record.blob_digest)
            return path, 40, (path, "does not have the content")
        at += 2 + length


def verdict(public: Path) -> Place:
    path, at = entry_tile(public, Verdict)
    return path, at, (path, "(verdict)")


def tile(public: Path) -> Place:
    path = next(path for path in (public / "tile" / "0").rglob("*") if path.is_file()).relative_to(public).as_posix()
    return path, 33, (path,)


def checkpoint(public: Path) -> Place:
    data = (public / "checkpoint").read_bytes()
    return "checkpoint", len(data) - 20, ("checkpoint",)


def checkpoint_size(public: Path) -> Place:
    """The first digit of the size; the head then speaks of another log, or of none."""
    return "checkpoint", (public / "checkpoint").read_bytes().index(b"\n") + 1, ("checkpoint",)


@pytest.mark.parametrize("place", [release, network, batch, verdict, tile, checkpoint, checkpoint_size])
def test_one_changed_byte_is_named(copy: Path, place: Callable[[Path], Place]) -> None:
    path, at, named = place(copy / "public")
    data = bytearray((copy / "public" / path).read_bytes())
    data[at] ^= 1
    (copy / "public" / path).write_bytes(data)
    ended = gonode("audit", "--dir", copy, "--sample", 0, "--json")
    report = ended.json
    assert ended.status == 1
    assert report["ok"] is False
    told = "".join(check["detail"] for check in report["checks"] if check["ok"] is False)
    for word in named:
        assert word in told


def changes(run: FinishedRun, seed: int, within_s: float) -> dict[str, int]:
    """What was met of CHANGES random changes of a run's public files, audited in memory.

    The entries that no change touches are the same bytes in each audit: parsed and their signatures verified once.
    """
    public = run.coordinator / "public"
    files = {path.relative_to(public).as_posix(): path.read_bytes() for path in public.rglob("*") if path.is_file()}
    end = time.monotonic() + within_s
    with remembered():
        met = try_changes(files, CHANGES, seed, lambda: time.monotonic() > end)
    assert met.keys() >= {kind_of(path) for path in files}
    return met


def test_random_changes_are_named(finished: FinishedRun) -> None:
    met = changes(finished, 1, WITHIN_S)
    assert met["flip"] > 50


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seed", [2, 3])
def test_a_thousand_changes_are_named(finished: FinishedRun, seed: int) -> None:
    met = changes(finished, seed, 3600)
    assert sum(met.get(kind, 0) for kind in ("flip", "cut", "grow", "drop", "swap", "move", "absent")) == CHANGES


def test_the_copy_audits_unless_changed(copy: Path) -> None:
    ended = gonode("audit", "--dir", copy, "--sample", 1)
    assert ended.status == 0, ended.out
    (copy / "public" / "extra").write_bytes(b"")
    ended = gonode("audit", "--dir", copy, "--sample", 0)
    assert ended.status == 1
    assert "File extra is unknown." in ended.out


def test_nothing_to_audit_is_one_sentence(tmp_path: Path) -> None:
    ended = gonode("audit", "--dir", tmp_path)
    assert ended.status == 2
    assert "no published log" in ended.sentence
