"""Passphrases at a terminal: a new one is asked for twice, a key's own one once; without a terminal nobody is asked."""

import os
from pathlib import Path

import pytest

from node.disk import keyring, passphrase
from node.disk.keyring import KeyringError, change_passphrase, create_key, is_under_passphrase, load_key
from node.disk.passphrase import NEW_PASSPHRASE_VARIABLE, PASSPHRASE_VARIABLE
from tests.node.keys import secret


class Terminal:
    """Somebody who types what a test says."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.answers: list[str] = []
        self.prompts: list[str] = []
        monkeypatch.delenv(PASSPHRASE_VARIABLE, raising=False)
        monkeypatch.delenv(NEW_PASSPHRASE_VARIABLE, raising=False)
        monkeypatch.setattr(passphrase, "is_terminal", lambda: True)
        monkeypatch.setattr(passphrase.getpass, "getpass", self._ask)

    def types(self, *answers: str) -> None:
        """What is typed next."""
        self.answers += answers

    def _ask(self, prompt: str, stream: object = None) -> str:
        self.prompts.append(prompt)
        return self.answers.pop(0)


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    return Terminal(monkeypatch)


def test_a_new_key_is_put_under_what_is_typed_twice(terminal: Terminal, tmp_path: Path) -> None:
    path = tmp_path / "key"
    terminal.types("horse", "horse")
    create_key(path, secret(1), asks=True)
    assert is_under_passphrase(path)
    terminal.types("horse")
    assert load_key(path) == secret(1)
    assert [str(path) in prompt for prompt in terminal.prompts] == [True, False, True]
    terminal.types("mule")
    with pytest.raises(KeyringError, match="does not open"):
        load_key(path)


def test_two_that_differ_make_no_key(terminal: Terminal, tmp_path: Path) -> None:
    terminal.types("horse", "hose")
    with pytest.raises(KeyringError, match="not the same"):
        create_key(tmp_path / "key", asks=True)
    assert list(tmp_path.iterdir()) == []


def test_nothing_typed_is_no_passphrase(terminal: Terminal, tmp_path: Path) -> None:
    terminal.types("")
    create_key(tmp_path / "key", asks=True)
    assert not is_under_passphrase(tmp_path / "key")
    load_key(tmp_path / "key")
    assert len(terminal.prompts) == 1


def test_nodes_make_their_keys_without_asking(terminal: Terminal, tmp_path: Path) -> None:
    create_key(tmp_path / "key")
    assert terminal.prompts == []


def test_the_environment_goes_before_the_terminal(
    terminal: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(PASSPHRASE_VARIABLE, "horse")
    create_key(tmp_path / "key", asks=True)
    assert is_under_passphrase(tmp_path / "key")
    load_key(tmp_path / "key")
    assert terminal.prompts == []


def test_a_passphrase_is_changed_added_and_taken_away(terminal: Terminal, tmp_path: Path) -> None:
    path = tmp_path / "key"
    create_key(path, secret(1))
    for answers, is_sealed in ((("a", "a"), True), (("a", "b", "b"), True), (("b", ""), False)):
        terminal.types(*answers)
        assert change_passphrase(path, NEW_PASSPHRASE_VARIABLE) == is_sealed == is_under_passphrase(path)
    assert load_key(path) == secret(1)
    assert path.stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.iterdir()) == [path]
    terminal.types("x", "y")
    with pytest.raises(KeyringError, match="not the same"):
        change_passphrase(path, NEW_PASSPHRASE_VARIABLE)
    assert load_key(path) == secret(1)


def test_a_kill_while_it_is_changed_leaves_the_key(
    terminal: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "key"
    create_key(path, secret(1))

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    for owner, name in ((Path, "replace"), (keyring.os, "fsync")):
        terminal.types("")
        with monkeypatch.context() as patch:
            patch.setattr(owner, name, killed)
            with pytest.raises(KeyboardInterrupt):
                change_passphrase(path, NEW_PASSPHRASE_VARIABLE)
        assert load_key(path) == secret(1)
    (tmp_path / f".key.{os.getpid()}.new").unlink(missing_ok=True)
    terminal.types("")
    assert not change_passphrase(path, NEW_PASSPHRASE_VARIABLE)


def test_without_a_terminal_nobody_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passphrase, "is_terminal", lambda: False)
    monkeypatch.setenv(PASSPHRASE_VARIABLE, "horse")
    create_key(tmp_path / "key")
    monkeypatch.delenv(PASSPHRASE_VARIABLE)
    with pytest.raises(KeyringError, match="needs a passphrase"):
        load_key(tmp_path / "key")
    create_key(tmp_path / "plain", asks=True)
    assert not is_under_passphrase(tmp_path / "plain")
