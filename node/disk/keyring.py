"""Secret keys on disk: made once, mode 0600, refused when others can read them.

Spec of the bytes: `docs/spec/keyfile.md`. Invariants: an existing key is never overwritten, but by itself under another
passphrase; a key that is there is whole.
"""

import os
import stat
from pathlib import Path

from node.disk.files import naming, sync
from node.disk.passphrase import PASSPHRASE_VARIABLE, PassphraseError, known_passphrase, new_passphrase
from protocol.ed25519 import SecretKey
from protocol.errors import ProtocolError
from protocol.keyfile import MAX_BYTES, encode_key, is_encrypted, parse_key, parse_public

__all__ = [
    "PASSPHRASE_VARIABLE",
    "KeyringError",
    "change_passphrase",
    "create_key",
    "is_under_passphrase",
    "load_key",
    "load_or_create_key",
    "load_public",
]


class KeyringError(ValueError):
    """One sentence about a key file that cannot be used."""


def create_key(path: Path, secret: SecretKey | None = None, *, asks: bool = False) -> SecretKey:
    """Writes a new key (or `secret`) to `path`, which must not exist; under the environment's passphrase, if set.

    With `asks` somebody at a terminal is asked for one. Raises KeyringError.
    """
    if path.exists():
        raise KeyringError(f"{path}: a key is there already and is never overwritten.")
    secret = secret or SecretKey.generate()
    try:
        passphrase = new_passphrase(path) if asks else os.environ.get(PASSPHRASE_VARIABLE) or None
        temporary = _write(path, encode_key(secret, passphrase))
    except (PassphraseError, ProtocolError) as error:
        raise KeyringError(f"{path}: {error}") from None
    try:
        os.link(temporary, path)  # unlike a rename, this never replaces
    except FileExistsError:
        raise KeyringError(f"{path}: a key is there already and is never overwritten.") from None
    finally:
        temporary.unlink(missing_ok=True)
    sync(path.parent)
    return secret


def change_passphrase(path: Path, variable: str) -> bool:
    """Writes the key at `path` anew under another passphrase, or none: that of the environment's `variable`, or asked for.

    Returns whether it is under one now; raises KeyringError.
    """
    secret = load_key(path)
    try:
        passphrase = new_passphrase(path, variable)
        data = encode_key(secret, passphrase)
        if parse_key(data, passphrase) != secret:
            raise KeyringError(f"{path}: the key could not be read back; it is as it was.")
        temporary = _write(path, data)
    except (PassphraseError, ProtocolError) as error:
        raise KeyringError(f"{path}: {error}") from None
    temporary.replace(path)
    sync(path.parent)
    return passphrase is not None


def load_key(path: Path) -> SecretKey:
    """The key at `path`; raises KeyringError when it is missing, damaged, or open to others.

    One under a passphrase is opened with the environment's; where that is not set, somebody at a terminal is asked.
    """
    data = _read(path)
    try:
        return parse_key(data, known_passphrase(path) if is_encrypted(data) else None)
    except ProtocolError as error:
        raise KeyringError(f"{path}: {error}") from None


def is_under_passphrase(path: Path) -> bool:
    """Whether the key at `path` needs a passphrase; raises KeyringError."""
    return is_encrypted(_read(path))


def load_public(path: Path) -> bytes:
    """The public key of the key file at `path`, for which no passphrase is needed; raises KeyringError."""
    try:
        return parse_public(path.read_bytes())
    except OSError as error:
        raise KeyringError(f"{path}: the key cannot be read ({error.strerror}).") from None
    except ProtocolError as error:
        raise KeyringError(f"{path}: {error}") from None


def load_or_create_key(path: Path) -> SecretKey:
    """The key at `path`, made now when there is none."""
    return load_key(path) if path.exists() else create_key(path)


def _read(path: Path) -> bytes:
    """The bytes of a key file that nobody else can read; raises KeyringError."""
    try:
        mode = path.stat().st_mode
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise KeyringError(f"{path}: the key cannot be read ({error.strerror}).") from None
    if stat.S_IMODE(mode) & 0o077:
        raise KeyringError(f"{path}: others can read this key; run: chmod 600 {path}")
    return data


def _write(path: Path, data: bytes) -> Path:
    """Writes a key's bytes, on the disk, to a file beside `path` that nobody else can read; which one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.new")
    temporary.unlink(missing_ok=True)
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with naming(path), os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return temporary
