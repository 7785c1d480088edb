"""Checks of a node's directory: whether it can be written, how much room is left, and its secret keys."""

import os
import shutil
import tempfile
from pathlib import Path

from node.disk.home import Home
from node.disk.keyring import KeyringError, is_under_passphrase
from node.disk.passphrase import PASSPHRASE_VARIABLE
from node.doctor.finding import Finding, ok, warning, wrong
from protocol.errors import ProtocolError
from protocol.keyfile import parse_key

LEAST_FREE = 100 << 20
ENOUGH_FREE = 2 << 30
"""Bytes: with fewer than the first nothing can be kept for long, with fewer than the second only so many networks."""


def check_folder(home: Home) -> list[Finding]:
    """The directory, the room on its disk, and each key in it."""
    folder = _check_directory(home.directory)
    place = next(path for path in (home.directory.absolute(), *home.directory.absolute().parents) if path.is_dir())
    keys = home.directory / "keys"
    files = sorted(file for file in keys.glob("[!.]*") if file.is_file()) if keys.is_dir() else []
    found = [check_key(file) for file in files] or [ok("key", "None is here yet; it is made at the first start.")]
    return [folder, check_room(shutil.disk_usage(place).free), *found]


def _check_directory(directory: Path) -> Finding:
    if not directory.exists():
        return ok("directory", f"{directory} is not there yet; it is made at the first start.")
    try:
        with tempfile.TemporaryFile(dir=directory):
            pass
    except OSError as error:
        return wrong(
            "directory",
            f"{directory} cannot be written ({error.strerror}).",
            f"Let this account write there (chown -R {_account()} {directory}), or name another directory: --dir DIR.",
        )
    return ok("directory", f"{directory} can be written.")


def _account() -> str:
    return os.environ.get("USER") or str(os.getuid())


def check_room(free_bytes: int) -> Finding:
    """Whether so many bytes are enough for networks and batches."""
    detail = f"{free_bytes / (1 << 30):.1f} GiB are free."
    if free_bytes < LEAST_FREE:
        return wrong("room", detail, "Make room on that disk: the node ends when it cannot keep what it did.")
    if free_bytes < ENOUGH_FREE:
        return warning("room", detail, "Make room, or have the node keep less: gonode config set join.disk 500M.")
    return ok("room", detail)


def _import(path: Path) -> str:
    return f"Move it aside, then put a copy in its place: mv {path} {path}.bad; gonode keys import {path} --words"


def check_key(path: Path) -> Finding:
    """Whether a key file is whole, private, and can be opened as the node would open it, without asking."""
    name = f"key {path.name}"
    try:
        if not is_under_passphrase(path):
            parse_key(path.read_bytes(), None)
            return ok(name, "It is private, and under no passphrase.")
    except KeyringError as error:
        mode_is_wrong = path.stat().st_mode & 0o077
        mend = f"Run: chmod 600 {path}" if mode_is_wrong else _import(path)
        return wrong(name, str(error), mend)
    except (ProtocolError, OSError) as error:
        return wrong(name, f"{path}: {error}", _import(path))
    passphrase = os.environ.get(PASSPHRASE_VARIABLE)
    if not passphrase:
        return warning(
            name,
            f"It is under a passphrase, and {PASSPHRASE_VARIABLE} is not set: whoever starts the node is asked.",
            f"For a node that starts by itself, as a service, set {PASSPHRASE_VARIABLE} where it starts.",
        )
    try:
        parse_key(path.read_bytes(), passphrase)
    except (ProtocolError, OSError):
        return wrong(
            name,
            f"The passphrase in {PASSPHRASE_VARIABLE} does not open it.",
            f"Set {PASSPHRASE_VARIABLE} to the passphrase of {path}; when that is lost, make the key anew from its words.",
        )
    return ok(name, f"It is private, under a passphrase, and {PASSPHRASE_VARIABLE} opens it.")
