"""The job file: what is wrong with it is one sentence."""

import json
from pathlib import Path
from typing import Any

import pytest

from trainer.errors import BadJob
from trainer.job import Job

MakeJob = Any
BATCH = {"path": "b", "raw_len": 5, "blob_digest": "00" * 32, "header_digest": "11" * 32}


def test_a_job_is_read(make_job: MakeJob) -> None:
    job = Job.load(make_job([BATCH], SAMPLES=100))
    assert job.steps == 3
    assert job.batches[0].header_digest == bytes([0x11]) * 32
    assert job.parent_digest == bytes(32)


def test_a_cycle_has_at_least_one_step(make_job: MakeJob) -> None:
    assert Job.load(make_job([BATCH], SAMPLES=1)).steps == 1


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"SEED": "00"}, "seed"),
        ({"SEED": "AA" * 32}, "seed"),
        ({"SAMPLES": 0}, "samples"),
        ({"SAMPLES": True}, "samples"),
        ({"THREADS": "two"}, "threads"),
        ({"BATCHES": []}, "no batches"),
        ({"BATCHES": [{}]}, "batch 0"),
        ({"BATCHES": [BATCH | {"raw_len": -1}]}, "raw_len"),
        ({"PARENT_STEP": -1}, "parent_step"),
        ({"SHAPE": "b4"}, "shape cannot be read"),
        ({"SHAPE": 4}, "shape must be text"),
        ({"DEVICE": "tpu"}, "one of cpu, cuda"),
        ({"WORKERS": 65}, "workers"),
        ({"CACHE": 0}, "cache"),
        ({"PARENT_STATE": "/nowhere/state"}, "parent state /nowhere/state cannot be read"),
        ({"PARENT_STATE": "a\0b"}, "parent_state is not a path"),
        ({"CACHE": "a\0b"}, "cache is not a path"),
        ({"OUT": "\ud800"}, "out is not a path"),
        ({"BATCHES": [BATCH | {"path": "a\0b"}]}, "job.s path is not a path"),
        ({"MANIFEST": ""}, "manifest"),
        ({"MANIFEST_DIGEST": "00" * 32}, "another digest"),
        ({"MORE": 1}, "unknown field: more"),
        ({"OUT": 3}, "out"),
    ],
)
def test_what_is_wrong_is_one_sentence(make_job: MakeJob, change: dict[str, object], word: str) -> None:
    with pytest.raises(BadJob, match=word) as caught:
        Job.load(make_job([BATCH], **change))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["", "[]", "{", "3", '{"out": 1}', "\xff", "[" * 100_000])
def test_bytes_that_are_no_job(tmp_path: Path, text: str) -> None:
    path = tmp_path / "job.json"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(BadJob):
        Job.load(path)


def test_a_manifest_that_cannot_be_read(make_job: MakeJob, tmp_path: Path) -> None:
    path = make_job([BATCH])
    job = json.loads(path.read_text())
    Path(job["manifest"]).write_bytes(b"\x80")
    job["manifest_digest"] = "76be8b528d0075f7aae98d6fa57a6d3c83ae480a8469e668d7b0af968995ac71"
    path.write_text(json.dumps(job))
    with pytest.raises(BadJob, match="manifest"):
        Job.load(path)


def test_the_digest_names_what_decides_the_result_and_no_path(make_job: MakeJob) -> None:
    digest = Job.load(make_job([BATCH])).digest()
    assert Job.load(make_job([BATCH | {"path": "elsewhere"}], "other")).digest() == digest
    for same in ({"WORKERS": 3}, {"CACHE": "rows"}):
        assert Job.load(make_job([BATCH], **same)).digest() == digest
    for change in (
        *({"SEED": "01" * 32}, {"SAMPLES": 999}, {"THREADS": 2}, {"minibatch": 16}),
        *({"SHAPE": "b2c32"}, {"DEVICE": "cuda"}, {"PARENT_STEP": 7}),
    ):
        assert Job.load(make_job([BATCH], **change)).digest() != digest
    assert Job.load(make_job([BATCH | {"header_digest": "22" * 32}])).digest() != digest
