"""What an audit replayed is remembered in the user's cache, whatever became of the file, and nothing else depends on it."""

import os
from pathlib import Path

import pytest

from node.audits.replay_memory import KEY_BYTES, ReplayMemory, memory_file

ONE, TWO, THREE = (bytes([number]) * KEY_BYTES for number in (1, 2, 3))


def test_keys_are_kept(tmp_path: Path) -> None:
    file = tmp_path / "cache" / "replayed"
    with ReplayMemory(file) as memory:
        assert not memory.knows(ONE)
        memory.keep(ONE)
        assert memory.knows(ONE)
    with ReplayMemory(file) as memory, ReplayMemory(file) as other:
        assert memory.knows(ONE)
        memory.keep(TWO)
        other.keep(THREE)
    assert file.read_bytes() == ONE + TWO + THREE
    assert file.stat().st_mode & 0o077 == 0


def test_a_key_that_was_cut_short_is_dropped(tmp_path: Path) -> None:
    file = tmp_path / "replayed"
    file.write_bytes(ONE + TWO[:7])
    with ReplayMemory(file) as memory:
        assert memory.knows(ONE)
        memory.keep(THREE)
    assert file.read_bytes() == ONE + THREE


def test_without_a_file_it_lasts_as_long_as_the_audit(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_bytes(b"")
    for file in (None, tmp_path, blocked / "below", Path("/dev/zero")):
        with ReplayMemory(file) as memory:
            memory.keep(ONE)
            assert memory.knows(ONE)


def test_a_full_disk_ends_the_remembering_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "replayed"
    with ReplayMemory(file) as memory:
        memory.keep(ONE)
        write = os.write
        with monkeypatch.context() as full:
            full.setattr(os, "write", lambda number, data: write(number, data[:5]))
            memory.keep(TWO)
        memory.keep(THREE)
        assert memory.knows(TWO)
        assert memory.knows(THREE)
    with ReplayMemory(file) as memory:
        assert memory.knows(ONE)
        assert not memory.knows(TWO)


def test_where_it_lies(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    file = memory_file()
    assert file is not None
    assert file.parent == tmp_path / "gonode"
    assert file.name.startswith("replayed-")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")  # which the standard says to ignore
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    file = memory_file()
    assert file is not None
    assert file.parent == tmp_path / "home" / ".cache" / "gonode"
