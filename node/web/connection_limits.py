"""How many connections there may be at once, in all and of one address: `ConnectionLimits`.

Page: docs/pages.md. Invariant: a connection counts until its block has ended, however that ends. For one trio loop.
"""

from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Final

from node.web.guard import bucket_of

MOST: Final = 256
MOST_AN_ADDRESS: Final = 64
"""A browser has six; several people may have one address."""


class TooManyConnections(Exception):
    """One sentence about a connection too many."""


class ConnectionLimits:
    """`most` connections, of one address `most_an_address`; those of `proxies` count only among all."""

    def __init__(self, most: int = MOST, most_an_address: int = MOST_AN_ADDRESS, proxies: Collection[str] = ()) -> None:
        self._most = most
        self._most_an_address = most_an_address
        self._proxies = frozenset(map(bucket_of, proxies))
        self._open: Counter[str] = Counter()

    @contextmanager
    def connection(self, address: str) -> Iterator[None]:
        """Counts a connection from an address while the block runs; raises TooManyConnections."""
        bucket = bucket_of(address)
        if self._open.total() >= self._most:
            raise TooManyConnections("This server has as many connections as it takes; come again in a few seconds.")
        if bucket not in self._proxies and self._open[bucket] >= self._most_an_address:
            raise TooManyConnections(
                "Your address has as many connections here as one may have; come again when some have ended."
            )
        self._open[bucket] += 1
        try:
            yield
        finally:
            self._open[bucket] -= 1
            if not self._open[bucket]:
                del self._open[bucket]
