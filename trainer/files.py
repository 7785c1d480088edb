"""Files that are whole: written under another name, and renamed once all bytes are there: `store`.

Whoever reads a file, also after a kill, finds the bytes from before or the new ones; when it was written durably, after a
power cut too. Every file that the trainer replaces is written here; a node's are by `node.disk.files`, which no trainer
imports.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Final

PART: Final = ".part"


def store(path: Path, data: bytes, *, is_durable: bool = True, writer: str = "") -> bytes:
    """Writes a file, or leaves what was there and raises OSError; gives the SHA-256 of its bytes.

    `writer` tells processes apart that may write the same file at one time.
    """
    temporary = path.with_name(f".{path.name}{writer and '.'}{writer}{PART}")
    temporary.unlink(missing_ok=True)  # what an end left; a link that somebody laid there is not followed
    try:
        with open(temporary, "xb") as file:
            file.write(data)
            if is_durable:
                file.flush()
                os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError:  # as of a full disk, which it would keep full
        temporary.unlink(missing_ok=True)
        raise
    if is_durable:
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    return hashlib.sha256(data).digest()
