"""The root versions of a run that this node knows by their signatures, which may be ahead of its copy of the log.

Spec: docs/spec/root.md ("Semantics"), docs/spec/swarm.md ("Roots"). Invariants: versions follow each other, each signed by
the old and the new threshold; what was learned once is not forgotten, unless the log holds another version of that number.
They say which coordinator keys count for heads, so that a node follows a coordinator whose key was replaced, and no thief of
the old one; all else is judged by the log.
"""

from collections.abc import Iterable
from typing import Final

from node.disk.store import Store
from node.following.ahead import store_ahead, stored_ahead
from node.following.chains import RootChains
from node.following.client import LogClient
from node.following.replica import Replica
from node.following.service import MAX_ROOTS
from protocol.root import Root

LOGGED_WITHIN: Final = 100
"""So many entries after a witness first learned of a root version the log has to hold it, or it cosigns nothing more."""

_MOST_KEPT: Final = 2 * MAX_ROOTS


class KnownRoots:
    """The root versions that are not in `replica`'s log yet, kept in `store`."""

    def __init__(self, replica: Replica, store: Store) -> None:
        self._replica = replica
        self._store = store
        self._known: RootChains | None = None
        self._since: dict[int, int] = {}
        if replica.size >= 2:
            stored = stored_ahead(store)
            self._chains.learn(stored)
            for root, data in self._chains.later:
                self._since[root.version] = min(stored[data], self._since.get(root.version, stored[data]))

    @property
    def tips(self) -> tuple[Root, ...]:
        """The newest versions known: one, unless there are several of a number; the log has begun."""
        return self._chains.tips

    @property
    def overdue(self) -> int | None:
        """The newest version that the log should hold by now and does not; None when there is none."""
        size = self._replica.size
        late = (root.version for root, _ in self._chains.later if size > self._since[root.version] + LOGGED_WITHIN)
        return max(late, default=None)

    def learn(self, roots: Iterable[bytes]) -> bool:
        """Takes envelopes of root versions, oldest first, as far as each follows a known one; whether one did."""
        if not self._chains.learn(roots):
            return False
        later = self._chains.later
        for root, _ in later:
            self._since.setdefault(root.version, self._replica.size)
        store_ahead(self._store, {data: self._since[root.version] for root, data in later[:_MOST_KEPT]})
        return True

    async def ask(self, client: LogClient, peer: bytes) -> bool:
        """Learns what a peer tells; whether that is news. Raises CallRefused, TransportError or ParseError."""
        return await ask_for_roots(client, peer, self)

    @property
    def base(self) -> Root:
        """The version that the log holds: others of its number, and what follows these alone, count no more."""
        return self._chains.base

    def reached(self, roots: Iterable[bytes]) -> int:
        """The highest number of a version that is known among these envelopes, or 0."""
        return self._chains.reached(roots)

    def coordinators(self, size: int) -> list[bytes]:
        """The coordinator keys that may sign a head of `size` entries."""
        return self._chains.coordinators(size)

    def undisputed(self, size: int) -> list[bytes]:
        """Those of them whose heads are evidence of a fork: no version that may be the newest one has ended them."""
        return self._chains.undisputed(size)

    @property
    def _chains(self) -> RootChains:
        logged = self._replica.roots.newest
        if self._known is None or self._known.base != logged:
            kept = [] if self._known is None else [data for _, data in self._known.later]
            self._known = RootChains(logged, self._replica.run)
            self._known.learn(kept)
            versions = {root.version for root, _ in self._known.later}
            self._since = {version: since for version, since in self._since.items() if version in versions}
        return self._known


async def ask_for_roots(client: LogClient, peer: bytes, known: KnownRoots | RootChains) -> bool:
    """Has `known` learn the versions after its base that a peer has; whether one was news.

    From the base on, and not from the newest known: that one may be another than the log's. Raises CallRefused,
    TransportError or ParseError.
    """
    version, is_news = known.base.version, False
    while True:
        roots = await client.roots(peer, version)
        is_news = known.learn(roots) or is_news
        reached = known.reached(roots)
        if reached <= version:
            return is_news
        version = reached
