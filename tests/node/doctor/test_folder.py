"""What the doctor says of a directory, the room on its disk and its keys."""

from pathlib import Path

import pytest

from node.disk.home import Home
from node.disk.keyring import PASSPHRASE_VARIABLE, create_key
from node.doctor.finding import Standing
from node.doctor.folder import check_folder, check_key, check_room
from tests.node.keys import secret


def test_a_directory_that_is_not_there_yet(tmp_path: Path) -> None:
    home = Home(tmp_path / "a" / "b")
    found = {finding.name: finding for finding in check_folder(home)}
    assert {"directory", "room", "key"} == set(found)
    assert found["directory"].standing is found["key"].standing is Standing.OK
    assert not home.directory.exists()


def test_a_directory_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tempfile.TemporaryFile", refuse)
    found = check_folder(Home(tmp_path))[0]
    assert found.standing is Standing.WRONG
    assert "chown -R" in found.mend


def test_the_check_leaves_nothing(tmp_path: Path) -> None:
    create_key(Home(tmp_path).key("host"), secret(1))
    before = sorted(tmp_path.rglob("*"))
    names = [finding.name for finding in check_folder(Home(tmp_path))]
    assert names == ["directory", "room", "key host"]
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    ("free_bytes", "standing"), [(50 << 20, Standing.WRONG), (1 << 30, Standing.WARNING), (3 << 30, Standing.OK)]
)
def test_room(free_bytes: int, standing: Standing) -> None:
    assert check_room(free_bytes).standing is standing


def test_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "host"
    create_key(path, secret(1))
    assert check_key(path).standing is Standing.OK
    path.chmod(0o644)
    assert check_key(path).mend == f"Run: chmod 600 {path}"
    path.chmod(0o600)
    path.write_bytes(path.read_bytes()[:-3])
    damaged = check_key(path)
    assert damaged.standing is Standing.WRONG
    assert f"mv {path} {path}.bad; gonode keys import {path} --words" in damaged.mend


def test_keys_under_a_passphrase(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "host"
    monkeypatch.setenv(PASSPHRASE_VARIABLE, "open")
    create_key(path, secret(1))
    assert check_key(path).standing is Standing.OK
    monkeypatch.setenv(PASSPHRASE_VARIABLE, "other")
    assert check_key(path).standing is Standing.WRONG
    monkeypatch.delenv(PASSPHRASE_VARIABLE)
    assert check_key(path).standing is Standing.WARNING
