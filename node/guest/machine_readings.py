"""The readings of this machine: sensors and batteries by psutil, its use by the login manager or by its terminals.

Invariants: nothing here raises where a sensor, a program or a file is missing, and nothing needs rights of its own.
"""

import os
import subprocess
import time
from datetime import datetime
from typing import Final

import psutil  # type: ignore[import-untyped]

UNUSED_S: Final = 300.0
"""Without a key or a mouse for so long nobody uses a machine; the login manager takes as long."""

PROCESSORS: Final = ("coretemp", "k10temp", "zenpower", "cpu_thermal", "cpu-thermal", "soc_thermal")
"""Names of the chips that have the processor's sensors, as Linux calls them."""

_LOGIN_MANAGER: Final = ("loginctl", "show-session", "--property=IdleHint")
_WITHIN_S: Final = 2.0


class MachineReadings:
    """See `Readings`."""

    def local_time(self) -> datetime:
        """See `Readings.local_time`."""
        return datetime.now()

    def is_on_battery(self) -> bool:
        """See `Readings.is_on_battery`."""
        try:
            battery = psutil.sensors_battery()
        except (OSError, AttributeError, ValueError):  # a kernel's file that is not as psutil knows it
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
