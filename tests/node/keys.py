"""Keys by number for the tests of the node."""

import hashlib

from protocol.ed25519 import SecretKey


def secret(number: int) -> SecretKey:
    """The test key with this number."""
    return SecretKey(hashlib.sha256(b"test key %d" % number).digest())
