"""Checks the wall clock against what witnesses signed: the newest head that this node has."""

import sqlite3
from pathlib import Path

from node.disk.store import Head
from node.doctor.finding import Finding, ok, unknown, warning
from protocol.checkpoint import SignedNote
from protocol.ed25519 import SIGNATURE_BYTES
from protocol.errors import ProtocolError

LATE_S = 60
"""How far behind the witnesses a clock may be."""

TIME_BYTES = 8

RECENT_S = 900
"""How old the newest head may be to say something about a clock."""


def check_clock(database: Path, now_unix_s: float) -> Finding:
    """A head from the future means a clock that is late; one of some minutes ago, a clock that is right."""
    signed = _newest_unix_s(database)
    if signed is None:
        return unknown(
            "clock",
            "No witness has signed anything that is here.",
            "Look again once the node has followed the run a while.",
        )
    age_s = now_unix_s - signed
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


def seen_unix_s(head: Head) -> int | None:
    """When the first witness says that it saw a head; None when none cosigned it."""
    try:
        signatures = SignedNote.parse(head.note).signatures
    except ProtocolError:
        return None
    times = [
        int.from_bytes(each.signature[:TIME_BYTES], "big")
        for each in signatures
        if len(each.signature) == TIME_BYTES + SIGNATURE_BYTES
    ]
    return min(times, default=None)


def _newest_unix_s(database: Path) -> int | None:
    """When the newest head that says so was signed; None without one, or where the store cannot be read."""
    if not database.is_file():
        return None
    try:
        db = sqlite3.connect(f"{database.absolute().as_uri()}?mode=ro", uri=True)
        try:
            rows = db.execute("SELECT size, root, note FROM heads ORDER BY size DESC LIMIT 50").fetchall()
        finally:
            db.close()
    except sqlite3.Error:
        return None
    times = (seen_unix_s(Head(*row)) for row in rows)
    return max((time for time in times if time is not None), default=None)
