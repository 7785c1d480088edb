"""The static site of the audit page: its files, and a copy of a run's log for it to check.

Spec: `docs/spec/audit-page.md`. Invariants: the page loads nothing but its own files and the run's public folder, and its
policy (CSP) says so to the browser; the copied log is one head that the node published, whole, its checkpoint written last.
"""

import re
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from node.audits.folder_audit import FolderReader
from node.disk.files import write_file
from node.disk.home import Home, HomeError
from protocol.envelope import Envelope
from protocol.errors import ProtocolError
from protocol.layout import BLOBS, CHECKPOINT, MANIFEST, PUBLIC, ROOT
from protocol.seeds import run_id

FOLDER: Final = f"{PUBLIC}/"
SERVED_ONLY: Final = (
    *("pages.", "board.", "graph.", "game.", "game-", "play.", "play-"),
    *("vendor/clsx/", "vendor/preact/", "vendor/shudan/"),
)
"""How the names of files begin that only the server's pages need (`node.web.app`)."""
_NEAR: Final = re.compile(r"(?:[A-Za-z0-9._~-]+/)+|\.\./(?:[A-Za-z0-9._~-]+/)*|/(?:[A-Za-z0-9._~-]+/)*", re.ASCII)
_HOST: Final = re.compile(r"[A-Za-z0-9.-]+(?::[0-9]{1,5})?", re.ASCII)


class SiteError(HomeError):
    """One sentence about a site that cannot be written."""


@dataclass(frozen=True, slots=True)
class Site:
    """An audit page for the public folder at `folder`, a URL relative to the page or whole; `run`: for that run alone."""

    folder: str = FOLDER
    run: bytes | None = None

    def __post_init__(self) -> None:
        if not self.folder.endswith("/"):
            object.__setattr__(self, "folder", self.folder + "/")
        if not (_NEAR.fullmatch(self.folder) or self._origin):
            raise SiteError(
                f"{self.folder[:80]!r} is not where a page finds a public folder: a path such as {FOLDER}, or http(s)://HOST/PATH/."
            )

    @property
    def _origin(self) -> str:
        """What the page may connect to besides its own server; empty for a folder there."""
        try:
            parts = urlsplit(self.folder)
        except ValueError:
            return ""
        is_whole = parts.scheme in ("http", "https") and _HOST.fullmatch(parts.netloc)
        is_plain = _NEAR.fullmatch(parts.path) and not parts.query and not parts.fragment
        return f"{parts.scheme}://{parts.netloc}" if is_whole and is_plain else ""

    def files(self) -> dict[str, bytes]:
        """The site's own files by their paths: the page, its modules, style and icon."""
        package = files("node.web")
        page = package.joinpath("pages/audit.html").read_text(encoding="utf-8")
        values = {
            "connect": f" {self._origin}" if self._origin else "",
            "folder": self.folder,
            "run": "" if self.run is None else self.run.hex(),
        }
        for name, value in values.items():
            page = page.replace("{{" + name + "}}", escape(value))
        own = (item for item in files_below(package.joinpath("static")) if not item[0].startswith(SERVED_ONLY))
        static = {f"static/{path}": data for path, data in own}
        return {"index.html": page.encode(), **static}


def log_files(home: Home) -> dict[str, bytes]:
    """What the page reads of a node's public folder, by path: one published head, all but blobs; HomeError without one."""
    if not (home.public / CHECKPOINT).is_file():
        raise HomeError(f"{home.directory}: there is no published log here (no {CHECKPOINT}).")
    reader = FolderReader(home.public)
    found = {path: reader.read(path) for path in reader.list("") if not path.startswith(f"{BLOBS}/")}
    return {path: data for path, data in found.items() if data is not None}


def run_of(log: dict[str, bytes]) -> bytes:
    """The run id that a folder's root and manifest make; raises HomeError."""
    try:
        root, manifest = (Envelope.parse(log[name]).payload for name in (ROOT, MANIFEST))
    except (KeyError, ProtocolError) as error:
        raise HomeError("The public folder has no root and manifest that can be read.") from error
    return run_id(root, manifest)


def write_site(out: Path, site: Site, log: dict[str, bytes]) -> int:
    """Writes the site, with a log's files below `public/`, the checkpoint last; gives how many files there are."""
    wanted = {**site.files(), **{f"{FOLDER}{path}": data for path, data in log.items() if path != CHECKPOINT}}
    if CHECKPOINT in log:
        wanted[FOLDER + CHECKPOINT] = log[CHECKPOINT]
    for path, data in wanted.items():
        write_file(out / path, data, is_durable=False)
    return len(wanted)


def files_below(folder: Traversable, prefix: str = "") -> list[tuple[str, bytes]]:
    """The paths of a folder's files, relative to it, and what they hold."""
    found: list[tuple[str, bytes]] = []
    for item in sorted(folder.iterdir(), key=lambda each: each.name):
        path = prefix + item.name
        found += files_below(item, f"{path}/") if item.is_dir() else [(path, item.read_bytes())]
    return found
