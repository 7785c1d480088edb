"""The record of a machine: it comes back as it was written, and is believed only where it was made."""

import dataclasses
import json
import os
from pathlib import Path

import pytest

from native.network import Kernel
from node.machine import Machine, load_machine, machine, store_machine
from node.machine.machine import machine_path
from node.machine.processor import cpu_model, usable_cores


@pytest.fixture(autouse=True)
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the record lies in these tests; its folder is not there yet."""
    found = tmp_path / "state" / "machine.json"
    monkeypatch.setenv("GONODE_MACHINE", str(found))
    return found


@pytest.fixture
def record() -> Machine:
    return Machine.here(kernel=Kernel.best(), net="b6c96", size=9, threads=3, games=8)


def test_round_trip(record: Machine, path: Path) -> None:
    assert load_machine() is None
    assert store_machine(record) == path
    assert load_machine() == record
    assert [file.name for file in path.parent.iterdir()] == [path.name]
    again = dataclasses.replace(record, threads=1)
    store_machine(again)
    assert load_machine() == again


def test_names_this_machine(record: Machine) -> None:
    assert record.cpu == cpu_model() != ""
    assert record.cores == usable_cores() >= 1
    assert record.is_here


@pytest.mark.parametrize(
    ("field", "value"),
    [("cpu", "another processor"), ("cores", 4096), ("engine", "0.0.0"), ("kernel", "neon9")],
)
def test_a_moved_file_is_not_believed(record: Machine, field: str, value: object) -> None:
    store_machine(dataclasses.replace(record, **{field: value}))
    assert load_machine() is None


def test_a_new_engine_measures_again(record: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    store_machine(record)
    monkeypatch.setattr(machine, "engine_version", lambda: "99.0")
    assert load_machine() is None


DAMAGES: dict[str, object] = {
    "threads": 0,
    "games": 1025,
    "cores": True,
    "size": 20,
    "cpu": None,
    "net": 6,
    "kernel": ["vnni"],
}


@pytest.mark.parametrize("field", DAMAGES)
def test_a_damaged_field_is_not_believed(record: Machine, path: Path, field: str) -> None:
    store_machine(record)
    found = json.loads(path.read_text(encoding="utf-8"))
    found[field] = DAMAGES[field]
    path.write_text(json.dumps(found), encoding="utf-8")
    assert load_machine() is None


def test_damaged_bytes_are_not_believed(record: Machine, path: Path) -> None:
    store_machine(record)
    whole = path.read_bytes()
    other = json.loads(whole)
    texts = [
        b"",
        b"{}",
        b"[]",
        b"null",
        b"\xff\xfe",
        b"[" * 60_000,
        whole[:-4],
        whole.replace(b"machine/1", b"machine/2"),
    ]
    texts += [json.dumps(other | {"more": 1}).encode(), json.dumps({k: other[k] for k in other if k != "net"}).encode()]
    for text in texts:
        path.write_bytes(text)
        assert load_machine() is None, text[:40]
    path.write_bytes(whole)
    assert load_machine() == record


def test_what_is_no_file_is_no_record(path: Path) -> None:
    path.mkdir(parents=True)
    assert load_machine() is None
    path.rmdir()
    os.mkfifo(path)  # to which nobody writes
    assert load_machine() is None


def test_a_record_that_is_out_of_range_is_never_made(record: Machine) -> None:
    with pytest.raises(ValueError, match="range"):
        dataclasses.replace(record, threads=1025)


def test_the_state_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GONODE_MACHINE")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    assert machine_path() == tmp_path / ".local/state/gonode/machine.json"
    monkeypatch.setenv("XDG_STATE_HOME", "relative")  # which the standard says to ignore
    assert machine_path() == tmp_path / ".local/state/gonode/machine.json"
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    assert machine_path() == tmp_path / "state/gonode/machine.json"
