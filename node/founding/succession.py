"""Which key a coordinator's directory signs with, and how the next one takes its place.

```
DIR/keys/coordinator              the present key
DIR/keys/coordinator.next         the key that the next root version names, until that is logged
DIR/keys/coordinator-1a2b3c4d     a key that was replaced, by the first digits of its public key
```
Invariants: no key is ever overwritten or deleted; after a kill at any moment the next start goes on.
"""

import os

from node.disk.files import sync
from node.disk.home import Home
from node.disk.keyring import load_key, load_or_create_key, load_public
from node.founding.errors import FoundingError
from protocol.ed25519 import SecretKey
from protocol.root import COORDINATOR, Root

NEXT = "coordinator.next"


def prepare_key(home: Home) -> bytes:
    """Makes the coordinator's next key in the directory, unless it is there, and gives its public key."""
    path = home.key(NEXT)
    return load_public(path) if path.exists() else load_or_create_key(path).public


def present_key(home: Home, root: Root, size: int) -> SecretKey:
    """The key in the directory that `root` names as coordinator for entry `size`; the next key takes its place if it is.

    Raises FoundingError when neither is named, KeyringError when a key cannot be used.
    """
    path, following = home.key("coordinator"), home.key(NEXT)
    if following.exists() and _is_named(root, load_public(following), size):
        secret = load_key(following)  # opened before anything moves
        if path.exists():
            old = home.key(f"coordinator-{load_public(path).hex()[:8]}")
            if not old.exists():
                os.link(path, old)
                sync(old.parent)
        following.replace(path)
        sync(path.parent)
        return secret
    secret = load_key(path)
    if not _is_named(root, secret.public, size):
        raise FoundingError(
            f"{path}: this key is not the run's coordinator any more: root version {root.version} has replaced, revoked or "
            "outlived it. The key that it names belongs into its place, or a new one has to be named: gonode root rotate "
            "DIR --coordinator new."
        )
    return secret


def _is_named(root: Root, key: bytes, size: int) -> bool:
    role = root.find(key)
    return role is not None and role.role == COORDINATOR and role.is_valid_at(size)
