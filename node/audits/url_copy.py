"""A copy of a run that a web server shows as static files: everything that its log names, as it is there, for an audit.

Spec: `docs/spec/audit.md` ("Over HTTP"), `docs/spec/layout.md`. Nothing is believed and nothing mended here: what is wrong
there is wrong in the copy, and the audit names it. A folder that holds an earlier copy is gone on with; blobs in it are
hashed, tiles held against the head.
"""

import tempfile
from collections.abc import Callable, Collection, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path
from threading import Lock
from typing import Final, TypeVar

from node.audits.copies import COPY, MAX_BLOB, require_plain_copy, require_room
from node.audits.errors import AuditInputError
from node.audits.folder_audit import FolderReader, audit_home
from node.audits.http_files import HttpFiles
from node.disk.blob_store import BlobStore
from node.disk.files import write_file
from node.disk.home import Home, read_ticket
from node.disk.store import Head as SeenHead
from node.disk.store import Store
from protocol.checkpoint import MAX_BYTES as MAX_NOTE
from protocol.checkpoint import Checkpoint, SignedNote
from protocol.errors import ProtocolError
from protocol.layout import CHECKPOINT, blob_path
from protocol.merkle import HASH_BYTES
from protocol.tiles import ENTRIES, MAX_ENTRY_BYTES, WIDTH, Tile, rebuild, tiles_between
from verification.audit.audit import AuditOptions, AuditReport, Check
from verification.audit.files import kept_blobs, logged_files
from verification.audit.folder import AuditFault, Folder, Progress, Tell
from verification.audit.head import Head, audit_head
from verification.training import kept_states

T = TypeVar("T")

TRIES: Final = 5
"""How often a run that goes on meanwhile is begun to copy."""

AT_ONCE: Final = 6
"""Connections."""

MAX_ENTRIES: Final = 1 << 28
"""A longer log is not asked for."""

MAX_DOCUMENT: Final = 1 << 20


def audit_url(
    url: str,
    ticket: str | None,
    directory: Path | None,
    options: AuditOptions,
    report: Callable[[Check], None] | None,
    tell: Tell,
) -> AuditReport:
    """Copies the run at `url` to `directory`, or to a temporary folder, and audits it there; with a ticket it has to be that
    ticket's run.

    Raises AuditInputError, HomeError, Unreachable, TooMuch.
    """
    with ExitStack() as stack:
        files = stack.enter_context(HttpFiles(url))
        if directory is None:
            directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gonode-audit-")))
        home = Home(directory)
        if home.key("host").parent.exists():
            raise AuditInputError(f"{directory}: a node lives here; use another --dir.")
        require_plain_copy(home)
        if ticket is not None:
            home.store_ticket(read_ticket(ticket))
        with ThreadPoolExecutor(AT_ONCE) as threads:
            copy = _Copy(files, home, tell, threads)
            head = copy.take()
        found = audit_home(home, options, report, tell, is_copy=True, is_listed=False, judged=copy.judged)
        if found.ok and head is not None:
            with Store(home.database) as store:
                store.put_head(head)  # no later copy may contradict it
        return found


class _Copy:
    """One copying of what `files` has to the public folder of `home`."""

    def __init__(self, files: HttpFiles, home: Home, tell: Tell, threads: ThreadPoolExecutor) -> None:
        self._files = files
        self._threads = threads
        self._home = home
        self._public = home.public
        self._tell = tell
        self._writing = Lock()
        self.judged = Head()
        """What the log says, as far as it could be read."""

    def take(self) -> SeenHead | None:
        """Copies; the head that is shown there, None where it is none."""
        data = self._checkpoint()
        for _ in range(TRIES):
            try:
                head = Checkpoint.parse(SignedNote.parse(data).text)
            except ProtocolError:
                self._put(CHECKPOINT, data)
                return None  # the audit says what is wrong with it
            self._check_run(head)
            (self._public / CHECKPOINT).unlink(missing_ok=True)  # until its tiles are here
            if head.size > MAX_ENTRIES or self._tiles(head):
                break
            newer = self._checkpoint()
            if newer == data:
                break
            data = newer  # a larger head was shown meanwhile, with tiles that replace those of this one
        self._put(CHECKPOINT, data)
        self._named()
        return SeenHead(head.size, head.root_hash, data)

    def _checkpoint(self) -> bytes:
        data = self._files.get(CHECKPOINT, MAX_NOTE)
        if data is None:
            raise AuditInputError(f"{self._files.url}: no run is shown here (there is no {CHECKPOINT}).")
        return data

    def _check_run(self, head: Checkpoint) -> None:
        """Raises AuditInputError when this folder holds a copy of another run."""
        if self._home.database.exists():
            with Store(self._home.database) as store:
                seen = store.newest_head()
            if seen is not None and Checkpoint.parse(SignedNote.parse(seen.note).text).origin != head.origin:
                raise AuditInputError(f"{self._home.directory}: a copy of another run is here; use another --dir.")

    def _named(self) -> None:
        """Copies what the log names, if it can be read."""
        folder, found = Folder(FolderReader(self._public), self._tell), self.judged
        folder.check = COPY
        with suppress(AuditFault):  # the audit says it
            audit_head(folder, found, None, ())
        if found.state is not None:
            self._each("files", logged_files(found.state, found.entries), lambda path: self._fetch(path, MAX_DOCUMENT))
            blobs, sizes = BlobStore(self._public), kept_states(found.state)
            self._each(
                "blobs",
                sorted(kept_blobs(found.state)),
                lambda digest: self._blob(blobs, digest, max(MAX_BLOB, sizes.get(digest, 0))),
            )

    def _tiles(self, head: Checkpoint) -> bool:
        """Copies the tiles of a head; whether all are here. Full ones from before stay while they give its root hash."""
        tiles = list(tiles_between(0, head.size))
        missing = [tile for tile in tiles if tile.width < WIDTH or not (self._public / tile.path).is_file()]
        self._each("tiles", missing, self._tile)
        if len(missing) < len(tiles) and not self._gives(head, tiles):
            self._each("tiles", tiles, self._tile)
        return all((self._public / tile.path).is_file() for tile in tiles)

    def _gives(self, head: Checkpoint, tiles: Iterable[Tile]) -> bool:
        """Whether the bundles that are here make the tree of a head."""
        try:
            bundles = [(self._public / tile.path).read_bytes() for tile in tiles if tile.level == ENTRIES]
            tree, _ = rebuild(bundles, head.size)
        except (OSError, ProtocolError):
            return False
        return tree.root() == head.root_hash

    def _tile(self, tile: Tile) -> None:
        size = MAX_ENTRY_BYTES + 2 if tile.level == ENTRIES else HASH_BYTES
        self._fetch(tile.path, tile.width * size)

    def _blob(self, blobs: BlobStore, digest: bytes, limit: int) -> None:
        if blobs.get(digest) is None:
            self._fetch(blob_path(digest), limit)

    def _fetch(self, path: str, limit: int) -> None:
        """Copies a file as it is there; one that is not there is not here either."""
        data = self._files.get(path, limit)
        if data is None:
            (self._public / path).unlink(missing_ok=True)
        else:
            self._put(path, data)

    def _put(self, path: str, data: bytes) -> None:
        with self._writing:  # so that the room is there once it was found
            require_room(self._home.directory, len(data))
            write_file(self._public / path, data, is_durable=False)

    def _each(self, kind: str, items: Collection[T], fetch: Callable[[T], None]) -> None:
        """Copies a few at once; the first error, or a Ctrl-C, ends it."""
        waiting = [self._threads.submit(fetch, item) for item in items]
        try:
            for number, copied in enumerate(waiting):
                self._tell(Progress(COPY, kind, number, len(waiting)))
                copied.result()
        except BaseException:
            self._files.close()
            self._threads.shutdown(wait=False, cancel_futures=True)
            raise
