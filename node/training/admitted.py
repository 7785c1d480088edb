"""The admitted data in a folder: what its log released, and where the blobs lie.

A folder is a node's, with its store, or a public folder (`protocol.layout`) as a coordinator shows it and copies hold it, or
a directory with one in `public`. A store is what its node has checked; a public folder's head is checked here, and all its
signatures.
"""

from dataclasses import dataclass
from pathlib import Path

from node.audits.folder_audit import FolderReader
from node.disk.blob_store import BlobStore
from node.disk.home import Home
from node.matches.stored_state import load_state
from protocol.layout import CHECKPOINT
from verification.audit.folder import AuditFault, Folder
from verification.audit.head import Head, audit_head
from verification.state import LogState


class NoAdmittedData(ValueError):
    """One sentence about a folder that holds nothing to train on."""


@dataclass(frozen=True, slots=True)
class Admitted:
    """A run as a folder shows it."""

    state: LogState
    blobs: BlobStore


def load_admitted(directory: Path) -> Admitted:
    """What a folder holds; raises NoAdmittedData, HomeError, StoreError or LogRefused."""
    home = Home(directory)
    if home.database.is_file():
        found = Admitted(load_state(home), BlobStore(home.public))
    else:
        folder = next((each for each in (home.public, directory) if (each / CHECKPOINT).is_file()), None)
        if folder is None:
            raise NoAdmittedData(f"{directory}: neither a node's directory nor a copy of a run is here.")
        found = Admitted(_published_state(folder), BlobStore(folder))
    if not found.state.batches.released:
        raise NoAdmittedData(f"{directory}: its log has no released batch yet, so there is nothing to train on.")
    return found


def _published_state(folder: Path) -> LogState:
    head = Head()
    try:
        audit_head(Folder(FolderReader(folder)), head, None, ())
    except AuditFault as fault:
        raise NoAdmittedData(f"{folder}: its log cannot be believed: {fault}") from None
    assert head.state is not None
    return head.state
