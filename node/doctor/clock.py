"""Checks the wall clock against what witnesses signed: the newest head that enough of them cosigned, as the pages do.

One witness that says another time moves nothing: the median of those that count does (`node.reports.clock`).
"""

import sqlite3

from node.disk.home import Home, HomeError
from node.disk.store import StoreError
from node.doctor.finding import Finding, ok, unknown, warning
from node.web.model.source import reading_source
from protocol.errors import ProtocolError
from verification.faults import LogFault
from verification.root_versions import RootVersions

LATE_S = 60
"""How far behind the witnesses a clock may be."""

RECENT_S = 900
"""How old the newest head may be to say something about a clock."""


def check_clock(home: Home, now_unix_s: float) -> Finding:
    """A head from the future means a clock that is late; one of some minutes ago, a clock that is right."""
    seen = witnessed_unix_s(home)
    if seen is None:
        return unknown(
            "clock",
            "The run's witnesses have signed nothing that is here.",
            "Look again once the node has followed the run a while.",
        )
    age_s = now_unix_s - seen
    if age_s < -LATE_S:
        return warning(
            "clock",
            f"This clock is at least {-age_s:.0f} s behind the run's witnesses.",
            "Have the system set the clock by itself: timedatectl set-ntp true.",
        )
    if age_s > RECENT_S:
        return unknown(
            "clock",
            f"Nothing newer than {age_s / 3600:.1f} h by this clock was signed: too old to tell.",
            "Look again while the node follows the run; a clock that is ahead looks so too (timedatectl).",
        )
    return ok("clock", f"It agrees with the run's witnesses, who signed a head {max(age_s, 0):.0f} s ago.")


def witnessed_unix_s(home: Home) -> int | None:
    """When witnesses saw the newest head that enough of them cosigned; None without one, or where nothing can be read."""
    if not home.database.is_file():
        return None
    try:
        run = home.load_ticket().run
        with reading_source(home.database, run) as source:
            size = source.log_size()
            seen = source.target(source.roots(RootVersions(), 0, size), size)
    except (HomeError, StoreError, sqlite3.Error, LogFault, ProtocolError):
        return None
    return None if seen is None else seen.unix_s
