"""How many connections there are at once, in all and of one address: `Seats`.

Page: docs/pages.md. Invariant: a seat is free again once its block has ended, however that ends. For one trio loop.
"""

from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Final

from node.web.guard import bucket_of

MOST: Final = 256
MOST_AN_ADDRESS: Final = 64
"""A browser has six; several people may have one address."""


class NoSeat(Exception):
    """One sentence about a connection too many."""


class Seats:
    """Seats for `most` connections, of one address for `most_an_address`, but of `proxies` for as many as there are."""

    def __init__(self, most: int = MOST, most_an_address: int = MOST_AN_ADDRESS, proxies: Collection[str] = ()) -> None:
        self._most = most
        self._most_an_address = most_an_address
        self._proxies = frozenset(map(bucket_of, proxies))
        self._taken: Counter[str] = Counter()

    @contextmanager
    def seat(self, address: str) -> Iterator[None]:
        """A seat for a connection from an address while the block runs; raises NoSeat."""
        who = bucket_of(address)
        if self._taken.total() >= self._most:
            raise NoSeat("This server has as many connections as it takes; come again in a few seconds.")
        if who not in self._proxies and self._taken[who] >= self._most_an_address:
            raise NoSeat("Your address has as many connections here as one may have; come again when some have ended.")
        self._taken[who] += 1
        try:
            yield
        finally:
            self._taken[who] -= 1
            if not self._taken[who]:
                del self._taken[who]
