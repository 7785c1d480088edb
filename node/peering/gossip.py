"""Hints between peers: new heads of the log. Nothing depends on their arrival.

Spec: docs/spec/wire.md ("Gossip"). The topic is `gonode/<16 hex digits of the run>/heads`, its publications are signed
notes. What goes out is paced and repeated; what comes in is limited in size and, for each sender, in rate, and taken once.
What is no head is not passed on. Who has which blobs is told likewise: `node.blobs.have_lists`.
"""

import hashlib
import logging
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

import trio

from node.peering.pace import Pace
from node.peering.transport import Transport, TransportError
from protocol.checkpoint import Checkpoint, SignedNote
from protocol.errors import ProtocolError

log = logging.getLogger("gonode.net")

MAX_HEAD_BYTES: Final = 8 << 10
REPEAT_S: Final = 15.0
GAP_S: Final = 0.1
OF_PUBLISHER: Final = (5.0, 20.0)
"""How many publications of one publisher are taken: a second, and at once."""

_SEEN: Final = 4096


class Seen:
    """The data of publications that were taken lately."""

    def __init__(self) -> None:
        self._digests: OrderedDict[bytes, None] = OrderedDict()

    def is_new(self, data: bytes) -> bool:
        """Whether data comes for the first time."""
        digest = hashlib.sha256(data).digest()
        if digest in self._digests:
            return False
        self._digests[digest] = None
        if len(self._digests) > _SEEN:
            self._digests.popitem(last=False)
        return True


def is_note(data: bytes) -> bool:
    """Whether data is a note with a checkpoint, whoever signed it."""
    try:
        Checkpoint.parse(SignedNote.parse(data).text)
    except ProtocolError:
        return False
    return True


class Gossip:
    """Publishes this node's newest head, and takes those of others.

    `on_head(note)` is told of each new note for which `is_head(note)` holds: only these are passed on to others, so it is
    to verify who signed it where that is known. Publishers that `is_known` does not name have one pace together: there are
    as many strangers as anybody likes, and old heads that hold.
    """

    def __init__(
        self,
        transport: Transport,
        run: bytes,
        *,
        on_head: Callable[[bytes], None],
        is_head: Callable[[bytes], bool] = is_note,
        is_known: Callable[[bytes], bool] = lambda source: True,
    ) -> None:
        self._transport = transport
        self._on_head = on_head
        self._is_head = is_head
        self._is_known = is_known
        self._topic = topic_of(run, "heads")
        self._outgoing: bytes | None = None
        self._wake = trio.Event()
        self._seen = Seen()
        self._pace = Pace(*OF_PUBLISHER)
        transport.subscribe(self._topic, self._hear, self._accepts)

    def announce_head(self, note: bytes) -> None:
        """Tells peers of a head soon, in the place of any head not told yet."""
        if len(note) <= MAX_HEAD_BYTES:
            self._outgoing = note
            self._wake.set()

    async def run(self) -> None:
        """Publishes what is announced, at most one publication each GAP_S, and again each REPEAT_S; until cancelled."""
        while True:
            with trio.move_on_after(REPEAT_S):
                await self._wake.wait()
            self._wake = trio.Event()
            if self._outgoing is not None:
                try:
                    await self._transport.publish(self._topic, self._outgoing)
                except TransportError as error:
                    log.debug("no head published: %s", error)
            await trio.sleep(GAP_S)

    def _accepts(self, source: bytes, data: bytes) -> bool:
        if source == self._transport.key:
            return True
        return len(data) <= MAX_HEAD_BYTES and self._pace.take(self._payer(source)) and self._is_head(data)

    def _payer(self, source: bytes) -> bytes:
        """Whose pace a publication counts for: strangers have one together."""
        return source if self._is_known(source) else b""

    async def _hear(self, source: bytes, data: bytes) -> None:
        if self._seen.is_new(data):
            self._on_head(data)


def topic_of(run: bytes, name: str) -> str:
    """A topic of a run."""
    return f"gonode/{run.hex()[:16]}/{name}"
