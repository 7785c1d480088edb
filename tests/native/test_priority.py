"""Giving way counts between sessions too, where Linux schedules sessions as groups."""

import subprocess
import sys
from pathlib import Path

import pytest

GROUP = Path("/proc/self/autogroup")
SCRIPT = """
import os
from pathlib import Path
from native.priority import give_way
give_way({nice})
print(os.nice(0), *Path("/proc/self/autogroup").read_text().split()[-1:])
"""


def values(nice: int, *, leads: bool) -> list[int]:
    """The nice values of a process that gave way, and of its session's group; a session that is in none has no second."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(nice=nice)],
        capture_output=True,
        text=True,
        check=True,
        start_new_session=leads,
    )
    return [int(word) for word in done.stdout.split()]


@pytest.mark.skipif(not GROUP.exists(), reason="this kernel schedules no sessions as groups")
def test_a_session_of_its_own_gives_way_as_a_group() -> None:
    before = values(0, leads=True)
    assert before[1] == 0
    assert values(7, leads=True) == [before[0] + 7, 7]


@pytest.mark.skipif(not GROUP.exists(), reason="this kernel schedules no sessions as groups")
def test_a_session_of_others_is_left_alone() -> None:
    process, *group = values(0, leads=False)
    assert values(7, leads=False) == [process + 7, *group]
