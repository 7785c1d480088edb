"""Audit, the files: every file of the folder is known, and holds what its name or the log says.

Spec: `docs/spec/audit.md` ("Files"). Nothing can be put beside the run's own bytes, and no byte of them can differ.
"""

from collections.abc import Sequence

from protocol.blob import verify_blob
from protocol.errors import BadDigest, ProtocolError
from protocol.layout import BLOBS, CHECKPOINT, MANIFEST, RELEASES, ROOT, STATEMENTS, blob_path, release_path
from protocol.tiles import ENTRIES, Tile, encode_entries, verify_hashes
from verification.audit.folder import AuditFault, Folder
from verification.state import LogState
from verification.training import kept_states, named_states


def audit_files(
    folder: Folder, state: LogState, entries: list[bytes], is_working: bool = False, is_listed: bool = True
) -> str:
    """Checks every file; says how many there are, or raises AuditFault for the first that is wrong, or missing though the
    log alone makes it.

    In a working folder blobs may lie before an entry names them; their content is checked all the same. A folder that is
    not listed is a copy of what the log names.
    """
    copies = logged_files(state, entries)
    blobs = known_blobs(state)
    paths = folder.paths()
    total = waiting = 0
    for number, path in enumerate(paths):
        folder.step("files", number, len(paths))
        data = folder.read(path)
        total += len(data)
        top = path.partition("/")[0]
        if path in copies:
            if data != copies[path]:
                held = "what its statement signs" if top == STATEMENTS else "the entry that the log holds"
                raise AuditFault(f"File {path} is not {held}.")
        elif top == "tile":
            _check_tile(path, data, state, entries)
        elif top == BLOBS:
            waiting += not _check_blob(path, data, blobs, is_working)
        elif top == RELEASES:
            raise AuditFault(f"File {path} is unknown: the log has no such release.")
        elif path != CHECKPOINT:
            raise AuditFault(f"File {path} is unknown.")
    missing = copies.keys() - set(paths)
    if missing:
        raise AuditFault(f"File {min(missing)} is missing.")
    ahead = f"; {waiting} blobs are of entries that the head does not cover" if waiting else ""
    absent = len({blob_path(digest) for digest in kept_blobs(state)} - set(paths))
    gone = f" Named blobs that are not here: {absent}." if absent else ""
    unlisted = (
        "" if is_listed else " The server lists nothing, so files that the log does not name were not looked for."
    )
    return f"{len(paths)} files, {total / 1e6:.1f} MB, each known and unchanged{ahead}.{gone}{unlisted}"


def logged_files(state: LogState, entries: Sequence[bytes]) -> dict[str, bytes]:
    """The files that the log alone makes, besides its tiles: path and bytes."""
    files = {ROOT: entries[0], MANIFEST: entries[1]}
    for release in state.releases.all[1:]:
        files[release_path(release.number, release.name)] = entries[release.index]
    for statement in state.statements.all:
        files |= statement.files()
    return files


def known_blobs(state: LogState) -> set[bytes]:
    """The digests of all blobs that the log names."""
    blobs: set[bytes] = set()
    for batch in state.batches.all:
        blobs.add(batch.header.blob_digest)
    for subject in state.subjects.all:
        if subject.opening is not None:
            blobs.add(subject.opening.blob_digest)
    for result in state.gates.results:
        blobs.add(result.result.blob_digest)
    for training in state.trainings:
        record = training.record
        blobs |= {record.network_blob, record.weights_blob, record.state, *(point.state for point in record.states)}
    return blobs


def kept_blobs(state: LogState) -> set[bytes]:
    """Those of `known_blobs` that a run keeps: all but the train states of old cycles."""
    return known_blobs(state) - (named_states(state) - kept_states(state).keys())


def _check_tile(path: str, data: bytes, state: LogState, entries: list[bytes]) -> None:
    try:
        tile = Tile.parse(path)
        if tile.level != ENTRIES:
            verify_hashes(tile, data, state.tree)
        elif tile.end > len(entries):
            raise AuditFault(f"File {path} is unknown: the log has {len(entries)} entries.")
        elif data != encode_entries(entries[tile.start : tile.end]):
            raise AuditFault(f"File {path} does not hold the log's entries.")
    except ProtocolError as error:
        raise AuditFault(f"File {path}: {error}") from error


def _check_blob(path: str, data: bytes, known: set[bytes], is_working: bool) -> bool:
    """Whether the log names this blob; AuditFault for one that may not be here or is not what its name says."""
    name = path.rpartition("/")[2]
    try:
        digest = bytes.fromhex(name)
    except ValueError:
        digest = b""
    is_known = digest in known
    if not (is_known or is_working) or path != blob_path(digest):
        raise AuditFault(f"File {path} is unknown: the log names no such blob.")
    try:
        verify_blob(data, digest)
    except BadDigest as error:
        raise AuditFault(f"File {path} does not have the content that its name says.") from error
    return is_known
