"""The newest head in a store that enough witnesses cosigned: the one that a node shows, proves by and goes on from.

Spec: `docs/spec/log.md` ("Semantics"). What makes a head such a one is `verification.witness`'s rule.
"""

from typing import Final, Protocol

from node.disk.store import Head, Store
from protocol.checkpoint import SignedNote
from protocol.errors import ProtocolError
from protocol.merkle import Tree
from verification.root_versions import RootVersions
from verification.witness import WITNESS_PREFIX, is_cosigned

MOST_HEADS: Final = 1000
"""So many heads with any cosignature are looked at."""


class Log(Protocol):
    """The log whose heads the store holds."""

    @property
    def run(self) -> bytes:
        """The run id."""

    @property
    def size(self) -> int:
        """The number of entries."""

    @property
    def tree(self) -> Tree:
        """The tree over them."""

    @property
    def roots(self) -> RootVersions:
        """The root versions among them."""


def newest_cosigned(
    store: Store, log: Log, *, least: int = 0, most_heads: int = MOST_HEADS, is_verified: bool = False
) -> Head | None:
    """The largest stored head of `log`, of at least `least` entries, that enough witnesses cosigned; None without one.

    `is_verified`: the lines of stored heads are known to hold.
    """
    for head in store.heads_with(WITNESS_PREFIX.encode(), most_heads, log.size):
        if head.size < least:
            return None
        if is_cosigned_head(head, log, is_verified=is_verified):
            return head
    return None


def is_cosigned_head(head: Head, log: Log, *, is_verified: bool = False) -> bool:
    """Whether a head that `log` reaches is one of it, and enough witnesses cosigned it."""
    if log.tree.root(head.size) != head.root:
        return False
    try:
        note = SignedNote.parse(head.note)
    except ProtocolError:
        return False
    return is_cosigned(note, log.run, log.roots, is_verified=is_verified)
