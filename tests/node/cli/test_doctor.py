"""`gonode doctor`: its list, its JSON, its exit status, and which directory is meant."""

from pathlib import Path

import pytest

import node.doctor.machine
from native.canary import WrongMachine
from native.network import Kernel
from node.disk.home import Home
from node.disk.keyring import create_key
from tests.node.cli.gonode import gonode, the_object
from tests.node.homes import TICKET
from tests.node.keys import secret


def test_nothing_is_wrong_where_nothing_runs(tmp_path: Path) -> None:
    answer = gonode("doctor", "--dir", tmp_path, "--json")
    assert (answer.status, answer.err) == (0, "")
    found = the_object(answer)
    assert (found["ok"], found["directory"]) == (True, str(tmp_path))
    names = [check["name"] for check in found["checks"]]
    assert names == [
        "settings",
        "kernels",
        "canaries",
        "threads",
        "directory",
        "room",
        "key",
        "listen",
        "clock",
        "node",
    ]
    for check in found["checks"]:
        assert set(check) == {"name", "standing", "detail", "mend"}
        assert (check["mend"] == "") == (check["standing"] == "ok")


def test_a_key_that_others_read(tmp_path: Path) -> None:
    path = Home(tmp_path).key("host")
    create_key(path, secret(1))
    path.chmod(0o640)
    answer = gonode("doctor", "--dir", tmp_path)
    assert answer.status == 1
    assert "WRONG    key host: " in answer.out
    assert f"-> Run: chmod 600 {path}\n" in answer.out
    assert "has to be mended" in answer.out


def test_settings_that_cannot_be_used_are_a_finding(tmp_path: Path) -> None:
    (tmp_path / "gonode.toml").write_text("[join]\nniec = 1\n")
    answer = gonode("doctor", "--dir", tmp_path)
    assert answer.status == 1
    assert "the nearest is nice" in answer.out


def test_a_variable_that_is_misspelt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GONODE_JOIN_NIEC", "10")
    answer = gonode("doctor", "--dir", tmp_path)
    assert answer.status == 0
    assert "GONODE_JOIN_NIEC is no setting; the nearest is GONODE_JOIN_NICE." in answer.out


def test_a_port_that_another_program_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GONODE_JOIN_LISTEN", "/ip4/192.0.2.7/tcp/9")
    answer = gonode("doctor", "--dir", tmp_path)
    assert answer.status == 1
    assert "WRONG    listen: /ip4/192.0.2.7/tcp/9" in answer.out


def test_the_only_directory(tmp_path: Path) -> None:
    homes = Path("~/.gonode").expanduser()
    assert the_object(gonode("doctor", "--json"))["directory"] == str(homes)
    (homes / "a").mkdir(parents=True)
    (homes / "a" / "ticket").write_text(TICKET)
    assert the_object(gonode("doctor", "--json"))["directory"] == str(homes / "a")
    (homes / "b").mkdir()
    (homes / "b" / "ticket").write_text(TICKET)
    assert "say --dir DIR" in gonode("doctor").refusal()


def test_a_machine_that_computes_wrongly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def verify(kernel: Kernel) -> None:
        raise WrongMachine("This machine computes wrongly.")

    monkeypatch.setattr(node.doctor.machine.check_canaries, "__defaults__", (verify,))
    assert "WRONG    canaries" in gonode("doctor", "--dir", tmp_path).out


def test_the_directory_of_joins_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    homes = Path("~/.gonode").expanduser()
    (homes / "a").mkdir(parents=True)
    (homes / "a" / "ticket").write_text(TICKET)
    (homes / "gonode.toml").write_text(f'[join]\ndir = "{tmp_path}/file"\n')
    assert the_object(gonode("doctor", "--json"))["directory"] == str(tmp_path / "file")
    monkeypatch.setenv("GONODE_JOIN_DIR", str(tmp_path / "variable"))
    assert the_object(gonode("doctor", "--json"))["directory"] == str(tmp_path / "variable")
    assert the_object(gonode("doctor", "--json", "--dir", tmp_path))["directory"] == str(tmp_path)


def test_settings_of_join_that_cannot_be_used_are_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    homes = Path("~/.gonode").expanduser()
    (homes / "a").mkdir(parents=True)
    (homes / "a" / "ticket").write_text(TICKET)
    monkeypatch.setenv("GONODE_JOIN_NICE", "very")
    answer = gonode("doctor", "--json")
    assert answer.status == 1
    found = the_object(answer)
    assert found["directory"] == str(homes / "a")
    assert "GONODE_JOIN_NICE" in found["checks"][0]["detail"]
