"""A verifiable copy of a run, made from its peers: the log up to its newest cosigned head, and every blob that it names.

Spec: `docs/spec/layout.md`. The copy believes no peer: entries hang on the coordinator's signature and the witnesses',
blobs on their digests.
"""

import logging
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

import trio

from node.audits.folder_audit import audit_home
from node.disk.home import Home, read_ticket
from node.disk.keyring import load_or_create_key
from node.disk.publisher import Publisher
from node.disk.store import Head
from node.events import silent
from node.launch import open_member
from node.member import Member
from node.peering.transport import TransportError, Unreachable
from protocol.checkpoint import SignedNote
from verification.audit.audit import AuditOptions, AuditReport, Check
from verification.audit.files import known_blobs

FIND_WITHIN_S = 30
ASK_AGAIN_S = 0.5
BLOB_WITHIN_S = 120
MAX_BLOB_BYTES = 1 << 26
AT_ONCE = 4

log = logging.getLogger("gonode")


def audit_run(ticket: str, options: AuditOptions, report: Callable[[Check], None] | None) -> AuditReport:
    """Copies the run of a ticket to a temporary folder and audits it there."""
    with tempfile.TemporaryDirectory(prefix="gonode-audit-") as folder:
        home = Home(Path(folder))
        trio.run(mirror_run, ticket, home)
        return audit_home(home, options, report, is_copy=True)


async def mirror_run(ticket: str, home: Home) -> None:
    """Makes `home`'s public folder a copy of the run as its newest cosigned head shows it; raises Unreachable."""
    from node.peering.libp2p.opening import open_libp2p

    parsed = read_ticket(ticket)
    home.store_ticket(parsed)
    secret = load_or_create_key(home.key("host"))
    with trio.move_on_after(FIND_WITHIN_S) as looking:
        async with open_member(home, parsed, secret, open_libp2p, silent, ["/ip4/127.0.0.1/tcp/0"]) as member:
            head = await _cosigned(member)
            looking.deadline = float("inf")
            await _copy(member, SignedNote.parse(head.note))
    if looking.cancelled_caught:
        raise Unreachable(f"No peer of this run showed a cosigned log within {FIND_WITHIN_S} s.")


async def _cosigned(member: Member) -> Head:
    """The newest cosigned head; a run whose verifiers are away has newer ones that nobody cosigned."""
    assert member.follower is not None
    while (head := await member.follower.cosigned()) is None:
        await member.change_within(ASK_AGAIN_S)
    return head


async def _copy(member: Member, note: SignedNote) -> None:
    """Copies blobs, then shows the head; raises Unreachable when the run's coordinator went away in between.

    What it does not have while it is there is nowhere: train states are not shown, lost batches never came, and the audit
    asks for what it needs.
    """
    was_here = bool(member.reach.coordinators())
    missing = known_blobs(member.state)
    for _ in range(2):  # it may have been away for a moment
        missing = await _fetch_all(member, missing)
    if missing and (not member.reach.peers() or (was_here and not member.reach.coordinators())):
        raise Unreachable(f"The run's peers went away while it was copied; {len(missing)} of its files are missing.")
    Publisher(member.state, member.store, member.home.public).publish(note)


async def _fetch_all(member: Member, digests: Iterable[bytes]) -> set[bytes]:
    """Fetches blobs, a few at once; those that did not come."""
    slots = trio.Semaphore(AT_ONCE)
    missing: set[bytes] = set()

    async def fetch(digest: bytes) -> None:
        async with slots:
            try:
                await member.blobs.fetch(digest, member.reach.peers, MAX_BLOB_BYTES, BLOB_WITHIN_S)
            except TransportError as error:
                log.debug("not copied: %s", error)
                missing.add(digest)

    async with trio.open_nursery() as nursery:
        for digest in sorted(digests):
            nursery.start_soon(fetch, digest)
    return missing
