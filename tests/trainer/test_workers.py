"""A cycle's files do not depend on how many workers fed it, or on what the cache held; Ctrl-C ends trainer and workers."""

import hashlib
import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from trainer.cycle import run
from trainer.events import Events
from trainer.job import Job

HOME = Path(__file__).parents[2]


def cycle(path: Path) -> tuple[dict[str, str], list[dict[str, Any]]]:
    """The files that a job leaves, by SHA-256, and its events; those with times in them are not repeatable."""
    stream = io.StringIO()
    job = Job.load(path)
    run(job, Events(stream), lambda: False)
    repeatable = ("train_state-*.bin", "*.json", "*.jsonl", "network.bin", "weights.bin")
    files = {file.name: file for pattern in repeatable for file in job.out.glob(pattern)}
    events = [json.loads(line) for line in stream.getvalue().splitlines()]
    return {name: hashlib.sha256(file.read_bytes()).hexdigest() for name, file in files.items()}, events


def workers_of(pid: int) -> list[int]:
    """The children of a process."""
    found = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(child) for child in found]


def is_running(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


def test_workers_and_cache_decide_no_byte(make_job: Any, mixed_batches: list[dict[str, Any]], tmp_path: Path) -> None:
    alone, events = cycle(make_job(mixed_batches, "alone"))
    assert len(alone) >= 6
    assert 0 <= events[-3]["waiting_share"] <= 1
    cache = str(tmp_path / "rows")
    assert cycle(make_job(mixed_batches, "fed", WORKERS=2, CACHE=cache))[0] == alone
    assert len(list((tmp_path / "rows").iterdir())) == len(mixed_batches)
    assert cycle(make_job(mixed_batches, "kept", WORKERS=1, CACHE=cache))[0] == alone


def test_ctrl_c_in_a_terminal_leaves_no_process(make_job: Any, batches: list[dict[str, Any]]) -> None:
    path = make_job(batches, SAMPLES=32 * 100_000, STATE_EVERY_STEPS=10**6, WORKERS=2)
    command = [sys.executable, "-m", "trainer", "cycle", str(path)]
    process = subprocess.Popen(
        command, cwd=HOME, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, process_group=0
    )
    assert process.stdout is not None
    until = time.monotonic() + 60
    while json.loads(process.stdout.readline())["event"] != "progress":
        assert time.monotonic() < until
    workers = workers_of(process.pid)
    assert len(workers) == 2
    os.killpg(process.pid, signal.SIGINT)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    assert len(stderr.splitlines()) == 1
    until = time.monotonic() + 30
    while any(map(is_running, workers)):
        assert time.monotonic() < until
        time.sleep(0.01)
    assert list(Job.load(path).out.glob("train_state-*"))


if sys.platform != "linux":
    pytest.skip("processes are looked up in /proc", allow_module_level=True)
