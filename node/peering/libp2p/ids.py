"""Peer ids as py-libp2p has them, from and to the keys that this node goes by."""

from functools import lru_cache
from typing import Any, Final

from node.peering.transport import id_bytes, id_key

_KEPT: Final = 1024


@lru_cache(_KEPT)
def id_of(key: bytes) -> Any:
    """The libp2p ID of an Ed25519 key."""
    from libp2p.peer.id import ID

    return ID(id_bytes(key))


def key_of(peer: Any) -> bytes | None:
    """The Ed25519 key in a libp2p ID; None for one of another kind of key, which is no peer of this network."""
    return id_key(peer.to_bytes())
