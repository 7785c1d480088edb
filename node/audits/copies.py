"""What copies from peers and over HTTP share: their bounds, and what a folder may not hold that is made a copy.

Invariant: a copy is written, and gone on with, in folders and regular files alone. A folder that somebody else made may
hold links, which lead writes elsewhere, or pipes and devices, at which a read never ends.
"""

import os
import shutil
from pathlib import Path
from typing import Final

from node.audits.errors import AuditInputError
from node.audits.folder_audit import require_plain
from node.disk.blob_store import BlobStore
from node.disk.home import Home

COPY: Final = "copy"
"""The name under which a copy's progress is told."""

MAX_BLOB: Final = 256 << 20
"""The largest blob that is fetched, in bytes, unless the log says that it is larger."""

LEAST_FREE: Final = 1 << 30
"""What a copy leaves free of a disk, in bytes."""


def require_plain_copy(home: Home) -> None:
    """Raises AuditInputError when a copy in this directory would be written, or read, through anything but folders and
    regular files."""
    for top in (home.public, BlobStore(home.public).partial):
        if top.is_symlink():
            require_plain(top)
        for folder, folders, names in os.walk(top):
            for name in (*folders, *names):
                require_plain(Path(folder, name))


def require_room(folder: Path, more_bytes: int) -> None:
    """Raises AuditInputError when so many bytes more would leave less than LEAST_FREE of the disk that holds `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    if shutil.disk_usage(folder).free < more_bytes + LEAST_FREE:
        raise AuditInputError(
            f"{folder}: the copy was stopped, since its disk would have less than {LEAST_FREE >> 20} MiB left; "
            "make room, or use another --dir."
        )
