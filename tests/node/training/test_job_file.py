"""What is written for a trainer is what it reads, from any directory; how many samples a training takes."""

from dataclasses import replace
from pathlib import Path

import pytest

from native.netfile import Architecture
from node.disk.blob_store import BlobStore
from node.training.job_file import TrainingJob
from protocol.manifest import Manifest
from tests.node.homes import grown_world, make_home


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TrainingJob:
    """A job whose paths are relative to another directory than the tests'."""
    monkeypatch.chdir(tmp_path)
    world = grown_world()
    make_home(world, Path("node"))
    return TrainingJob(
        out=Path("node/training/cycle"),
        manifest=world.manifest,
        batches=tuple(world.state.batches.released),
        blobs=BlobStore(Path("node/public")),
        parent_state=None,
        parent_step=7,
        shape="b2c32",
        seed=bytes(range(32)),
        samples=640,
        device="cuda",
        state_every_steps=5,
        workers=3,
        cache=Path("node/training/rows"),
    )


def test_the_trainer_reads_what_is_written(job: TrainingJob, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loader = pytest.importorskip("trainer.job").Job
    (tmp_path / "state").write_bytes(b"state")
    job = replace(job, parent_state=Path("state"))
    path = tmp_path / job.store()
    monkeypatch.chdir("/")
    read = loader.load(path)
    for name in ("parent_step", "seed", "samples", "device", "state_every_steps", "workers", "manifest"):
        assert getattr(read, name) == getattr(job, name), name
    assert (read.shape, read.threads) == (Architecture(2, 32), job.manifest.training.threads)
    for name in ("out", "parent_state", "cache"):
        assert getattr(read, name) == tmp_path / getattr(job, name), name
    assert len(read.batches) == len(job.batches) > 1
    for file, batch in zip(read.batches, job.batches, strict=True):
        assert file.path.is_file()
        assert (file.header_digest, file.blob_digest) == (batch.digest, batch.header.blob_digest)
        assert file.raw_len == batch.header.raw_len


def test_the_manifest_lies_beside_it(job: TrainingJob) -> None:
    assert job.store() == job.path
    assert Manifest.parse((job.out / "manifest").read_bytes()) == job.manifest
    assert job.path.read_bytes() == job.encode()
