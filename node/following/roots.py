"""The newest root of a run that this node knows by its signatures, which may be ahead of its copy of the log.

Spec: docs/spec/root.md ("Semantics"), docs/spec/swarm.md ("Roots"). Invariants: versions follow each other, each signed by
the old and the new threshold; what was learned once is not forgotten. It says which coordinator keys count for heads, so
that a node follows a coordinator whose key was replaced, and no thief of the old one; all else is judged by the log.
"""

from collections.abc import Iterable
from typing import Final

from node.disk.store import Store
from node.following.service import MAX_ROOTS, Replica, store_ahead, stored_ahead
from protocol.errors import ProtocolError
from protocol.root import COORDINATOR, Root
from verification.faults import LogFault
from verification.roles import verify_next_root

LOGGED_WITHIN: Final = 100
"""So many entries after a witness first learned of a root version the log has to hold it, or it cosigns nothing more."""

_MOST_KEPT: Final = 2 * MAX_ROOTS


class KnownRoots:
    """The root versions that are not in `replica`'s log yet, kept in `store`."""

    def __init__(self, replica: Replica, store: Store) -> None:
        self._replica = replica
        self._store = store
        self._ahead: list[tuple[Root, bytes]] = []
        self._since: dict[int, int] = {}
        if replica.size >= 2:
            stored = stored_ahead(store)
            self._take(stored)
            for root, data in self._ahead:
                self._since[root.version] = min(stored[data], self._since[root.version])

    @property
    def newest(self) -> Root:
        """The newest version known; the log has begun."""
        logged = self._replica.root
        return self._ahead[-1][0] if self._ahead and self._ahead[-1][0].version > logged.version else logged

    @property
    def overdue(self) -> int | None:
        """The newest version that the log should hold by now and does not; None when there is none."""
        logged, size = self._replica.root.version, self._replica.size
        late = [version for version, since in self._since.items() if size > since + LOGGED_WITHIN]
        return max((version for version in late if version > logged), default=None)

    def learn(self, roots: Iterable[bytes]) -> bool:
        """Takes envelopes of root versions, oldest first, as far as they follow the newest one known; whether one did."""
        if not self._take(roots):
            return False
        waiting = [(root.version, data) for root, data in self._ahead if root.version > self._replica.root.version]
        store_ahead(self._store, {data: self._since[version] for version, data in waiting[:_MOST_KEPT]})
        return True

    def _take(self, roots: Iterable[bytes]) -> bool:
        before = self.newest.version
        for data in roots:
            try:
                root = verify_next_root(data, self.newest, self._replica.run)
            except (LogFault, ProtocolError):
                continue
            self._ahead.append((root, data))
            self._since.setdefault(root.version, self._replica.size)
        return self.newest.version > before

    def coordinators(self, size: int) -> list[bytes]:
        """The coordinator keys that may sign a head of `size` entries."""
        last = max(size, 1) - 1
        return [role.key for role in self.newest.roles if role.role == COORDINATOR and role.is_valid_at(last)]
