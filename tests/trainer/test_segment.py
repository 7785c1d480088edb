"""Parts of a cycle trained again: from a recorded state to the next, with the cycle's bytes; and how far two are apart."""

import io
import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from protocol.blob import blob_digest
from tests.trainer.conftest import MakeJob, job_maker
from trainer.compare import STATE, compare
from trainer.cycle import RESULT, run, state_name
from trainer.errors import BadJob, BadState, BadTensors, Interrupted
from trainer.events import Events
from trainer.export import NETWORK
from trainer.job import Job
from trainer.learning.state import TrainState

Batches = list[dict[str, Any]]
TINY = {"SHAPE": "b1c16", "SAMPLES": 32 * 24, "STATE_EVERY_STEPS": 10, "quantised_share_ppm": 300_000}
HOME = Path(__file__).parents[2]


def train(path: Path) -> Path:
    """Runs a job in this process; where its files are."""
    job = Job.load(path)
    run(job, Events(io.StringIO()), lambda: False)
    return job.out


def result_of(out: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((out / RESULT).read_text())
    return found


@pytest.fixture(scope="module")
def make_module_job(tmp_path_factory: pytest.TempPathFactory) -> MakeJob:
    """As `make_job`, for what the tests of this file share and only look at."""
    return job_maker(tmp_path_factory.mktemp("segments"))


@pytest.fixture(scope="module")
def parent_job(make_module_job: MakeJob, batches: Batches) -> Path:
    """The job of a cycle of 24 steps, which is done."""
    path = make_module_job(batches, "parent", **TINY)
    train(path)
    return path


@pytest.fixture(scope="module")
def parent(parent_job: Path) -> Path:
    """The last state of a cycle of 24 steps."""
    return Job.load(parent_job).out / state_name(24)


@pytest.fixture(scope="module")
def whole(make_module_job: MakeJob, batches: Batches, parent: Path) -> Path:
    """The folder of the next cycle, of steps 25 to 48, with states after its steps 10, 20 and 24."""
    return train(make_module_job(batches, "whole", PARENT_STATE=str(parent), PARENT_STEP=24, **TINY))


def test_every_segment_ends_in_the_cycles_state(make_job: Any, batches: Batches, parent: Path, whole: Path) -> None:
    digest = blob_digest(parent.read_bytes()).hex()
    begin: dict[str, Any] = {"PARENT_STATE": str(parent)}
    for done, until in ((0, 10), (10, 20), (20, 24), (10, 24)):
        state = str(whole / state_name(24 + done)) if done else None
        start: dict[str, Any] = {"PARENT_STATE": None} if done else begin
        segment = {"state": state, "parent": digest, "until": until}
        path = make_job(batches, f"from-{done}-{until}", SEGMENT=segment, PARENT_STEP=24, **start, **TINY)
        out = train(path)
        assert (out / state_name(24 + until)).read_bytes() == (whole / state_name(24 + until)).read_bytes()
        result = result_of(out)
        assert result.keys() < result_of(whole).keys()
        assert (result["steps"], result["step"]) == (until, 24 + until)
        assert result["state"] == {"path": state_name(24 + until), "digest": result["states"][-1]["digest"]}
        assert result["states"] == [point for point in result_of(whole)["states"] if point["step"] <= 24 + until]
        assert result["job"] == result_of(whole)["job"]
        assert not (out / NETWORK).exists()
        assert train(path) == out  # again, from the state that it left
        assert result_of(out) == result


def test_an_interrupted_segment_goes_on(make_job: Any, batches: Batches, parent: Path, whole: Path) -> None:
    digest = blob_digest(parent.read_bytes()).hex()
    segment = {"state": str(whole / state_name(34)), "parent": digest, "until": 20}
    path = make_job(batches, "cut", SEGMENT=segment, PARENT_STEP=24, **TINY)
    calls = iter(range(100))
    with pytest.raises(Interrupted, match="after 15 of 20"):
        run(Job.load(path), Events(io.StringIO()), lambda: next(calls) >= len(batches) + 5)
    assert (train(path) / state_name(44)).read_bytes() == (whole / state_name(44)).read_bytes()


def test_states_that_are_not_of_the_segment_are_refused(
    make_job: Any, batches: Batches, parent: Path, whole: Path, tmp_path: Path
) -> None:
    digest = blob_digest(parent.read_bytes()).hex()
    (tmp_path / "junk").write_bytes(b"other bytes")
    last = str(whole / state_name(48))
    for state, until, step, why in (
        (str(tmp_path / "junk"), 20, 24, "not a tensor file"),
        (str(tmp_path / "none"), 20, 24, "No such file"),
        (last, 20, 24, "after 24 steps, outside of the segment"),
        (last, 24, 24, "after 24 steps, outside of the segment"),
        (str(whole / state_name(34)), 20, 25, "of step 34, not 35"),
    ):
        segment = {"state": state, "parent": digest, "until": until}
        path = make_job(batches, "wrong", SEGMENT=segment, PARENT_STEP=step, **TINY)
        with pytest.raises(BadState, match=why):
            train(path)


@pytest.mark.parametrize(
    ("segment", "why"),
    [
        ([], "needs state, parent and until"),
        ({"state": None, "until": 5}, "needs state, parent and until"),
        ({"state": None, "parent": "00", "until": 5}, "64 hexadecimal digits"),
        ({"state": None, "parent": "00" * 32, "until": 0}, "until must be an integer"),
        ({"state": 3, "parent": "00" * 32, "until": 5}, "state must be text"),
        ({"state": None, "parent": "00" * 32, "until": 25}, "ends after step 25 of a cycle of 24"),
    ],
)
def test_a_segment_that_is_none_is_a_bad_job(make_job: Any, batches: Batches, segment: Any, why: str) -> None:
    with pytest.raises(BadJob, match=why):
        Job.load(make_job(batches, SEGMENT=segment, **TINY))


def test_the_parent_of_a_segment_is_the_one_that_it_names(make_job: Any, batches: Batches, parent: Path) -> None:
    segment = {"state": None, "parent": "00" * 32, "until": 5}
    with pytest.raises(BadJob, match="not the one that its segment names"):
        Job.load(make_job(batches, SEGMENT=segment, PARENT_STATE=str(parent), PARENT_STEP=24, **TINY))


def test_a_segment_is_of_the_same_job(make_job: Any, batches: Batches) -> None:
    segment = {"state": None, "parent": "00" * 32, "until": 5}
    plain, part = make_job(batches, "plain", **TINY), make_job(batches, "part", SEGMENT=segment, **TINY)
    assert Job.load(plain).digest() == Job.load(part).digest()
    assert Job.load(make_job(batches, "null", SEGMENT=None, **TINY)).segment is None


def changed(state: Path, at: Path, factor: float) -> None:
    """A state whose weights are all larger by a factor."""
    found, _ = TrainState.load(state)
    weights = {name: (array * np.float32(factor)).astype(np.float32) for name, array in found.weights.items()}
    replace(found, weights=weights).store(at)


def test_the_distance_of_two_trainings(make_job: Any, batches: Batches, parent_job: Path, tmp_path: Path) -> None:
    job = Job.load(parent_job)
    out, there = job.out, train(make_job(batches, "other", SEED="05" * 32, **TINY))
    logged = tmp_path / "logged"
    logged.mkdir()
    assert compare(job, logged, Events(io.StringIO())) == {}
    shutil.copy(out / state_name(24), logged / STATE)
    shutil.copy(out / NETWORK, logged / NETWORK)
    same = compare(job, logged, Events(io.StringIO()))
    assert same == {"state": {"largest": 0.0, "rms": 0.0}, "network": {"policy_divergence": 0.0, "rows": 256}}
    changed(out / state_name(24), logged / STATE, 1.25)
    near = compare(job, logged, Events(io.StringIO()))["state"]
    assert near["rms"] == pytest.approx(0.2, rel=1e-5)
    assert near["largest"] > near["rms"]
    shutil.copy(there / state_name(24), logged / STATE)
    shutil.copy(there / NETWORK, logged / NETWORK)
    far = compare(job, logged, Events(io.StringIO()))
    assert far["state"]["rms"] > 0.01
    assert 1e-5 < far["network"]["policy_divergence"] < 1.0
    changed(out / state_name(24), logged / STATE, float("nan"))
    with pytest.raises(BadTensors, match="not a number"):
        compare(job, logged, Events(io.StringIO()))
    (logged / STATE).write_bytes(b"other bytes")
    with pytest.raises(BadTensors, match="not a tensor file"):
        compare(job, logged, Events(io.StringIO()))
    (logged / STATE).unlink()
    (logged / NETWORK).write_bytes(b"other bytes")
    with pytest.raises(BadTensors, match=r"network\.bin is no network"):
        compare(job, logged, Events(io.StringIO()))


def test_the_command_compares(parent_job: Path, parent: Path, tmp_path: Path) -> None:
    shutil.copy(parent, tmp_path / STATE)
    command = [sys.executable, "-m", "trainer", "compare", str(parent_job), str(tmp_path)]
    ended = subprocess.run(command, cwd=HOME, env=os.environ, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    (line,) = ended.stdout.splitlines()
    assert json.loads(line) == {"event": "compared", "state": {"largest": 0.0, "rms": 0.0}}
    wrong = subprocess.run(command[:-1], cwd=HOME, capture_output=True, text=True, check=False)
    assert (wrong.returncode, wrong.stderr.startswith("Usage: ")) == (2, True)
