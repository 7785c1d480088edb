"""The readings of this machine: sensors by psutil, batteries by the kernel, its use by the login manager or by terminals.

Invariants: nothing here raises where a sensor, a program or a file is missing, and nothing needs rights of its own.
"""

import os
import subprocess
import time
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Final

import psutil  # type: ignore[import-untyped]

UNUSED_S: Final = 300.0
"""Without a key or a mouse for so long nobody uses a machine; the login manager takes as long."""

PROCESSORS: Final = ("coretemp", "k10temp", "zenpower", "cpu_thermal", "cpu-thermal", "soc_thermal")
"""Names of the chips that have the processor's sensors, as Linux calls them."""

POWER_SUPPLIES: Final = Path("/sys/class/power_supply")
"""Where Linux tells of batteries and chargers, a folder each."""

MAINS: Final = ("Mains", "USB")
"""How the types of what charges begin."""

_LOGIN_MANAGER: Final = ("loginctl", "show-session", "--property=IdleHint")
_WITHIN_S: Final = 2.0


class MachineReadings:
    """See `Readings`."""

    def local_time(self) -> datetime:
        """See `Readings.local_time`."""
        return datetime.now()

    def is_on_battery(self) -> bool:
        """See `Readings.is_on_battery`."""
        if POWER_SUPPLIES.is_dir():
            return _are_batteries_drained()
        try:
            battery = psutil.sensors_battery()
        except (OSError, AttributeError, ValueError):  # no Linux, and not as psutil knows it
            return False
        return battery is not None and battery.power_plugged is False

    def hottest_c(self) -> float | None:
        """See `Readings.hottest_c`."""
        try:
            sensors = psutil.sensors_temperatures()
        except (OSError, AttributeError, ValueError):  # no sensors on this system
            return None
        every = {chip: [each.current for each in found] for chip, found in sensors.items() if found}
        own = {chip: found for chip, found in every.items() if chip in PROCESSORS}
        return max((max(found) for found in (own or every).values()), default=None)

    def is_unused(self) -> bool | None:
        """See `Readings.is_unused`. The login manager knows of desktops and terminals; without it only terminals tell."""
        said = _login_manager_says()
        return _are_terminals_unused() if said is None else said


def _are_batteries_drained() -> bool:
    """As Linux tells; the batteries of what is attached, such as a wireless mouse, do not drive this machine."""
    every = [_supply(folder) for folder in POWER_SUPPLIES.iterdir()]
    own = [each for each in every if each["scope"] != "Device"]
    batteries = [each["status"] for each in own if each["type"] == "Battery"]
    mains = [each["online"] for each in own if each["type"].startswith(MAINS)]
    if not batteries:
        return False
    return "1" not in mains if mains else "Discharging" in batteries


def _supply(folder: Path) -> dict[str, str]:
    """What one power supply tells; empty for what it does not."""
    found = dict.fromkeys(("type", "scope", "status", "online"), "")
    for name in found:
        with suppress(OSError, ValueError):
            found[name] = (folder / name).read_text().strip()
    return found


def _login_manager_says() -> bool | None:
    """Whether all sessions are idle; None without a login manager. Its own answer, for no session is named."""
    try:
        done = subprocess.run(_LOGIN_MANAGER, capture_output=True, text=True, timeout=_WITHIN_S, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return {"IdleHint=yes": True, "IdleHint=no": False}.get(done.stdout.strip())


def _are_terminals_unused() -> bool | None:
    """Whether nobody read from a terminal lately; None for sessions of which no terminal can be seen."""
    try:
        terminals = [user.terminal for user in psutil.users()]
    except (OSError, AttributeError):
        return None
    read = []
    for terminal in terminals:
        try:
            read.append(os.stat(f"/dev/{terminal}").st_atime)
        except OSError:
            continue  # a desktop, or a session that has ended
    if terminals and not read:
        return None
    return all(time.time() - at >= UNUSED_S for at in read)
