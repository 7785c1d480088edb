"""Publishes a run's public folder: the log as tiles under a cosigned checkpoint, and every release's signed record.

Spec: `docs/spec/layout.md`, `docs/spec/log.md` ("Tiles"). Invariant: the folder shows a head only once enough witnesses
cosigned it; whoever reads it, after a kill too, sees a checkpoint whose tiles are there. What a head adds is written and
what it replaces deleted by name, so that it costs the same in a log of any size. Full tiles and records are written durably;
what a power cut tears of the rest is made good by `mend`.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from node.disk.blob_store import BlobStore
from node.disk.cosigned import newest_cosigned
from node.disk.files import write_file
from node.disk.store import Store
from protocol.checkpoint import Checkpoint, SignedNote
from protocol.errors import ProtocolError
from protocol.layout import CHECKPOINT, MANIFEST, RELEASES, ROOT, STATEMENTS, release_path
from protocol.tiles import ENTRIES, WIDTH, Tile, encode_entries, narrow_tiles, tile_bytes, tiles_between
from verification.audit.files import known_blobs
from verification.state import LogState

_TILES: Final = "tile"


class Publisher:
    """Writes what `state` and `store` hold to the folder `public`."""

    def __init__(self, state: LogState, store: Store, public: Path) -> None:
        self._state = state
        self._store = store
        self._public = public
        self._entries = _Entries(store)
        shown = self._shown()
        self._size = 0 if shown is None else Checkpoint.parse(shown.text).size

    def publish(self, note: SignedNote) -> None:
        """Shows a head that is cosigned by enough witnesses; an older one than is shown changes nothing."""
        size = Checkpoint.parse(note.text).size
        if size < self._size:
            return
        for tile in tiles_between(self._size, size):
            self._write_tile(tile)
        for path, data in self._records(self._size, size):
            self._write(path, data)
        self._write(CHECKPOINT, note.encode(), is_durable=False)
        for tile in set(narrow_tiles(self._size)) - set(narrow_tiles(size)):
            self._drop(self._public / tile.path)
        self._size = size

    def mend(self) -> None:
        """Makes the folder that of the head which it shows: what a power cut tore or somebody removed is written again.

        To be called once, before anything is published. For a checkpoint that is gone the store's newest one is taken that
        enough witnesses cosigned. Of a full entry bundle only the end is compared: wrong bytes before it are for an audit to
        find.
        """
        note = self._shown() or self._stored()
        if note is None:
            return
        size = Checkpoint.parse(note.text).size
        needed = set()
        for tile in tiles_between(0, size):
            needed.add(f"{self._public}/{tile.path}")
            if not self._is_whole(tile):
                self._write_tile(tile)
        for path, data in self._records(0, size):
            needed.add(f"{self._public}/{path}")
            if self._read(path) != data:
                self._write(path, data)
        self._write(CHECKPOINT, note.encode(), is_durable=False)
        for top in (_TILES, RELEASES, STATEMENTS):
            for folder, _, names in os.walk(self._public / top):
                for file in (f"{folder}/{name}" for name in names):
                    if file not in needed:
                        self._drop(Path(file))
        self._size = size

    def sweep(self) -> None:
        """Deletes blobs that neither the log nor the outbox names: of entries that were refused or never made."""
        blobs = BlobStore(self._public)
        named = known_blobs(self._state)
        waiting = b"".join(item.payload for item in self._store.waiting())
        for digest in list(blobs.digests()):
            if digest not in named and digest not in waiting:
                blobs.delete(digest)

    def _records(self, start: int, end: int) -> Iterator[tuple[str, bytes]]:
        """(path, bytes) of the files that the entries from `start` up to `end` make."""
        copies = {0: ROOT, 1: MANIFEST}
        copies |= {each.index: release_path(each.number, each.name) for each in self._state.releases.all[1:]}
        for index, path in copies.items():
            entry = self._store.entry(index) if start <= index < end else None
            if entry is not None:
                yield path, entry
        for statement in self._state.statements.all:
            if start <= statement.index < end:
                yield from statement.files().items()

    def _is_whole(self, tile: Tile) -> bool:
        if tile.level != ENTRIES or tile.width < WIDTH:
            return self._read(tile.path) == tile_bytes(tile, self._state.tree, self._entries)
        end = encode_entries(self._store.entries(tile.end - 1, 1))
        return self._read(tile.path, len(end)) == end

    def _write_tile(self, tile: Tile) -> None:
        self._write(tile.path, tile_bytes(tile, self._state.tree, self._entries), is_durable=tile.width == WIDTH)

    def _write(self, path: str, data: bytes, is_durable: bool = True) -> None:
        write_file(self._public / path, data, is_durable=is_durable)

    def _read(self, path: str, last_bytes: int = 0) -> bytes | None:
        """A file's bytes, or only so many last ones; None when they are not there."""
        try:
            with (self._public / path).open("rb") as file:
                if last_bytes:
                    file.seek(-last_bytes, os.SEEK_END)
                return file.read()
        except OSError:
            return None

    def _drop(self, file: Path) -> None:
        file.unlink(missing_ok=True)
        if file.parent.suffix == ".p":
            with suppress(OSError):  # others are in it
                file.parent.rmdir()

    def _shown(self) -> SignedNote | None:
        """The checkpoint in the folder; None for one that is torn or of another log."""
        try:
            note = SignedNote.parse(self._read(CHECKPOINT) or b"")
            head = Checkpoint.parse(note.text)
        except ProtocolError:
            return None
        is_ours = head.size <= self._state.size and self._state.tree.root(head.size) == head.root_hash
        return note if is_ours else None

    def _stored(self) -> SignedNote | None:
        """The newest head in the store that enough witnesses cosigned."""
        head = newest_cosigned(self._store, self._state)
        return None if head is None else SignedNote.parse(head.note)


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
