"""Audits of a node's directory while it works: what is being written, heads still to come, and heads that contradict."""

import os
from pathlib import Path

import pytest

from node.audits.folder_audit import AuditInputError, FolderReader, audit_home
from node.disk.home import Home
from node.disk.store import Head, Store
from protocol.checkpoint import Checkpoint, cosign
from protocol.layout import BLOBS, CHECKPOINT
from protocol.seeds import log_origin
from tests.node.homes import grown_world, make_home
from tests.verification.world import World
from verification.audit import head as audit_head
from verification.audit.audit import AuditOptions, AuditReport
from verification.audit.folder import Folder
from verification.state import LogState
from verification.witness import witness_name


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return make_home(grown_world(), tmp_path / "coordinator")


def audited(home: Home) -> AuditReport:
    return audit_home(home, AuditOptions(sample=0))


def put_head(home: Home, size: int, root_hash: bytes) -> None:
    """A head that the coordinator signed."""
    world = grown_world()
    head = Checkpoint(log_origin(world.run), size, root_hash)
    with Store(home.database) as store:
        store.put_head(Head(size, root_hash, head.sign(world.coordinator).encode()))


def test_a_whole_run_passes(home: Home) -> None:
    seen: list[str] = []
    report = audit_home(home, AuditOptions(sample=1), lambda check: seen.append(check.name))
    assert report.ok, report.checks
    assert seen == [check.name for check in report.checks]
    assert report.release == grown_world().state.release.name


def test_files_that_are_being_written_are_no_strangers(home: Home) -> None:
    (home.public / ".checkpoint.new").write_bytes(b"half")
    (home.public / "tile" / "0" / ".000.new").write_bytes(b"half")
    assert audited(home).ok
    (home.public / "checkpoint.new").write_bytes(b"half")
    assert not audited(home).ok


def test_a_head_still_to_be_cosigned_is_no_fork(home: Home) -> None:
    put_head(home, grown_world().state.size + 5, bytes(32))
    assert audited(home).ok


def test_a_cosigned_head_that_is_newer_is_a_rollback_unless_the_folder_is_a_copy(home: Home) -> None:
    world = grown_world()
    head = Checkpoint(log_origin(world.run), world.state.size + 5, bytes(32))
    witness = world.verifiers[0]
    line = cosign(head.body(), witness, witness_name(witness.public), 1)
    with Store(home.database) as store:
        note = head.sign(world.coordinator).with_signatures([line])
        store.put_head(Head(head.size, head.root_hash, note.encode()))
    report = audited(home)
    assert not report.ok
    assert "was seen before" in report.checks[0].detail
    assert audit_home(home, AuditOptions(sample=0), is_copy=True).ok


def test_entries_that_were_judged_before_are_not_judged_again(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    world, judged = grown_world(), 0

    def counted(folder: Folder, entries: list[bytes], run: bytes) -> LogState:
        nonlocal judged
        judged += 1
        return judge(folder, entries, run)

    judge = audit_head._state
    monkeypatch.setattr(audit_head, "_state", counted)
    before = audit_head.Head(list(world.entries), world.state)
    assert audit_home(home, AuditOptions(sample=0), judged=before).ok
    assert judged == 0
    for other in (world.entries[:-1], [*world.entries[:-1], world.entries[-2]], []):
        assert audit_home(home, AuditOptions(sample=0), judged=audit_head.Head(other, world.state)).ok
    assert judged == 3


def test_another_run_is_refused_though_its_log_was_judged_before(home: Home, tmp_path: Path) -> None:
    world = grown_world()
    home.ticket.write_text(make_home(World(word="other"), tmp_path / "other").ticket.read_text())
    report = audit_home(home, AuditOptions(sample=0), judged=audit_head.Head(list(world.entries), world.state))
    assert "is of run" in report.checks[0].detail
    assert [check.ok for check in report.checks[1:]] == [None] * 7


@pytest.mark.parametrize("word", ["stranger", "ada"])
def test_a_newer_head_with_other_lines_than_witnesses_is_no_rollback(word: str, home: Home) -> None:
    world = grown_world()
    head = Checkpoint(log_origin(world.run), world.state.size + 5, bytes(32))
    key = world.key(word)
    line = cosign(head.body(), key, witness_name(key.public), 1)
    with Store(home.database) as store:
        note = head.sign(world.coordinator).with_signatures([line])
        store.put_head(Head(head.size, head.root_hash, note.encode()))
    assert audited(home).ok


def test_a_store_without_a_log_holds_heads_that_an_audit_took(home: Home) -> None:
    home.database.unlink()
    put_head(home, grown_world().state.size + 5, bytes(32))
    report = audited(home)
    assert not report.ok
    assert "was seen before" in report.checks[0].detail


@pytest.mark.parametrize("size", [1, 5, 30])
def test_a_signed_head_that_contradicts_is_a_fork(size: int, home: Home) -> None:
    put_head(home, size, bytes(32))
    report = audited(home)
    assert not report.ok
    assert "it forked" in report.checks[0].detail


def test_signed_heads_of_the_same_log_are_fine(home: Home) -> None:
    tree = grown_world().state.tree
    for size in range(2, tree.size + 1, 9):
        put_head(home, size, tree.root(size))
    assert audited(home).ok


def test_a_folder_of_another_run(home: Home, tmp_path: Path) -> None:
    other = make_home(World(word="other"), tmp_path / "other")
    home.ticket.write_text(other.ticket.read_text())
    report = audited(home)
    assert not report.ok
    assert "is of run" in report.checks[0].detail


def test_there_is_nothing_to_audit(tmp_path: Path) -> None:
    with pytest.raises(AuditInputError, match=r"no published log.*only a coordinator's directory or a copy.*--ticket"):
        audited(Home(tmp_path))


def test_readers_show_a_folder_as_it_is(home: Home) -> None:
    reader = FolderReader(home.public)
    wanted = grown_world().public()
    assert sorted(reader.list("")) == sorted(wanted)
    assert sorted(reader.list("tile/")) == sorted(path for path in wanted if path.startswith("tile/"))
    assert {path: reader.read(path) for path in wanted} == wanted
    assert reader.read("nothing") is None
    assert reader.read("tile") is None
    assert reader.read("checkpoint/x") is None


@pytest.mark.parametrize("is_blob", [False, True])
@pytest.mark.parametrize("what", ["pipe", "device", "file", "folder"])
def test_nothing_but_regular_files_is_opened(what: str, is_blob: bool, home: Home, tmp_path: Path) -> None:
    path = next(path for path in grown_world().public() if path.startswith("blob" if is_blob else "tile/"))
    file = home.public / path
    file.unlink()
    if what == "pipe":
        os.mkfifo(file)
    else:
        file.symlink_to({"device": Path("/dev/zero"), "file": home.public / CHECKPOINT, "folder": tmp_path}[what])
    with pytest.raises(AuditInputError, match="is a link or no regular file") as refused:
        audit_home(home, AuditOptions(sample=1))
    assert str(refused.value).startswith(f"{file}: ")


def test_a_blob_that_becomes_a_pipe_is_not_opened(home: Home) -> None:
    reader = FolderReader(home.public)
    path = next(path for path in reader.list("") if path.startswith(f"{BLOBS}/"))
    (home.public / path).unlink()
    os.mkfifo(home.public / path)
    with pytest.raises(AuditInputError, match="is a link or no regular file"):
        reader.read(path)


@pytest.mark.parametrize("name", ["ticket", "node.db"])
def test_a_pipe_beside_the_folder_is_not_opened(name: str, home: Home) -> None:
    (home.directory / name).unlink(missing_ok=True)
    os.mkfifo(home.directory / name)
    with pytest.raises(AuditInputError, match=f"{name}: this is a link or no regular file"):
        audited(home)
