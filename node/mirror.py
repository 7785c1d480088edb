"""A verifiable copy of a run, made from its peers and kept up to date: the log up to its newest cosigned head, and blobs.

Spec: `docs/spec/layout.md`, `docs/spec/audit.md` ("Copies"). The copy believes no peer: entries hang on the coordinator's
signature and the witnesses', blobs on their digests. A head is shown once what it names was asked for, so a reader finds
beside it what anybody has; what nobody has is asked for again, later each time.
"""

import logging
from typing import Final

import trio

from node.audits.copies import COPY, MAX_BLOB, require_plain_copy
from node.audits.errors import AuditInputError
from node.disk.home import Home
from node.disk.publisher import Publisher
from node.disk.store import Head
from node.member import Member
from node.own_status import queue_of
from node.peering.transport import TransportError, Unreachable
from node.role_status import Mirroring
from node.status import Queue
from protocol.checkpoint import SignedNote
from protocol.layout import CHECKPOINT
from verification.audit.files import kept_blobs
from verification.audit.folder import Progress, Tell
from verification.training import kept_states

FIND_WITHIN_S: Final = 30.0
"""How long a copy made once looks for a peer with a cosigned head."""

ASK_AGAIN_S: Final = 0.5
BLOB_WITHIN_S: Final = 600.0
AT_ONCE: Final = 8
LOOK_S: Final = 2.0
"""The least time between two heads that are shown, which also lets their blobs arrive where they are asked for."""

AGAIN_S: Final = 20.0
"""The first wait, give or take a quarter, before a blob that nobody had is asked for again; it doubles."""

MOST_AGAIN_S: Final = 3600.0
TELL_EVERY_S: Final = 10.0
log = logging.getLogger("gonode")


class Mirror:
    """The role of `gonode mirror`: keeps a member's public folder a copy of the run; `tell` hears how far it is."""

    DRAINING = "Ending; what is copied stays."

    def __init__(self, member: Member, tell: Tell | None = None) -> None:
        self.copied = 0
        """Blobs that came."""
        self.size = 0
        """Entries of the head that is shown."""
        self._member = member
        self._tell = tell
        self._publisher = Publisher(member.state, member.store, member.home.public)
        if (member.home.public / CHECKPOINT).is_file():  # a head is not shown before what it names was asked for
            self._publisher.mend()
        self._here: set[bytes] = set()
        self._absent: dict[bytes, tuple[float, float]] = {}
        self._left = 0
        self._since_s: float | None = None
        self._told_s = trio.current_time()
        self._scope = trio.CancelScope()

    @property
    def queues(self) -> list[Queue]:
        """The blobs that are being fetched, and those that no peer had."""
        waiting = "a peer with the blob" if self._left + len(self._absent) else None
        return [queue_of(self._member, "blob", self._left + len(self._absent), waiting, self._since_s)]

    def status(self) -> Mirroring:
        """What `gonode status` adds of a mirror."""
        return Mirroring(self.copied, self.size, len(self._absent))

    async def run(self) -> None:
        """Copies each new head until drained."""
        with self._scope:
            await self._member.services.keep("mirror", self._follow)

    def drain(self) -> None:
        """Ends the role; every file is whole."""
        self._scope.cancel()

    async def take_once(self) -> None:
        """Copies what the newest cosigned head names, and shows it; raises Unreachable when the run's peers went away
        meanwhile, or none showed such a head."""
        member = self._member
        assert member.follower is not None
        head: Head | None = None
        with trio.move_on_after(FIND_WITHIN_S):
            while (head := await member.follower.cosigned()) is None:
                await member.change_within(ASK_AGAIN_S)
        if head is None:
            raise Unreachable(f"No peer of this run showed a cosigned log within {FIND_WITHIN_S:g} s.")
        was_here = bool(member.reach.coordinators())
        await self._fetch_all()
        await self._fetch_all(again=True)  # a peer may have been away for a moment
        if self._absent and (not member.reach.peers() or (was_here and not member.reach.coordinators())):
            raise Unreachable(
                f"The run's peers went away while it was copied; {len(self._absent)} of its files are missing."
            )
        self._show(head)

    async def _follow(self) -> None:
        member = self._member
        await member.until_size(2)
        while True:
            began = trio.current_time()
            head = self._newest()
            await self._fetch_all()
            if head is not None and head.size > self.size:
                self._show(head)
            await trio.sleep_until(began + LOOK_S)
            await member.change_within(AGAIN_S)

    def _newest(self) -> Head | None:
        """The newest head that enough witnesses cosigned, of those whose entries are here."""
        size = self._member.cosigned_size
        return next(iter(self._member.store.heads(size, 1)), None) if size else None

    def _show(self, head: Head) -> None:
        self._publisher.publish(SignedNote.parse(head.note))
        self.size = head.size
        absent = f"; {len(self._absent)} that nobody has now" if self._absent else ""
        self._member.events(
            "copied",
            f"Copied up to entry {head.size}, with {len(self._here)} blobs{absent}.",
            size=head.size,
            blobs=len(self._here),
            missing=len(self._absent),
        )

    async def _fetch_all(self, again: bool = False) -> None:
        """Fetches, a few at once, what the log names and is not here: what is new, and what is due or `again` asked for."""
        now = trio.current_time()
        kept = kept_blobs(self._member.state)
        for digest in [digest for digest in self._absent if digest not in kept]:
            del self._absent[digest]
        wanted = [
            digest
            for digest in sorted(kept - self._here)
            if again or digest not in self._absent or self._absent[digest][0] <= now
        ]
        states = kept_states(self._member.state)
        self._left = len(wanted)
        if wanted and self._since_s is None:
            self._since_s = now
        waiting = iter(wanted)

        async def fetch_some() -> None:
            for digest in waiting:
                await self._fetch(digest, max(MAX_BLOB, states.get(digest, 0)))
                self._left -= 1
                self._told(len(wanted) - self._left, len(wanted))

        async with trio.open_nursery() as nursery:
            for _ in range(min(AT_ONCE, len(wanted))):
                nursery.start_soon(fetch_some)
        if not self._absent:
            self._since_s = None

    def _told(self, done: int, total: int) -> None:
        """Says how far a copying is: always to `tell`, now and then as an event."""
        if self._tell is not None:
            self._tell(Progress(COPY, "blobs", done, total))
        now = trio.current_time()
        if now - self._told_s >= TELL_EVERY_S:
            self._told_s = now
            self._member.events(
                "copying", f"Asked for {done} of {total} blobs; {self.copied} came.", done=done, total=total
            )

    async def _fetch(self, digest: bytes, most_bytes: int) -> None:
        """Has a blob here, hashed, or notes when to ask for it again."""
        member = self._member
        is_new = not member.blob_store.has(digest)
        try:
            await member.blobs.fetch(digest, member.reach.peers, most_bytes, BLOB_WITHIN_S)
        except TransportError as error:
            log.debug("not copied: %s", error)
            wait_s = min(MOST_AGAIN_S, 2 * self._absent[digest][1]) if digest in self._absent else AGAIN_S
            self._absent[digest] = (trio.current_time() + member.jitter(wait_s), wait_s)
            return
        self._absent.pop(digest, None)
        self._here.add(digest)
        self.copied += is_new


def check_home(home: Home) -> None:
    """Raises AuditInputError for a directory whose node publishes, or signs, itself, or that has links in its copy."""
    for role in ("coordinator", "verifier", "root"):
        if home.key(role).exists():
            raise AuditInputError(f"{home.directory}: a {role}'s key lies here; use another directory for a copy.")
    require_plain_copy(home)
