"""Cycles by two processes, started as the coordinator does and by torchrun: the curve of one, whatever dies on the way."""

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.trainer.conftest import job_maker
from trainer.cycle import RESULT, run, state_name
from trainer.errors import BadJob
from trainer.events import Events
from trainer.job import Job
from trainer.meeting import PREFIX
from trainer.metrics import METRICS

Batches = list[dict[str, Any]]
HOME = Path(__file__).parents[2]
STEPS = 100
TINY = {"SHAPE": "b1c16", "SAMPLES": 32 * STEPS, "STATE_EVERY_STEPS": 20, "quantised_share_ppm": 300_000}
TWO = TINY | {"processes": 2}
TORCHRUN = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", "--log-dir")


def start(path: Path, *how: str, folder: Path = HOME) -> subprocess.Popen[str]:
    """The job as a process that starts the others."""
    command = [sys.executable, *how, "-m", "trainer", "cycle", str(path)]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(process: subprocess.Popen[str]) -> tuple[int, list[dict[str, Any]], str]:
    """How it ended: status, events, standard error."""
    stdout, stderr = process.communicate(timeout=240)
    return process.returncode, [json.loads(line) for line in stdout.splitlines()], stderr


def out_of(path: Path) -> Path:
    """Where a job leaves its files."""
    return Path(json.loads(path.read_text())["out"])


def files(path: Path) -> dict[str, str]:
    """The files a job left, by SHA-256."""
    return {
        file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in out_of(path).iterdir() if file.is_file()
    }


def members_of(pid: int) -> list[int]:
    """The processes of the group that a launcher started, by their ranks."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(child) for child in children if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes()]


def places_of(pid: int) -> set[Path]:
    """The private folders that a process has open."""
    opened = [Path(os.readlink(link)) for link in Path(f"/proc/{pid}/fd").iterdir()]
    return {path for path in opened if path.name.startswith(PREFIX)}


def is_alive(pid: int) -> bool:
    """Whether a process has not ended, be it that nobody has asked how."""
    try:
        return bool(Path(f"/proc/{pid}/cmdline").read_bytes())
    except OSError:
        return False


def wait_for(found: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    until = time.monotonic() + 120
    while not found():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < until
        time.sleep(0.002)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory, mixed_batches: Batches) -> Path:
    """The job of a cycle by two processes that nobody disturbed; look only."""
    path = job_maker(tmp_path_factory.mktemp("two"))(mixed_batches, "undisturbed", **TWO)
    status, events, stderr = finish(start(path))
    assert (status, stderr) == (0, "")
    assert events[-1]["event"] == "done"
    assert events[-1]["processes"] == 2
    return path


def test_two_processes_have_the_losses_of_one(make_job: Any, mixed_batches: Batches, undisturbed: Path) -> None:
    """To the last digits while that lasts; then a bit that differs has grown, by how much is the machine's affair."""
    path = make_job(mixed_batches, "one", **TINY)
    job = Job.load(path)
    run(job, Events(sys.stdout), lambda: False)
    curves = [
        [json.loads(line) for line in (out / METRICS).read_text().splitlines()[1:]]
        for out in (job.out, out_of(undisturbed))
    ]
    assert [point["step"] for point in curves[0]] == list(range(10, STEPS + 1, 10))
    for one, two in zip(*curves, strict=True):
        assert one.keys() == two.keys()
        for part, loss in one.items():
            rel = 0.0001 if one["step"] <= 20 else 0.03
            assert two[part] == pytest.approx(loss, rel=rel), (part, one["step"])
    assert set(files(path)) == set(files(undisturbed))


def test_killed_ones_are_started_again_and_end_in_the_same_bytes(
    make_job: Any, mixed_batches: Batches, undisturbed: Path
) -> None:
    """One process at a time, and their launcher: then the others save and end too, and what it left is removed."""
    path = make_job(mixed_batches, "killed", **TWO)
    out = out_of(path)
    process = start(path)
    wait_for((out / state_name(20)).exists, process)
    os.kill(members_of(process.pid)[1], signal.SIGKILL)
    wait_for((out / state_name(40)).exists, process)
    members, (place,) = members_of(process.pid), places_of(process.pid)
    assert len(members) == 2
    process.kill()
    until = time.monotonic() + 60
    while any(is_alive(pid) for pid in members):
        assert time.monotonic() < until
        time.sleep(0.05)
    process.communicate()
    assert place.is_dir()

    process = start(path)
    wait_for((out / state_name(60)).exists, process)
    os.kill(members_of(process.pid)[0], signal.SIGKILL)
    status, events, _ = finish(process)
    assert status == 0
    assert [event["event"] for event in events].count("done") == 1
    assert files(path) == files(undisturbed)
    assert not place.exists()


def test_interrupted_ones_save_and_go_on_under_torchrun_too(
    make_job: Any, mixed_batches: Batches, undisturbed: Path
) -> None:
    path = make_job(mixed_batches, "interrupted", **TWO)
    out = out_of(path)
    for moment, number in ((METRICS, signal.SIGINT), (state_name(40), signal.SIGTERM)):
        process = start(path)
        wait_for((out / moment).exists, process)
        wait_for(lambda: b'"step": ' in (out / METRICS).read_bytes(), process)
        members = members_of(process.pid)
        process.send_signal(number)
        status, _, stderr = finish(process)
        assert (status, len(stderr.splitlines())) == (130, 1), stderr
        assert "Interrupted after" in stderr
        assert not any(Path(f"/proc/{member}").exists() for member in members)
    status, events, stderr = finish(start(path, *TORCHRUN, str(path.parent)))
    assert status == 0, stderr
    assert [event["event"] for event in events if event["event"] != "progress"] == ["exporting", "done"]
    assert files(path) == files(undisturbed)


def test_two_processes_repeat_a_segment(make_job: Any, mixed_batches: Batches, undisturbed: Path) -> None:
    """From a recorded state to the next one; the steps with rounding begin between them."""
    whole = out_of(undisturbed)
    segment = {"state": str(whole / state_name(60)), "parent": "00" * 32, "until": 80}
    part = make_job(mixed_batches, "part", SEGMENT=segment, **TWO)
    assert 60 < Job.load(part).first_quantised < 80
    status, _, stderr = finish(start(part))
    assert (status, stderr) == (0, "")
    assert (out_of(part) / state_name(80)).read_bytes() == (whole / state_name(80)).read_bytes()
    assert json.loads((out_of(part) / RESULT).read_text())["processes"] == 2


def test_a_failure_is_told_once_and_not_tried_again(make_job: Any, mixed_batches: Batches) -> None:
    wild = {"learning_rate_micro": 4_000_000_000, "warmup_steps": 0, "gradient_clip_micro": 0}
    path = make_job(mixed_batches, "wild", **TWO, **wild)
    status, events, stderr = finish(start(path))
    assert status == 1
    assert len(stderr.splitlines()) == 1
    assert [event["event"] for event in events].count("failed") == 1
    assert not (out_of(path) / RESULT).exists()


def test_a_job_for_two_is_not_done_by_one(make_job: Any, mixed_batches: Batches) -> None:
    with pytest.raises(BadJob, match="wants 2 processes, and here are 1"):
        run(Job.load(make_job(mixed_batches, **TWO)), Events(sys.stdout), lambda: False)


def test_no_process_runs_what_lies_where_the_user_stands(make_job: Any, batches: Batches, tmp_path: Path) -> None:
    folder, ran = tmp_path / "copy", tmp_path / "ran"
    folder.mkdir()
    for name in ("json", "pickle", "numpy", "torch", "trainer"):
        (folder / f"{name}.py").write_text(f"open({str(ran)!r}, 'a').write('{name} ')\n", encoding="utf-8")
    path = make_job(batches, **TWO | {"SAMPLES": 32 * 4})
    status, events, stderr = finish(start(path, "-P", folder=folder))
    assert (status, stderr, events[-1]["event"]) == (0, "", "done")
    assert not ran.exists(), ran.read_text()
