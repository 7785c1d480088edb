"""Audits of a folder on this disk, and of a run over the network by way of a copy.

Spec: `docs/spec/audit.md`. The judgement is `verification.audit`'s; this part only brings it the bytes.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

from node.disk.home import Home
from node.disk.store import Store
from protocol.layout import CHECKPOINT
from verification.audit import AuditOptions, AuditReport, Check, audit


class AuditInputError(ValueError):
    """One sentence about why there is nothing to audit."""


class FolderReader:
    """A public folder on this disk."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self, path: str) -> bytes | None:
        """See `verification.auditing.Reader`."""
        try:
            return (self._folder / path).read_bytes()
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return None

    def list(self, prefix: str) -> Iterable[str]:
        """See `verification.auditing.Reader`."""
        for file in self._folder.rglob("*"):
            path = file.relative_to(self._folder).as_posix()
            if file.is_file() and path.startswith(prefix):
                yield path


def audit_home(home: Home, options: AuditOptions, report: Callable[[Check], None] | None = None) -> AuditReport:
    """Audits the public folder of a node's directory, against every head that the node has seen."""
    if not (home.public / CHECKPOINT).is_file():
        raise AuditInputError(f"{home.directory}: there is no published log here (no {CHECKPOINT}).")
    heads: list[tuple[int, bytes]] = []
    if home.database.exists():
        with Store(home.database) as store:
            heads = [(head.size, head.root) for head in store.heads(limit=1_000_000)]
    run = home.load_ticket().run if home.ticket.exists() else None
    return audit(FolderReader(home.public), replace(options, run=run, known_heads=heads), report)
