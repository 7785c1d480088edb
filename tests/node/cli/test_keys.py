"""`gonode keys`: secret keys as files and words, under passphrases; nothing is overwritten."""

import io
import json
import sys
from pathlib import Path

import pytest

from node.disk.keyring import create_key, is_under_passphrase, load_key
from tests.node.cli.gonode import gonode
from tests.node.keys import secret


@pytest.fixture
def key(tmp_path: Path) -> Path:
    create_key(tmp_path / "key", secret(1))
    return tmp_path / "key"


def types(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """What stands on standard input."""
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))


def test_a_key_goes_through_words(key: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    exported = gonode("keys", "export", key, "--words")
    assert exported.status == 0
    assert len(exported.out.split()) == 24
    assert "under no passphrase" in exported.err
    types(monkeypatch, exported.out)
    made = gonode("keys", "import", tmp_path / "back", "--words", "--public", secret(1).public.hex())
    assert (made.status, made.out) == (0, secret(1).public.hex() + "\n")
    assert load_key(tmp_path / "back") == secret(1)
    types(monkeypatch, exported.out)
    other = gonode("keys", "import", tmp_path / "other", "--words", "--public", secret(2).public.hex())
    assert "nothing is written" in other.refusal()
    types(monkeypatch, exported.out.replace(" ", " zoo ", 1))
    assert "24 words, not 25" in gonode("keys", "import", tmp_path / "other", "--words").refusal()
    assert not (tmp_path / "other").exists()


def test_a_key_goes_through_a_file(key: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GONODE_PASSPHRASE", "horse")
    assert gonode("keys", "export", key, "--to", tmp_path / "copy").status == 0
    assert is_under_passphrase(tmp_path / "copy")
    assert (
        gonode("keys", "import", tmp_path / "back", "--from", tmp_path / "copy").out.strip() == secret(1).public.hex()
    )
    for refused in (
        gonode("keys", "export", key, "--to", tmp_path / "copy"),
        gonode("keys", "import", tmp_path / "back", "--from", key),
    ):
        assert "never overwritten" in refused.refusal()
    assert load_key(tmp_path / "back") == secret(1)


def test_what_keys_say_of_themselves(key: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GONODE_PASSPHRASE", "horse")
    create_key(tmp_path / "node" / "keys" / "host", secret(2))
    monkeypatch.delenv("GONODE_PASSPHRASE")
    create_key(tmp_path / "node" / "keys" / "verifier", secret(3))
    assert gonode("keys", "show", key).out == f"{secret(1).public.hex()}  {key}  under no passphrase\n"
    lines = gonode("keys", "show", tmp_path / "node").out.splitlines()
    assert [line.split()[0] for line in lines] == [secret(2).public.hex(), secret(3).public.hex()]
    assert lines[0].endswith("under a passphrase")
    found = json.loads(gonode("keys", "show", tmp_path / "node", "--json").out)["keys"]
    assert [each["passphrase"] for each in found] == [True, False]
    assert secret(2).seed.hex() not in json.dumps(found)


def test_passphrases(key: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "Nobody can be asked" in gonode("keys", "passphrase", key).refusal()
    monkeypatch.setenv("GONODE_NEW_PASSPHRASE", "horse")
    assert "a passphrase now" in gonode("keys", "passphrase", key).out
    assert "needs a passphrase" in gonode("keys", "export", key, "--words").refusal()
    monkeypatch.setenv("GONODE_PASSPHRASE", "mule")
    assert "does not open" in gonode("keys", "passphrase", key).refusal()
    monkeypatch.setenv("GONODE_PASSPHRASE", "horse")
    monkeypatch.setenv("GONODE_NEW_PASSPHRASE", "")
    assert "no passphrase now" in gonode("keys", "passphrase", key).out
    assert load_key(key) == secret(1)


def test_bad_input(key: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    noise, empty, nowhere = tmp_path / "noise", tmp_path / "empty", tmp_path / "nowhere"
    noise.write_bytes(b"noise\n")
    noise.chmod(0o600)
    empty.mkdir()
    types(monkeypatch, "")
    for arguments, why in (
        (["show", nowhere], "cannot be read"),
        (["show", noise], "key file"),
        (["show", empty], "no keys are here"),
        (["export", key], "--words, or --to"),
        (["export", key, "--words", "--to", nowhere], "--words, or --to"),
        (["export", noise, "--words"], "key file"),
        (["import", nowhere], "--words, or --from"),
        (["import", nowhere, "--words"], "24 words, not 0"),
        (["import", nowhere, "--from", noise], "key file"),
        (["import", nowhere, "--from", key, "--public", "abc"], "64 hexadecimal digits"),
        (["import", key, "--words"], "never overwritten"),
        (["passphrase", nowhere], "asked"),
    ):
        assert why in gonode("keys", *arguments).refusal(), arguments
    assert not nowhere.exists()
