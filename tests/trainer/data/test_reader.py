"""Windows: the same rows whatever the number of workers and whatever the cache holds; damage is made good and told of."""

import dataclasses
import errno
import fcntl
import gc
import os
import resource
import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from trainer.data import rows_file
from trainer.data.reader import open_window, read_window
from trainer.data.rows import Window
from trainer.data.rows_file import SUFFIX
from trainer.errors import BadRows, Interrupted
from trainer.job import BatchFile, Job

Batches = list[dict[str, Any]]


def refused(file: BatchFile, why: str) -> None:
    pytest.fail(why)


def content_of(window: Window) -> list[tuple[bytes, bool, int, int]]:
    """Every game's bytes, whether it is held out, batch and number, in the window's order."""
    memory = [segment.map() for segment in window.segments]
    return [
        (
            bytes(memory[game["segment"]][int(game["offset"]) : int(game["offset"]) + int(game["length"])]),
            bool(game["held_out"]),
            int(game["batch"]),
            int(game["number"]),
        )
        for game in window.games
    ]


@pytest.fixture
def job(make_job: Any, mixed_batches: Batches, tmp_path: Path) -> Job:
    job = Job.load(make_job(mixed_batches))
    job.out.mkdir(parents=True)
    return dataclasses.replace(job, workers=0, cache=tmp_path / "cache")


def kept(job: Job) -> list[Path]:
    """The files of the cache."""
    assert job.cache is not None
    return sorted(job.cache.iterdir())


def opened(job: Job) -> tuple[Window, bytes, list[str]]:
    """The window, its digest and what was told."""
    told: list[str] = []
    return (*open_window(job, refused, told.append), told)


@pytest.mark.parametrize("workers", [0, 2])
def test_ctrl_c_counts_between_two_batches(job: Job, workers: int) -> None:
    asked = iter(range(100))
    with pytest.raises(Interrupted, match="while the window was read"):
        open_window(dataclasses.replace(job, workers=workers), refused, lambda text: None, lambda: next(asked) >= 2)
    assert next(asked) == 3
    assert len(job.batches) > 2


@pytest.mark.parametrize("workers", [1, 3])
def test_workers_change_nothing(job: Job, workers: int) -> None:
    here, used, _ = opened(dataclasses.replace(job, cache=None))
    for cache in (None, job.cache, job.cache):
        window, found, told = opened(dataclasses.replace(job, workers=workers, cache=cache))
        assert content_of(window) == content_of(here)
        assert found == used
        assert told == []


def test_kept_rows_are_read_in_place_of_batches(job: Job, tmp_path: Path) -> None:
    fresh, used, _ = opened(job)
    assert [path.name for path in kept(job)] == sorted(file.header_digest.hex() + SUFFIX for file in job.batches)
    moved = dataclasses.replace(
        job, batches=tuple(dataclasses.replace(file, path=tmp_path / "nowhere") for file in job.batches)
    )
    again, found, told = opened(moved)
    assert content_of(again) == content_of(fresh)
    assert (found, told) == (used, [])


@pytest.mark.parametrize("workers", [0, 1])
@pytest.mark.parametrize("size", [0, 20, 60, 500, -1])
def test_cut_rows_are_made_again_and_told_of(job: Job, size: int, workers: int) -> None:
    fresh, used, _ = opened(job)
    whole = kept(job)[1].read_bytes()
    kept(job)[1].write_bytes(whole[:size])
    again, found, told = opened(dataclasses.replace(job, workers=workers))
    assert content_of(again) == content_of(fresh)
    assert found == used
    assert len(told) == 1
    assert kept(job)[1].stem[:16] in told[0]
    assert kept(job)[1].read_bytes() == whole
    assert opened(job)[2] == []


def test_every_changed_byte_of_kept_rows_is_found(job: Job) -> None:
    fresh = content_of(opened(job)[0])
    whole = kept(job)[0].read_bytes()
    for offset in (0, 7, 8, 39, 40, 44, 47, 48, 52, 100, 150, 1000, len(whole) // 2, len(whole) - 1):
        damaged = bytearray(whole)
        damaged[offset] ^= 1
        kept(job)[0].write_bytes(damaged)
        window, _, told = opened(job)
        assert len(told) == 1, offset
        assert content_of(window) == fresh
        assert kept(job)[0].read_bytes() == whole


def test_rows_of_other_rules_or_another_blob_are_not_taken(job: Job) -> None:
    opened(job)
    rules = dataclasses.replace(job.manifest.rules, move_cap_factor=4)
    skipped: list[str] = []
    other = dataclasses.replace(job, manifest=dataclasses.replace(job.manifest, rules=rules))
    told: list[str] = []
    open_window(other, lambda file, why: skipped.append(why), told.append)
    assert len(told) == len(job.batches)
    other = dataclasses.replace(
        job, batches=(dataclasses.replace(job.batches[0], blob_digest=bytes(32)), *job.batches[1:])
    )
    open_window(other, lambda file, why: skipped.append(why), told.append)
    assert any("blob" in why for why in skipped)


def test_rows_of_batches_that_left_the_window_are_removed(job: Job) -> None:
    opened(job)
    assert job.cache is not None
    for name in (".a.rows.7.part", "notes"):
        (job.cache / name).write_bytes(b"half")
    opened(dataclasses.replace(job, batches=job.batches[1:]))
    wanted = [file.header_digest.hex() + SUFFIX for file in job.batches[1:]]
    assert [path.name for path in kept(job)] == sorted(["notes", *wanted])


def test_what_another_job_has_open_stays(job: Job) -> None:
    """The other one has looked its rows up, and its workers map them later."""
    half = len(job.batches) // 2
    first, second = (dataclasses.replace(job, batches=part) for part in (job.batches[:half], job.batches[half:]))
    window, _, _ = opened(first)
    other, _, _ = opened(second)
    assert len(kept(job)) == len(job.batches)
    assert content_of(window) == content_of(opened(first)[0])
    del window
    assert len(opened(first)[0]) < len(opened(job)[0])
    assert len(kept(job)) == len(job.batches), "the second one still has its rows open"
    del other
    opened(first)
    assert [path.stem for path in kept(job)] == sorted(file.header_digest.hex() for file in first.batches)


def test_a_job_that_begins_meanwhile_waits_for_the_removal_only(job: Job) -> None:
    opened(job)
    assert job.cache is not None
    lock = os.open(job.cache, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    with ThreadPoolExecutor(1) as pool:
        window = pool.submit(opened, job)
        with pytest.raises(TimeoutError):
            window.result(0.2)
        os.close(lock)
        assert window.result(60)[2] == []


def test_a_cache_that_cannot_be_written_is_told_of(job: Job, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    window, _, told = opened(dataclasses.replace(job, cache=tmp_path / "file" / "cache"))
    assert content_of(window) == content_of(opened(job)[0])
    assert len(told) == 1
    assert "cannot be kept" in told[0]


def test_a_full_disk_stops_it_and_leaves_nothing(job: Job) -> None:
    assert len(job.batches) > 1
    wanted = content_of(opened(job)[0])
    for path in kept(job):
        path.unlink()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
    try:
        with pytest.raises(OSError, match="File too large"):
            opened(job)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert not kept(job)
    gc.collect()  # closing what could not be written raises nothing
    assert content_of(opened(job)[0]) == wanted


def test_what_all_batches_have_to_say_is_told_once(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    def store(path: Path, data: bytes) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(rows_file, "store", store)
    _, _, told = opened(job)
    assert told == [f"Rows cannot be kept in {job.cache}: No space left on device."]


def test_rows_that_vanish_or_shrink_while_the_window_opens_are_bad_rows(job: Job) -> None:
    window, _, _ = opened(job)
    path = window.segments[1].source
    assert isinstance(path, Path)
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(BadRows, match="cannot be mapped"):
        window.segments[1].map()
    path.unlink()
    with pytest.raises(BadRows, match="cannot be read"):
        window.segments[1].map()


def test_numbers_and_split_say_where_rows_are(job: Job) -> None:
    window, _, _ = opened(job)
    numbers = np.concatenate([window.numbers(held_out=held_out) for held_out in (True, False)])
    assert sorted(numbers.tolist()) == list(range(len(window)))
    assert window.sizes == (7, 9)
    (small, at_small, of_small), (large, at_large, of_large) = window.split(numbers)
    assert (small, large) == (7, 9)
    assert max(of_small) < min(of_large)
    assert numbers[at_small].tolist() == of_small.tolist()
    assert sorted([*at_small.tolist(), *at_large.tolist()]) == list(range(len(window)))
    by_number = window.draw(of_large, np.zeros(len(of_large), np.int64))
    assert (by_number.canvas, by_number.whole) == (9, True)


def test_a_reader_that_is_killed_is_told_of_and_its_part_done_here(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    from trainer.data import crew

    here = content_of(opened(job)[0])
    started: list[int] = []
    start: Callable[..., None] = crew.Worker.__init__

    def start_and_kill(self: crew.Worker, *arguments: Any) -> None:
        start(self, *arguments)
        started.append(self.process.pid)
        os.kill(self.process.pid, signal.SIGKILL)

    monkeypatch.setattr(crew.Worker, "__init__", start_and_kill)
    window, _, told = opened(dataclasses.replace(job, workers=2, cache=None))
    assert len(started) == 2
    assert content_of(window) == here
    assert len(told) == 2
    assert all("-9" in text for text in told)


@pytest.mark.parametrize("workers", [0, 1])
def test_a_batch_that_cannot_be_read_is_skipped_by_workers_too(job: Job, tmp_path: Path, workers: int) -> None:
    missing = dataclasses.replace(job.batches[2], path=tmp_path / "missing")
    rest = [*job.batches[:2], *job.batches[3:]]
    skipped: list[str] = []
    window, used = read_window(
        [*rest[:2], missing, *rest[2:]],
        job.manifest,
        lambda file, why: skipped.append(file.name),
        workers=workers,
    )
    assert skipped == [missing.name]
    without, same = read_window(rest, job.manifest, refused)
    assert content_of(window) == content_of(without)
    assert used == same
