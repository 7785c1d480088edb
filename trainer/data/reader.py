"""From admitted batches to a window of rows: `read_window`.

Spec: docs/spec/batch.md. A batch's bytes have the digest that the log names or they are not read; one that is missing,
damaged or breaks the rules is skipped whole and named, never silent and never fatal.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence

import numpy as np

from native.errors import EngineError
from native.rows import read_rows
from native.rules import Rules
from protocol.batch import BatchLimits, parse_batch
from protocol.blob import verify_blob
from protocol.compress import decompress
from protocol.errors import ProtocolError
from protocol.manifest import Manifest
from trainer.data.draws import is_held_out
from trainer.data.rows import PLANES, Rows, Window
from trainer.errors import BadBatch, NoRows
from trainer.job import BatchFile
from verification.setup import game_rules

Skip = Callable[[BatchFile, str], None]


def read_game(rules: Rules, block: bytes, *, held_out: bool) -> Rows:
    """The rows of a game's block; raises native.errors.BlockError."""
    rows = read_rows(rules, block)
    n, points = rows.plies, rows.size * rows.size
    return Rows(
        size=rows.size,
        planes=np.frombuffer(rows.planes, np.uint8).reshape(n, PLANES, points),
        policy=np.frombuffer(rows.policy, np.uint16).reshape(n, points + 1),
        opponent_policy=np.frombuffer(rows.opponent_policy, np.uint16).reshape(n, points + 1),
        value=np.frombuffer(rows.value, np.int8),
        score=np.frombuffer(rows.score, np.int32),
        ownership=np.frombuffer(rows.ownership, np.int8).reshape(n, points),
        kind=np.frombuffer(rows.kind, np.uint8),
        root_value=np.frombuffer(rows.root_value, np.int32),
        held_out=np.full(n, held_out),
    )


def read_batch(file: BatchFile, manifest: Manifest) -> list[Rows]:
    """The rows of each game of a batch; raises BadBatch with one sentence."""
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
        found = []
        for index, game in enumerate(batch.games):
            held_out = is_held_out(file.header_digest, index, manifest.training.held_out_ppm)
            rules = game_rules(manifest.rules, game.header.size, game.header.komi_half)
            found.append(read_game(rules, game.raw, held_out=held_out))
        return found
    except (ProtocolError, EngineError) as error:
        raise BadBatch(str(error)) from error


def read_window(batches: Sequence[BatchFile], manifest: Manifest, skip: Skip) -> tuple[Window, bytes]:
    """The window of the batches in their order, and SHA-256 over the header digests of those read; `skip` is told of
    each one left out. Raises NoRows when nothing is left to train on."""
    parts: list[Rows] = []
    used = hashlib.sha256()
    for file in batches:
        try:
            parts += read_batch(file, manifest)
        except BadBatch as error:
            skip(file, str(error))
        else:
            used.update(file.header_digest)
    window = Window.of(parts)
    if not len(window.numbers(held_out=False)):
        raise NoRows("The window has no rows to train on.")
    return window, used.digest()
