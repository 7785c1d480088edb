"""Audits of a folder on this disk, and of a run over the network by way of a copy.

Spec: `docs/spec/audit.md`. The judgement is `verification.audit`'s; this part only brings it the bytes. The node in a
directory may run meanwhile: what is audited is one head that it published, with that head's tiles. The folder may be
somebody else's work: nothing but regular files is opened.
"""

import stat
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

from node.audits.errors import AuditInputError
from node.disk.home import Home
from node.disk.store import Store
from protocol.checkpoint import Checkpoint, SignedNote
from protocol.envelope import Envelope
from protocol.errors import ProtocolError
from protocol.layout import BLOBS, CHECKPOINT
from protocol.root import Root
from protocol.seeds import run_id
from verification.audit.audit import AuditOptions, AuditReport, Check, audit
from verification.audit.folder import Tell
from verification.audit.head import Head
from verification.root_versions import RootVersions
from verification.witness import is_cosigned

TRIES = 50
SETTLE_S = 0.1


class FolderReader:
    """A public folder on this disk as it is at one moment: all but its blobs, which never change, is read at once.

    Making, reading and listing raise AuditInputError for a link, a pipe or a device in it.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        for _ in range(TRIES):
            head = self._head()
            self._files = self._read_all()
            time.sleep(SETTLE_S)  # a publication that has begun shows its head by then
            if self._files.get(CHECKPOINT) == head == self._head():
                return

    def read(self, path: str) -> bytes | None:
        """See `verification.audit.folder.Reader`."""
        if not path.startswith(f"{BLOBS}/"):
            return self._files.get(path)
        return _bytes_of(self._folder / path)

    def list(self, prefix: str) -> Iterable[str]:
        """See `verification.audit.folder.Reader`."""
        blobs = [path for path in self._paths() if path.startswith(f"{BLOBS}/")]
        return [path for path in (*self._files, *blobs) if path.startswith(prefix)]

    def _head(self) -> bytes | None:
        return _bytes_of(self._folder / CHECKPOINT)

    def _read_all(self) -> dict[str, bytes]:
        read = {path: _bytes_of(self._folder / path) for path in self._paths() if not path.startswith(f"{BLOBS}/")}
        return {path: data for path, data in read.items() if data is not None}

    def _paths(self) -> Iterable[str]:
        """Every file but those that are being written; raises AuditInputError for what is none."""
        for file in self._folder.rglob("*"):
            if require_plain(file) and not (file.name.startswith(".") and file.suffix == ".new"):
                yield file.relative_to(self._folder).as_posix()


def audit_home(
    home: Home,
    options: AuditOptions,
    report: Callable[[Check], None] | None = None,
    tell: Tell | None = None,
    *,
    is_copy: bool = False,
    is_listed: bool = True,
    judged: Head | None = None,
) -> AuditReport:
    """Audits the public folder of a node's directory, against every head that the node has seen.

    `is_copy`: the folder was copied just now from a run that went on meanwhile, so that later heads say nothing.
    `is_listed`: it has all that was there, and not only what the log names. `judged`: see `verification.audit.audit`.
    """
    if not (home.public / CHECKPOINT).is_file():
        raise AuditInputError(
            f"{home.directory}: there is no published log here (no {CHECKPOINT}); only a coordinator's directory or a copy "
            "of the run holds one, so audit over the network with --ticket TICKET."
        )
    for file in (home.database, home.ticket):
        require_plain(file)
    heads: list[tuple[int, bytes]] = []
    is_working = home.database.exists()
    if is_working:
        with Store(home.database) as store:
            published = _published_size(home)
            heads = [head for head in _known_heads(store, published) if not is_copy or head[0] <= published]
    run = home.load_ticket().run if home.ticket.exists() else None
    options = replace(options, run=run, known_heads=heads, is_working=is_working and is_listed, is_listed=is_listed)
    return audit(FolderReader(home.public), options, report, tell, judged)


def _published_size(home: Home) -> int:
    """How many entries the published checkpoint covers; 0 for one that cannot be read, which the audit will say."""
    try:
        return Checkpoint.parse(SignedNote.parse(_bytes_of(home.public / CHECKPOINT) or b"").text).size
    except ProtocolError:
        return 0


def _known_heads(store: Store, published: int) -> list[tuple[int, bytes]]:
    """Size and root hash of the heads that the published log has to hold: all that are not larger, and larger ones that
    enough witnesses cosigned. The coordinator's newest may not have come so far. A store without a log holds the heads of
    copies over HTTP that passed an audit."""
    heads = store.heads(limit=1_000_000)
    beginning = store.entries(0, 2)
    if len(beginning) == 2:
        run, roots = run_id(*(Envelope.parse(entry).payload for entry in beginning)), _root_versions(store)
        heads = [
            head for head in heads if head.size <= published or is_cosigned(SignedNote.parse(head.note), run, roots)
        ]
    return [(head.size, head.root) for head in heads]


def _root_versions(store: Store) -> RootVersions:
    """The root versions of the log in a store."""
    roots, is_root = RootVersions(), Root.payload_type().encode()
    for index, entry in enumerate(store.iterate_log()):
        if is_root not in entry:
            continue  # most of a long log, unparsed
        envelope = Envelope.parse(entry)
        if envelope.type == Root.payload_type():
            roots = roots.followed_by(index, Root.open(envelope))
    return roots


def require_plain(path: Path) -> bool:
    """Whether a regular file is at `path`, or a folder or nothing; raises AuditInputError for a link, a pipe or a device."""
    try:
        mode = path.lstat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return False
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise AuditInputError(f"{path}: this is a link or no regular file, which no run's folder holds; remove it.")
    return stat.S_ISREG(mode)


def _bytes_of(file: Path) -> bytes | None:
    try:
        return file.read_bytes() if require_plain(file) else None
    except FileNotFoundError:  # it was replaced meanwhile
        return None
