"""Files are whole or what they were."""

import hashlib
import resource
from pathlib import Path

import pytest

from trainer.files import store


@pytest.mark.parametrize("is_durable", [True, False])
def test_a_file_is_replaced(tmp_path: Path, is_durable: bool) -> None:
    path = tmp_path / "state"
    for data in (b"old", b"new"):
        assert store(path, data, is_durable=is_durable, writer="7") == hashlib.sha256(data).digest()
        assert path.read_bytes() == data
    assert [each.name for each in tmp_path.iterdir()] == ["state"]


def test_a_file_that_does_not_fit_the_disk_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "state"
    store(path, b"old")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        with pytest.raises(OSError, match="File too large"):
            store(path, bytes(5000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert [each.name for each in tmp_path.iterdir()] == ["state"]
    assert path.read_bytes() == b"old"


def test_a_link_at_the_temporary_name_is_not_followed(tmp_path: Path) -> None:
    victim, path = tmp_path / "victim", tmp_path / "state"
    victim.write_bytes(b"dear")
    (tmp_path / ".state.part").symlink_to(victim)
    store(path, b"new")
    assert (victim.read_bytes(), path.read_bytes()) == (b"dear", b"new")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["state", "victim"]
