"""A log's state as far as following, serving and showing it need it: `Replica`.

`verification.state.LogState` is one.
"""

from typing import Protocol

from protocol.entries import Entry
from protocol.merkle import Tree
from verification.root_versions import RootVersions


class Replica(Protocol):
    """What the entries of a log that were applied so far make."""

    @property
    def run(self) -> bytes:
        """The run id."""

    @property
    def size(self) -> int:
        """The number of entries applied."""

    @property
    def tree(self) -> Tree:
        """The tree over them."""

    @property
    def roots(self) -> RootVersions:
        """The root versions among them."""

    def apply(self, entry: bytes, *, is_verified: bool = False) -> Entry:
        """Applies the next entry, whose signatures may be known to hold; raises LogFault or ProtocolError without change."""
