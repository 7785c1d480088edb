"""Where a node keeps the root versions that it learned before its log had them.

Spec: docs/spec/swarm.md ("Roots"). What they say of the coordinator is `node.following.roots`'s matter.
"""

from collections.abc import Mapping
from typing import Final

from node.disk.store import Store
from node.peering.transport import MAX_FRAME
from protocol import codec

AHEAD_KEY: Final = "roots-ahead"


def stored_ahead(store: Store) -> dict[bytes, int]:
    """The envelopes of root versions that were ahead of the log when this node learned them, and its log's size then."""
    found = codec.decode(store.get(AHEAD_KEY) or codec.encode([]), MAX_FRAME)
    ahead: dict[bytes, int] = {}
    for item in found if isinstance(found, list) else ():
        match item:
            case {"root": bytes(root), "since": int(since)}:
                ahead[root] = since
    return ahead


def store_ahead(store: Store, ahead: Mapping[bytes, int]) -> None:
    """Keeps what `stored_ahead` gives, in this order."""
    store.put(AHEAD_KEY, codec.encode([{"root": root, "since": since} for root, since in ahead.items()]))
