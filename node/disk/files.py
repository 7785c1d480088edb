"""Files that are whole: written under another name, and renamed once all bytes are there.

Invariant: whoever reads a file, also after a kill, finds the bytes from before or the new ones; when it was written durably,
after a power cut too. Every file of a node that is replaced is written here; keys never are (`node.disk.keyring`).
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """What the system refuses inside names the file: writing and syncing know a number of it only, as on a full disk."""
    try:
        yield
    except OSError as error:
        if error.errno is not None and error.filename is None:
            error.filename = str(path)
        raise


def write_file(path: Path, data: bytes, *, is_durable: bool = True, temporary: Path | None = None) -> None:
    """Writes a file, its folder made if need be, under the name `temporary` first (default: hidden, beside it)."""
    temporary = temporary or path.with_name(f".{path.name}.new")
    _make_folder(temporary.parent, is_durable)
    temporary.unlink(missing_ok=True)  # what an end left; a link that somebody laid there is not followed
    try:
        with naming(path), open(temporary, "xb") as file:
            file.write(data)
        move_file(temporary, path, is_durable=is_durable)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_output(path: Path, data: bytes) -> None:
    """Writes a file where a person said so: whole, as `write_file`, but what a link leads to is replaced and not the link,
    and a device or a pipe is written to. OSError names the file."""
    with naming(path):
        if path.exists() and not path.is_file():
            path.write_bytes(data)
            return
    write_file(Path(os.path.realpath(path)), data)


def move_file(source: Path, path: Path, *, is_durable: bool = True) -> None:
    """Gives a file that is complete its name, on the same file system; a file of that name is replaced."""
    _make_folder(path.parent, is_durable)
    if is_durable:
        sync(source)
    source.replace(path)
    if is_durable:
        sync(path.parent)


def _make_folder(folder: Path, is_durable: bool) -> None:
    if not folder.is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        if is_durable:
            sync(folder.parent)


def sync(path: Path) -> None:
    """Has the disk hold a file's bytes, or a folder's names, before this returns."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        with naming(path):
            os.fsync(descriptor)
    finally:
        os.close(descriptor)
