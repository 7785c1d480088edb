"""How far this process gives way to others: its nice value, and that of the group in which Linux schedules its session."""

import os
from contextlib import suppress
from pathlib import Path

_GROUP = Path("/proc/self/autogroup")


def give_way(nice: int) -> None:
    """Adds `nice` (0 to 19) to this process' nice value, and gives it to the session's group where this process leads one.

    With autogroups (Linux, sched(7), the usual setting) every session gets an equal part of the processor, and nice values
    count within a session only: an engine in a session of its own would take that part whatever its value. A session that
    somebody else leads, as a user's shell does, keeps its part.
    """
    os.nice(nice)
    if nice and os.getsid(0) == os.getpid():
        with suppress(OSError):  # no such groups here
            _GROUP.write_text(str(nice), encoding="ascii")
