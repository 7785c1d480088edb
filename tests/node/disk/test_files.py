"""Files are whole: the old bytes or the new ones, whatever fails in between, and durable before the function returns."""

import errno
import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from node.disk import files
from node.disk.files import move_file, naming, write_file, write_output
from node.disk.keyring import create_key
from node.disk.lockfile import locked
from node.matches.match_record import open_record


@pytest.mark.parametrize("is_durable", [False, True])
def test_files_are_replaced_as_a_whole(tmp_path: Path, is_durable: bool) -> None:
    path = tmp_path / "a" / "b"
    write_file(path, b"1", is_durable=is_durable)
    write_file(path, b"22", is_durable=is_durable)
    assert path.read_bytes() == b"22"
    assert list(path.parent.iterdir()) == [path]


def test_a_failure_leaves_the_old_file_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a"
    write_file(path, b"old")

    def refuse(source: object, target: object) -> None:
        raise OSError("no space")

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(OSError, match="no space"):
        write_file(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_bytes_are_on_disk_before_the_name_and_the_name_before_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    sync, replace = files.sync, os.replace
    monkeypatch.setattr(files, "sync", lambda path: (done.append(f"sync {path.name}"), sync(path)))
    monkeypatch.setattr(os, "replace", lambda one, two: (done.append(f"name {two.name}"), replace(one, two)))
    write_file(tmp_path / "new" / "a", b"1")
    assert done == [f"sync {tmp_path.name}", "sync .a.new", "name a", "sync new"]
    done.clear()
    write_file(tmp_path / "b", b"1", is_durable=False)
    assert done == ["name b"]


def test_a_complete_file_gets_its_name(tmp_path: Path) -> None:
    part = tmp_path / "part"
    part.write_bytes(b"all of it")
    move_file(part, tmp_path / "folder" / "whole")
    assert (tmp_path / "folder" / "whole").read_bytes() == b"all of it"
    assert not part.exists()


def test_a_link_at_the_temporary_name_is_not_followed(tmp_path: Path) -> None:
    victim, path = tmp_path / "victim", tmp_path / "copy" / "checkpoint"
    victim.write_bytes(b"dear")
    path.parent.mkdir()
    path.with_name(".checkpoint.new").symlink_to(victim)
    path.symlink_to(victim)
    write_file(path, b"new")
    assert (victim.read_bytes(), path.read_bytes()) == (b"dear", b"new")
    assert list(path.parent.iterdir()) == [path]
    assert not path.is_symlink()


@contextmanager
def no_room() -> Iterator[None]:
    """No file may have a byte, as far as the system is asked: it refuses by number, as a full disk does."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_what_the_disk_refuses_names_the_file(tmp_path: Path) -> None:
    def lock() -> None:
        with locked(tmp_path):
            pass

    def record() -> None:
        with open_record(tmp_path / "match", {}):
            pass

    for write, name in (
        (lambda: write_file(tmp_path / "a", b"1"), "a"),
        (lambda: create_key(tmp_path / "key"), "key"),
        (lock, "lock"),
        (record, "match"),
    ):
        with pytest.raises(OSError, match="File too large") as caught, no_room():
            write()
        assert (caught.value.errno, caught.value.filename) == (errno.EFBIG, str(tmp_path / name))


def test_a_name_that_an_error_has_stays() -> None:
    for error, name in (
        (OSError(errno.ENOSPC, "full", "other"), "other"),
        (OSError(errno.ENOSPC, "full"), "mine"),
        (OSError("no number"), None),
    ):
        with pytest.raises(OSError, match=r"full|number") as caught, naming(Path("mine")):
            raise error
        assert caught.value.filename == name


def test_an_output_goes_where_a_link_leads_and_into_a_pipe(tmp_path: Path) -> None:
    """A name that a person gave may be `/dev/stdout`, which nobody wants replaced by a file."""
    target, link, pipe, loop = (tmp_path / name for name in ("target", "link", "pipe", "loop"))
    link.symlink_to(target)
    for data in (b"1", b"22"):
        write_output(link, data)
        assert (link.is_symlink(), target.read_bytes()) == (True, data)
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_output(pipe, b"333")
    assert (os.read(reader, 9), pipe.is_fifo()) == (b"333", True)
    os.close(reader)
    with pytest.raises(IsADirectoryError):
        write_output(tmp_path, b"4")
    loop.symlink_to(loop)
    write_output(loop, b"55555")
    assert loop.read_bytes() == b"55555"
