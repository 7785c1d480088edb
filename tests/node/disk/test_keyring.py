"""Keys on disk: made once and whole, never overwritten, refused when others can read them."""

import os
import stat
from pathlib import Path

import pytest

from node.disk import keyring
from node.disk.keyring import PASSPHRASE_VARIABLE, KeyringError, create_key, load_key, load_or_create_key
from protocol.keyfile import is_encrypted
from tests.node.keys import secret


def test_a_key_is_made_once(tmp_path: Path) -> None:
    path = tmp_path / "keys" / "host"
    made = load_or_create_key(path)
    assert load_or_create_key(path) == load_key(path) == made
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(path.parent.iterdir()) == [path]


def test_a_key_is_never_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "host"
    create_key(path, secret(1))
    with pytest.raises(KeyringError, match="never overwritten"):
        create_key(path, secret(2))
    assert load_key(path) == secret(1)
    assert list(tmp_path.iterdir()) == [path]


def test_a_umask_that_shows_everything_hides_the_key(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        create_key(tmp_path / "host")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "host").stat().st_mode) == 0o600


def test_a_key_that_is_there_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kill between writing and naming leaves no key, and the next start makes one."""

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(keyring.os, "link", killed)
        with pytest.raises(KeyboardInterrupt):
            create_key(tmp_path / "host")
    assert not (tmp_path / "host").exists()
    (tmp_path / f".host.{os.getpid()}.new").write_bytes(b"half a k")
    assert load_or_create_key(tmp_path / "host") == load_key(tmp_path / "host")


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o644, 0o660, 0o601, 0o777])
def test_a_key_that_others_can_reach_is_refused(mode: int, tmp_path: Path) -> None:
    path = tmp_path / "host"
    create_key(path)
    path.chmod(mode)
    with pytest.raises(KeyringError, match="chmod 600"):
        load_key(path)
    path.chmod(0o400)
    load_key(path)


def test_a_key_under_a_passphrase(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "host"
    monkeypatch.setenv(PASSPHRASE_VARIABLE, "right")
    create_key(path, secret(1))
    assert is_encrypted(path.read_bytes())
    assert load_key(path) == secret(1)
    monkeypatch.setenv(PASSPHRASE_VARIABLE, "wrong")
    with pytest.raises(KeyringError, match="does not open"):
        load_key(path)
    monkeypatch.setenv(PASSPHRASE_VARIABLE, "")
    with pytest.raises(KeyringError, match="needs a passphrase"):
        load_key(path)


def test_an_empty_passphrase_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PASSPHRASE_VARIABLE, "")
    create_key(tmp_path / "host")
    assert not is_encrypted((tmp_path / "host").read_bytes())


def test_no_key(tmp_path: Path) -> None:
    with pytest.raises(KeyringError, match="No such file"):
        load_key(tmp_path / "host")
