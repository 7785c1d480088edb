"""Secret keys on disk: made once, mode 0600, refused when others can read them.

Spec of the bytes: `docs/spec/keyfile.md`. Invariants: an existing key is never overwritten; a key that is there is whole.
"""

import os
import stat
from pathlib import Path

from node.disk.files import sync
from protocol.ed25519 import SecretKey
from protocol.errors import ProtocolError
from protocol.keyfile import encode_key, parse_key, parse_public

PASSPHRASE_VARIABLE = "GONODE_PASSPHRASE"


class KeyringError(ValueError):
    """One sentence about a key file that cannot be used."""


def create_key(path: Path, secret: SecretKey | None = None) -> SecretKey:
    """Writes a new key (or `secret`) to `path`, which must not exist; under the environment's passphrase, if set."""
    secret = secret or SecretKey.generate()
    path.parent.mkdir(parents=True, exist_ok=True)
    data = encode_key(secret, os.environ.get(PASSPHRASE_VARIABLE) or None)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.new")
    temporary.unlink(missing_ok=True)
    try:
        with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.link(temporary, path)  # unlike a rename, this never replaces
    except FileExistsError:
        raise KeyringError(f"{path}: a key is there already and is never overwritten.") from None
    finally:
        temporary.unlink(missing_ok=True)
    sync(path.parent)
    return secret


def load_key(path: Path) -> SecretKey:
    """The key at `path`; raises KeyringError when it is missing, damaged, or open to others."""
    try:
        mode = path.stat().st_mode
        data = path.read_bytes()
    except OSError as error:
        raise KeyringError(f"{path}: the key cannot be read ({error.strerror}).") from None
    if stat.S_IMODE(mode) & 0o077:
        raise KeyringError(f"{path}: others can read this key; run: chmod 600 {path}")
    try:
        return parse_key(data, os.environ.get(PASSPHRASE_VARIABLE) or None)
    except ProtocolError as error:
        raise KeyringError(f"{path}: {error}") from None


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
