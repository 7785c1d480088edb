"""The readings of a machine: whatever psutil, the login manager and terminals say, or do not."""

import os
import subprocess
import time
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from node.guest import machine_readings
from node.guest.machine_readings import UNUSED_S, MachineReadings
from node.guest.readings import Readings

HERE: Readings = MachineReadings()


def psutil_of(**functions: Any) -> SimpleNamespace:
    return SimpleNamespace(**functions)


def fails(*_: object, **__: object) -> Any:
    raise OSError(2, "No such file or directory")


def test_this_machine_answers() -> None:
    assert abs((HERE.local_time() - datetime.now()).total_seconds()) < 60
    assert HERE.is_on_battery() in (False, True)
    assert HERE.is_unused() in (None, False, True)
    temp_c = HERE.hottest_c()
    assert temp_c is None or -50 < temp_c < 200


OWN = {"type": "Battery", "status": "Discharging"}
MOUSE = {"type": "Battery", "scope": "Device", "status": "Discharging"}
MAINS = {"type": "Mains", "online": "1"}


@pytest.mark.parametrize(
    ("supplies", "expected"),
    [
        ([], False),
        ([MOUSE], False),
        ([MOUSE, MAINS], False),
        ([OWN], True),
        ([{"type": "Battery", "scope": "System", "status": "Full"}], False),
        ([OWN, MAINS], False),
        ([OWN, {"type": "Mains", "online": "0"}], True),
        ([OWN, {"type": "Mains", "online": "0"}, {"type": "USB", "online": "1"}], False),
        ([OWN, {"type": "USB_PD", "scope": "Device", "online": "1"}], True),
        ([{"type": "UPS"}, {}], False),
    ],
)
def test_power_supplies(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, supplies: list[dict[str, str]], expected: bool
) -> None:
    monkeypatch.setattr(machine_readings, "POWER_SUPPLIES", tmp_path)
    for number, supply in enumerate(supplies):
        (tmp_path / str(number)).mkdir()
        for name, value in supply.items():
            (tmp_path / str(number) / name).write_text(f"{value}\n")
    assert HERE.is_on_battery() == expected


@pytest.mark.parametrize(
    ("battery", "expected"),
    [(None, False), (False, True), (True, False), ("none", False)],
)
def test_batteries_elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, battery: Any, expected: bool) -> None:
    monkeypatch.setattr(machine_readings, "POWER_SUPPLIES", tmp_path / "none")
    found = None if battery == "none" else SimpleNamespace(power_plugged=battery)
    monkeypatch.setattr(machine_readings, "psutil", psutil_of(sensors_battery=lambda: found))
    assert HERE.is_on_battery() == expected


def test_sensors(monkeypatch: pytest.MonkeyPatch) -> None:
    sensors: dict[str, list[SimpleNamespace]] = {
        "nvme": [SimpleNamespace(current=70.0)],
        "coretemp": [SimpleNamespace(current=50.0), SimpleNamespace(current=61.0)],
        "k10temp": [],
    }
    monkeypatch.setattr(machine_readings, "psutil", psutil_of(sensors_temperatures=lambda: sensors))
    assert HERE.hottest_c() == 61.0
    del sensors["coretemp"]
    assert HERE.hottest_c() == 70.0
    sensors.clear()
    assert HERE.hottest_c() is None


def test_a_system_without_sensors(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(machine_readings, "POWER_SUPPLIES", tmp_path / "none")
    monkeypatch.setattr(subprocess, "run", fails)
    for psutil in (psutil_of(), psutil_of(sensors_battery=fails, sensors_temperatures=fails, users=fails)):
        monkeypatch.setattr(machine_readings, "psutil", psutil)
        assert (HERE.is_on_battery(), HERE.hottest_c(), HERE.is_unused()) == (False, None, None)


@pytest.mark.parametrize(("said", "expected"), [("IdleHint=yes\n", True), ("IdleHint=no\n", False)])
def test_the_login_manager(monkeypatch: pytest.MonkeyPatch, said: str, expected: bool) -> None:
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: SimpleNamespace(stdout=said))
    assert HERE.is_unused() == expected


def test_terminals(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(subprocess, "run", fails)
    users: list[SimpleNamespace] = []
    monkeypatch.setattr(machine_readings, "psutil", psutil_of(users=lambda: users))
    assert HERE.is_unused() is True
    terminal = tmp_path / "tty"
    terminal.touch()
    users.append(SimpleNamespace(terminal=f"../{terminal}"))
    assert HERE.is_unused() is False
    old = time.time() - UNUSED_S - 1
    os.utime(terminal, (old, old))
    assert HERE.is_unused() is True
    users[:] = [SimpleNamespace(terminal=":0")]
    assert HERE.is_unused() is None
