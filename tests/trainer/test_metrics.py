"""Metrics: the same bytes whatever was killed in between, and events that TensorBoard reads, where they can be written."""

import json
import struct
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from trainer import metrics as module
from trainer.metrics import METRICS, TENSORBOARD, WITHOUT_TENSORBOARD, Metrics

JOB = bytes(range(32))


def write(out: Path, steps: range, after: int = 0, job: bytes = JOB) -> None:
    with Metrics(out, job, after) as metrics:
        for step in steps:
            metrics.write(step, {"loss": 1 / step, "policy_loss": 0.5})


def events_of(out: Path) -> list[Any]:
    """All events in the order of their files, each record's frame checked."""
    from tensorboardX.proto.event_pb2 import Event

    found = []
    for path in sorted((out / TENSORBOARD).iterdir()):
        data, at = path.read_bytes(), 0
        while at < len(data):
            (length,) = struct.unpack_from("<Q", data, at)
            found.append(Event.FromString(data[at + 12 : at + 12 + length]))
            at += length + 16
        assert at == len(data)
    return found


def test_lines(tmp_path: Path) -> None:
    write(tmp_path, range(10, 40, 10))
    first, *lines = map(json.loads, (tmp_path / METRICS).read_text().splitlines())
    assert first == {"job": JOB.hex()}
    assert lines[2] == {"step": 30, "loss": 0.033333, "policy_loss": 0.5}
    assert len(lines) == 3


def test_what_was_killed_goes_on_to_the_same_bytes(tmp_path: Path) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    for out in (whole, killed):
        out.mkdir()
    write(whole, range(10, 60, 10))
    write(killed, range(10, 50, 10))
    with (killed / METRICS).open("a") as file:
        file.write('{"step": 50, "lo')
    write(killed, range(30, 60, 10), after=20)
    assert (killed / METRICS).read_bytes() == (whole / METRICS).read_bytes()


def test_another_job_begins_anew(tmp_path: Path) -> None:
    write(tmp_path, range(10, 50, 10))
    write(tmp_path, range(10, 20, 10), job=bytes(32))
    assert [json.loads(line) for line in (tmp_path / METRICS).read_text().splitlines()] == [
        {"job": bytes(32).hex()},
        {"step": 10, "loss": 0.1, "policy_loss": 0.5},
    ]


def test_events(tmp_path: Path) -> None:
    before = time.time()
    write(tmp_path, range(10, 40, 10))
    version, start, *scalars = events_of(tmp_path)
    assert version.file_version == "brain.Event:2"
    assert (start.step, start.session_log.status) == (1, start.session_log.START)
    assert [event.step for event in scalars] == [10, 20, 30]
    assert {value.tag: value.simple_value for value in scalars[0].summary.value} == pytest.approx(
        {"losses/loss": 0.1, "losses/policy_loss": 0.5}
    )
    assert all(before <= event.wall_time <= time.time() for event in (version, start, *scalars))
    (name,) = [path.name for path in (tmp_path / TENSORBOARD).iterdir()]
    assert name.startswith("events.out.tfevents.")
    assert name.endswith(".gonode")  # not this machine's name


def test_events_after_a_kill_make_later_ones_void(tmp_path: Path) -> None:
    write(tmp_path, range(10, 50, 10))
    write(tmp_path, range(30, 50, 10), after=20)
    starts = [event for event in events_of(tmp_path) if event.HasField("session_log")]
    assert [event.step for event in starts] == [1, 21]


def test_what_is_written_is_there_before_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FLUSH_S", 0.0)
    with Metrics(tmp_path, JOB, 0) as metrics:
        metrics.write(10, {"loss": 1.0})
        assert len((tmp_path / METRICS).read_text().splitlines()) == 2
        assert events_of(tmp_path)[-1].step == 10


def test_without_the_package_training_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    said: list[str] = []
    with Metrics(tmp_path, JOB, 0, said.append) as metrics:
        for step in (10, 20):
            metrics.write(step, {"loss": 1.0})
    assert said == [WITHOUT_TENSORBOARD]
    assert not (tmp_path / TENSORBOARD).exists()
    assert len((tmp_path / METRICS).read_text().splitlines()) == 3
