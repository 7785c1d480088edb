"""The shell that ends engines when nobody else can any more."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from node.matches.warden import Warden


def sleeper() -> subprocess.Popen[bytes]:
    """A group with a child, none of which hears of a hangup."""
    return subprocess.Popen(["sh", "-c", "trap '' HUP TERM; sleep 600 & wait"], start_new_session=True)


def is_there(process: subprocess.Popen[bytes]) -> bool:
    try:
        os.killpg(process.pid, 0)
    except ProcessLookupError:
        return False
    return True


def is_running(process: int) -> bool:
    """Whether it is there and no zombie: where tests run, nobody may reap orphans."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_it_ends_what_it_still_watches() -> None:
    warden = Warden()
    kept, ended, other = sleeper(), sleeper(), sleeper()
    for process in (kept, ended, other):
        warden.watch(process.pid)
    warden.forget(kept.pid)
    warden.close()
    assert ended.wait(10) == other.wait(10) == -signal.SIGKILL
    assert kept.poll() is None
    os.killpg(kept.pid, signal.SIGKILL)
    kept.wait()
    for _ in range(200):
        if not is_there(ended):
            break
        time.sleep(0.05)
    assert not is_there(ended), "its child is left"


def test_it_has_ended_after_close_and_hears_no_more() -> None:
    warden = Warden()
    warden.close()
    warden.close()
    warden.watch(os.getpid())
    warden.forget(1)
    assert warden._shell.returncode == 0


def test_it_outlives_a_process_that_is_killed() -> None:
    """That is what it is for."""
    program = (
        "import os, subprocess; from node.matches.warden import Warden; warden = Warden();"
        "engine = subprocess.Popen(['sleep', '600'], start_new_session=True);"
        "warden.watch(engine.pid); print(engine.pid, flush=True); os.kill(os.getpid(), 9)"
    )
    killed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60)
    assert killed.returncode == -signal.SIGKILL
    engine = int(killed.stdout)
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and is_running(engine):
        time.sleep(0.05)
    assert not is_running(engine)
