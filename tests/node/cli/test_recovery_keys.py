"""Recovery keys: made, named, and what cannot be replaced by one."""

from hashlib import sha256
from pathlib import Path

import pytest

from node.contributor import replacing
from node.contributor.replacing import recovery_hash_of
from node.disk.keyring import create_key, load_key
from tests.node.cli.gonode import gonode
from tests.node.homes import TICKET


def test_a_recovery_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "stick" / "recovery"
    made = gonode("keys", "recovery", path)
    assert made.status == 0
    assert made.out == sha256(load_key(path).public).hexdigest() + "\n"
    assert recovery_hash_of(made.out.strip()) == recovery_hash_of(str(path)) == bytes.fromhex(made.out)
    assert "no passphrase" in made.err
    assert "never overwritten" in gonode("keys", "recovery", path).refusal()
    monkeypatch.setenv("GONODE_PASSPHRASE", "correct horse")
    sealed = gonode("keys", "recovery", tmp_path / "sealed")
    assert "no passphrase" not in sealed.err
    monkeypatch.delenv("GONODE_PASSPHRASE")
    assert recovery_hash_of(str(tmp_path / "sealed")).hex() == sealed.out.strip()  # needs no passphrase


@pytest.mark.parametrize("value", ["nobody", "ab" * 31, "xy" * 32])
def test_what_is_no_recovery_key(value: str, tmp_path: Path) -> None:
    assert "cannot be read" in gonode("join", TICKET, "--dir", tmp_path, "--recovery", value).refusal()
    damaged = tmp_path / "damaged"
    damaged.write_text("x")
    assert "not a gonode key file" in gonode("join", TICKET, "--dir", tmp_path, "--recovery", damaged).refusal()


def test_a_key_that_cannot_be_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recovery, directory = tmp_path / "recovery", tmp_path / "node"
    replace = ("keys", "replace", TICKET, "--dir", directory, "--recovery", recovery)
    assert "gonode keys replace TICKET --recovery FILE" in gonode("keys", "replace", "--recovery", recovery).refusal()
    assert "cannot be read" in gonode(*replace).refusal()
    create_key(recovery)
    assert "no key here" in gonode(*replace).refusal()
    assert "64 hexadecimal digits" in gonode(*replace, "--key", "abc").refusal()
    create_key(directory / "keys" / "host")
    monkeypatch.setattr(replacing, "LOG_WITHIN_S", 0.5)
    assert "No peer of the run showed its log" in gonode(*replace).refusal(3)
    assert sorted(path.name for path in (directory / "keys").iterdir()) == ["host", "host.next"]
    first = load_key(directory / "keys" / "host.next")
    assert "No peer of the run" in gonode(*replace).refusal(3)
    assert load_key(directory / "keys" / "host.next") == first
