"""Names that KataGo's tools know: of a network by its release (`model_name`), of a file of rows by its bytes (`file_name`).

A network of KataGo's is `NAME-s<training samples>-d<data rows>`, which is how a release is named after its first part
(`verification.releases.release_name`); the untrained one is `random`, and `shuffle.py` takes only so many of its rows.
"""

from hashlib import sha256
from typing import Final

from verification.releases import FIRST_NAME

UNTRAINED: Final = "random"


def model_name(release: str) -> str:
    """A release's name for KataGo's tools, such as `run-b4c64-s120000-d45000`."""
    return UNTRAINED if release == FIRST_NAME else release


def file_name(data: bytes) -> str:
    """The name of a file of rows: 16 hexadecimal digits of its digest.

    `shuffle.py` sets files aside for validation by a hash of their names, so names may not repeat from folder to folder; it
    passes over names with an underscore.
    """
    return f"{sha256(data).hexdigest()[:16].upper()}.npz"
