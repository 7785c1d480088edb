"""The packed rows of a batch as a file that is kept between cycles: `RowsFile`, `load`, `store`.

Spec: docs/spec/rows.md ("File"). A file is found by its batch's header digest, and taken only when its key (what was read,
under which rules, in which format) and its checksum are right and each of its games is whole; else it is made again.
"""

from __future__ import annotations

import hashlib
import os
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from native.errors import EngineError
from native.packed import PackedFacts, packed_facts
from protocol.manifest import RulesSpec
from trainer import files
from trainer.data.rows import Games, games_of
from trainer.data.segment import Segment
from trainer.errors import BadRows
from trainer.job import BatchFile

MAGIC: Final = b"GONODER1"
SUFFIX: Final = ".rows"
_HEADER: Final = struct.Struct("<8s32sII")


@dataclass(frozen=True, slots=True)
class RowsFile:
    """What a file of rows holds: the table of its games (offsets from the file's start) and its length."""

    games: Games
    length: int

    @classmethod
    def parse(cls, data: memoryview, key: bytes) -> RowsFile:
        """Raises BadRows unless these are the rows of `key`, undamaged."""
        if len(data) < _HEADER.size:
            raise BadRows("The kept rows are cut short.")
        magic, found, count, checksum = _HEADER.unpack_from(data)
        if magic != MAGIC or found != key:
            raise BadRows("The kept rows are of another format or batch.")
        if zlib.crc32(data[_HEADER.size :]) != checksum or len(data) < _HEADER.size + 4 * count:
            raise BadRows("The kept rows are damaged.")
        lengths = struct.unpack_from(f"<{count}I", data, _HEADER.size)
        at = first = _HEADER.size + 4 * count
        facts: list[PackedFacts] = []
        for length in lengths:
            try:
                facts.append(packed_facts(data[at : at + length]))
            except EngineError as error:
                raise BadRows("The kept rows are damaged.") from error
            at += length
        if at != len(data):
            raise BadRows("The kept rows are damaged.")
        return cls(games_of(facts, lengths, first), len(data))


def encode(games: Sequence[bytes], key: bytes) -> bytes:
    """The file of these packed games."""
    content = b"".join([*(struct.pack("<I", len(game)) for game in games), *games])
    return _HEADER.pack(MAGIC, key, len(games), zlib.crc32(content)) + content


def key_of(file: BatchFile, rules: RulesSpec) -> bytes:
    """What decides the rows of a batch."""
    facts = file.header_digest + file.blob_digest + file.raw_len.to_bytes(8, "little")
    return hashlib.sha256(b"gonode/rows/v1\0" + facts + rules.encode()).digest()


def path_of(folder: Path, file: BatchFile) -> Path:
    """Where the rows of a batch are kept."""
    return folder / (file.header_digest.hex() + SUFFIX)


def load(path: Path, key: bytes) -> RowsFile | None:
    """The file there, or None when there is none. Raises BadRows when it is not what it has to be."""
    try:
        length = path.stat().st_size
    except OSError:
        return None
    with memoryview(Segment(path, length).map()) as data:
        return RowsFile.parse(data, key)


def store(path: Path, data: bytes) -> None:
    """Writes the file whole or not at all; raises OSError.

    Nothing is forced to the disk: what a power cut leaves has another checksum, and is made again from its batch.
    """
    files.store(path, data, is_durable=False, writer=str(os.getpid()))
