"""The node whose directory is shown, as it says itself while it runs: `OwnNode`.

Page: docs/pages.md. Invariants: however many ask for the page, the node is asked once in KEPT_S, by one thread, and the
pages' file is not held open meanwhile. No address leaves this module.
"""

import threading
import time
from typing import Final

from node.control import ControlError, ask_status
from node.disk.home import Home
from node.peering.transport import TransportError, address_key
from node.status import LinkState
from node.web.model.source import reading_source
from node.web.queries.network import COORDINATOR, VERIFIER, LinkLine, ThisNode

KEPT_S: Final = 5.0
WITHIN_S: Final = 2.0


class OwnNode:
    """The node in `home`, with its key."""

    def __init__(self, home: Home, key: bytes, version: str) -> None:
        self._home = home
        ticket = home.load_ticket()
        self._run = ticket.run
        self._coordinators = frozenset(filter(None, map(_key_of, ticket.addresses)))
        self._key = key
        self._version = version
        self._lock = threading.Lock()
        self._known: ThisNode | None = None
        self._asked_s = 0.0

    def get(self) -> ThisNode:
        """What it said in the last KEPT_S; raises StoreError or sqlite3.Error."""
        with self._lock:
            if self._known is None or time.monotonic() - self._asked_s > KEPT_S:
                self._known = self._ask()
                self._asked_s = time.monotonic()
            return self._known

    def _ask(self) -> ThisNode:
        with reading_source(self._home.database, self._run) as source:
            known, last_unix_s = source.known_peers()
        try:
            status = ask_status(self._home.control, WITHIN_S)
        except ControlError:
            return ThisNode(self._key, "", self._version, None, None, known, last_unix_s)
        return ThisNode(
            key=self._key,
            role=status.role,
            version=self._version,
            log_size=status.log_size,
            links=tuple(self._link(link, status.log_size) for link in status.links),
            known_nodes=known,
            last_seen_unix_s=last_unix_s,
        )

    def _link(self, link: LinkState, size: int) -> LinkLine:
        return LinkLine(
            role=COORDINATOR if link.peer in self._coordinators else VERIFIER if link.witness else "",
            key=link.peer,
            speaks_for=link.witness or b"",
            name="",
            build="",
            direction=link.direction,
            since_unix_s=link.since_unix_s,
            log_size=link.log_size,
            log_unix_s=link.log_unix_s,
            lag=None if link.log_size is None else max(0, size - link.log_size),
        )


def _key_of(address: str) -> bytes | None:
    try:
        return address_key(address)
    except TransportError:
        return None
