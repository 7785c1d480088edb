"""From admitted batches to a window of rows: `open_window`.

Spec: docs/spec/batch.md, docs/spec/rows.md. A batch's bytes have the digest that the log names or they are not read; one
that is missing, damaged or breaks the rules is skipped whole and named, never silent and never fatal. Neither the number of
workers nor the cache changes a row.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from native.errors import EngineError
from native.packed import pack_game
from protocol.batch import BatchLimits, parse_batch
from protocol.blob import verify_blob
from protocol.compress import decompress
from protocol.errors import ProtocolError
from protocol.manifest import Manifest
from trainer.data import rows_file
from trainer.data.cache import RowsCache
from trainer.data.crew import Crew
from trainer.data.draws import is_held_out
from trainer.data.health import verify_window
from trainer.data.rows import GAME, Games, Window
from trainer.data.rows_file import RowsFile
from trainer.data.segment import Scratch, Segment
from trainer.errors import BadBatch, BadRows, Interrupted
from trainer.job import BatchFile, Job
from verification.setup import game_rules

Skip = Callable[[BatchFile, str], None]
Tell = Callable[[str], None]
_AHEAD: Final = 4


def read_batch(file: BatchFile, manifest: Manifest) -> list[bytes]:
    """The packed games of a batch, in order; raises BadBatch with one sentence."""
    limits = manifest.limits
    try:
        blob = file.path.read_bytes()
    except OSError as error:
        raise BadBatch(f"The blob cannot be read: {error.strerror}.") from error
    try:
        verify_blob(blob, file.blob_digest)
        raw = decompress(blob, min(limits.raw_bytes, file.raw_len))
        if len(raw) != file.raw_len:
            raise BadBatch(f"The batch has {len(raw)} bytes, not {file.raw_len}.")
        batch = parse_batch(raw, BatchLimits(max_raw_bytes=limits.raw_bytes))
        return [
            pack_game(game_rules(manifest.rules, game.header.size, game.header.komi_half), game.raw)
            for game in batch.games
        ]
    except (ProtocolError, EngineError) as error:
        raise BadBatch(str(error)) from error


@dataclass(frozen=True, slots=True)
class ReadBatch:
    """A batch's rows: the table of its games, and the bytes that they lie in, or the file that keeps those. `wrong`: why
    there are none; `note`: what a person may want to know."""

    games: Games
    content: bytes | Path
    length: int
    wrong: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class BatchReader:
    """Reads batches of a run, here or in a worker; what the cache has is not read again."""

    manifest: Manifest
    cache: Path | None

    def __call__(self, file: BatchFile) -> ReadBatch:
        key, note = rows_file.key_of(file, self.manifest.rules), ""
        path = None if self.cache is None else rows_file.path_of(self.cache, file)
        if path is not None:
            try:
                kept = rows_file.load(path, key)
            except BadRows as error:
                kept, note = None, f"{error} They are made again, for batch {file.name}."
            if kept is not None:
                return ReadBatch(self._held_out(kept.games, file), path, kept.length)
        try:
            data = rows_file.encode(read_batch(file, self.manifest), key)
        except BadBatch as error:
            return ReadBatch(np.zeros(0, GAME), b"", 0, wrong=str(error))
        made = RowsFile.parse(memoryview(data), key)
        content: bytes | Path = data
        if path is not None:
            try:
                rows_file.store(path, data)
                content = path
            except OSError as error:
                note = f"Rows cannot be kept in {self.cache}: {error.strerror}."
        return ReadBatch(self._held_out(made.games, file), content, made.length, note=note)

    def _held_out(self, games: Games, file: BatchFile) -> Games:
        share = self.manifest.training.held_out_ppm
        games["held_out"] = [is_held_out(file.header_digest, number, share) for number in range(len(games))]
        return games


def open_window(
    job: Job, skip: Skip, tell: Tell, is_stopping: Callable[[], bool] = lambda: False
) -> tuple[Window, bytes]:
    """The window of a job's batches, as `read_window`, with its workers and its cache."""
    cache = None
    if job.cache is not None:
        try:
            cache = RowsCache(job.cache, [rows_file.path_of(job.cache, file) for file in job.batches])
        except OSError as error:
            tell(f"Rows cannot be kept in {job.cache}: {error.strerror}.")
    return read_window(
        job.batches, job.manifest, skip, tell, is_stopping, workers=job.workers, cache=cache, folder=job.out
    )


def read_window(
    batches: Sequence[BatchFile],
    manifest: Manifest,
    skip: Skip,
    tell: Tell = lambda text: None,
    is_stopping: Callable[[], bool] = lambda: False,
    *,
    workers: int = 0,
    cache: RowsCache | None = None,
    folder: Path | None = None,
) -> tuple[Window, bytes]:
    """The window of the batches in their order, and SHA-256 over the header digests of those read; `skip` is told of
    each one left out.

    Rows that `cache` does not keep lie in a nameless file in `folder`. Raises PoisonedWindow: NoRows when nothing is left
    to train on, others as `verify_window`; Interrupted once `is_stopping`.
    """
    used, tables = hashlib.sha256(), [np.zeros(0, GAME)]
    names: list[str] = []
    told: set[str] = set()
    segments: list[Segment] = []  # the scratch file comes before them
    scratch = Scratch(folder)
    with Crew(BatchReader(manifest, None if cache is None else cache.folder), workers, tell, ahead=_AHEAD) as crew:
        for file, read in zip(batches, crew.map(batches), strict=True):
            if is_stopping():
                raise Interrupted("Interrupted while the window was read; the same job begins again.")
            if read.note and read.note not in told:  # of a full disk every batch has the same to say
                told.add(read.note)
                tell(read.note)
            if read.wrong:
                skip(file, read.wrong)
                continue
            games = read.games
            games["batch"] = len(names)
            if isinstance(read.content, bytes):
                games["offset"] += np.uint64(scratch.add(read.content))
            else:
                segments.append(Segment(read.content, read.length))
                games["segment"] = len(segments)
            used.update(file.header_digest)
            names.append(file.name)
            tables.append(games)
    window = Window(np.concatenate(tables), [scratch.segment(), *segments], names, (scratch, cache))
    verify_window(window)
    return window, used.digest()
