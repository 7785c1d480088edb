"""Leela Zero's training files: positions one after another, plain or compressed by gzip.

Files are read as they are parsed, so their size costs no memory; each fault names the position where it is.
"""

import gzip
import io
import zlib
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO, Final, cast

from node.exchange.errors import TrainingFileError
from node.exchange.leela_zero.position import LINES, TrainingPosition

MAX_LINE_BYTES: Final = 16384
_GZIP: Final = b"\x1f\x8b"


def read_positions(path: Path) -> Iterator[TrainingPosition]:
    """The positions of a file, each when it is asked for; raises TrainingFileError or OSError."""
    with ExitStack() as stack:
        file: BinaryIO = stack.enter_context(path.open("rb"))
        if file.read(2) == _GZIP:
            file.seek(0)
            file = cast(BinaryIO, stack.enter_context(gzip.GzipFile(fileobj=file)))
        else:
            file.seek(0)
        try:
            yield from _positions(file)
        except TrainingFileError as error:
            raise TrainingFileError(f"{path}: {error}") from None
        except (EOFError, gzip.BadGzipFile, zlib.error):
            raise TrainingFileError(f"{path}: The file is damaged: it cannot be unpacked to its end.") from None


def pack_file(positions: Iterable[TrainingPosition]) -> bytes:
    """A compressed file of these positions; equal positions give equal bytes."""
    out = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=out, mtime=0) as file:
        for position in positions:
            file.write(position.encode().encode("ascii"))
    return out.getvalue()


def training_files(folder: Path) -> list[Path]:
    """All files of a folder by name, but those whose names begin with a dot; raises TrainingFileError where there is none,
    or OSError."""
    found = sorted(path for path in folder.iterdir() if path.is_file() and not path.name.startswith("."))
    if not found:
        raise TrainingFileError(f"{folder}: no training file is here.")
    return found


def _positions(file: BinaryIO) -> Iterator[TrainingPosition]:
    number = 0
    while lines := _lines(file):
        number += 1
        try:
            yield TrainingPosition.parse([line.decode("ascii") for line in lines])
        except UnicodeDecodeError:
            raise TrainingFileError(f"position {number}: It has bytes that are no text.") from None
        except TrainingFileError as error:
            raise TrainingFileError(f"position {number}: {error}") from None


def _lines(file: BinaryIO) -> list[bytes]:
    """The lines of a position without their ends; none at the end of the file."""
    lines: list[bytes] = []
    while len(lines) < LINES and (line := file.readline(MAX_LINE_BYTES)):
        lines.append(line.rstrip(b"\r\n"))
    return lines
