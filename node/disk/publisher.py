"""Publishes a run's public folder: the log as tiles under a cosigned checkpoint, and every release's signed record.

Spec: `docs/spec/layout.md`, `docs/spec/log.md` ("Tiles"). Invariant: the folder shows a head only once enough witnesses
cosigned it, with exactly its tiles; a reader between two publications sees a checkpoint whose tiles are there.
"""

from collections.abc import Sequence
from pathlib import Path

from node.disk.blob_store import BlobStore
from node.disk.files import write_file
from node.disk.store import Store
from protocol.checkpoint import Checkpoint, SignedNote
from protocol.errors import ProtocolError
from protocol.layout import CHECKPOINT, MANIFEST, ROOT, release_path
from protocol.tiles import WIDTH, Tile, tiles_for
from verification.audit.files import known_blobs
from verification.state import LogState


class Publisher:
    """Writes what `state` and `store` hold to the folder `public`."""

    def __init__(self, state: LogState, store: Store, public: Path) -> None:
        self._state = state
        self._store = store
        self._public = public
        self._size = self._published_size()

    def publish(self, note: SignedNote) -> None:
        """Shows a head that is cosigned by enough witnesses; an older one than is shown changes nothing."""
        size = Checkpoint.parse(note.text).size
        if size < self._size:
            return
        for path, data in tiles_for(self._size, size, self._state.tree, _Entries(self._store)):
            self._write(path, data)
        for index, path in enumerate((ROOT, MANIFEST)):
            entry = self._store.entry(index)
            if entry is not None and not (self._public / path).is_file():
                self._write(path, entry)
        for release in self._state.releases.all[1:]:
            entry = self._store.entry(release.index) if self._size <= release.index < size else None
            if entry is not None:
                self._write(release_path(release.number, release.name), entry)
        self._write(CHECKPOINT, note.encode())
        self._drop_narrow(size)
        self._size = size

    def _write(self, path: str, data: bytes) -> None:
        """Not durably: what a power cut takes is in the store."""
        write_file(self._public / path, data, is_durable=False)

    def sweep(self) -> None:
        """Deletes blobs that neither the log nor the outbox names: of entries that were refused or never made."""
        blobs = BlobStore(self._public)
        named = known_blobs(self._state)
        waiting = b"".join(item.payload for item in self._store.waiting())
        for digest in list(blobs.digests()):
            if digest not in named and digest not in waiting:
                blobs.delete(digest)

    def _published_size(self) -> int:
        """The size that the folder shows; 0 makes the next publication write everything anew."""
        try:
            note = SignedNote.parse((self._public / CHECKPOINT).read_bytes())
            size = Checkpoint.parse(note.text).size
        except (OSError, ProtocolError):
            return 0
        return size if size <= self._state.size else 0

    def _drop_narrow(self, size: int) -> None:
        """Deletes the partial tiles that the published head's own tiles supersede."""
        for folder in (self._public / "tile").rglob("*.p"):
            for old in list(folder.iterdir()):
                tile = None if old.name.startswith(".") else Tile.parse(old.relative_to(self._public).as_posix())
                leaves = WIDTH ** max(tile.level, 0) if tile is not None else 1
                if tile is None or tile.end != size // leaves:
                    old.unlink()
            if not any(folder.iterdir()):
                folder.rmdir()


class _Entries(Sequence[bytes]):
    """The log's entries, read from disk by slices."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def __len__(self) -> int:
        return self._store.log_size

    def __getitem__(self, item: int | slice) -> bytes | list[bytes]:  # type: ignore[override]
        if isinstance(item, int):
            entry = self._store.entry(item)
            if entry is None:
                raise IndexError(item)
            return entry
        start, stop, _ = item.indices(len(self))
        return self._store.entries(start, stop - start, 1 << 28)
