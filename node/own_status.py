"""What this node says of itself, looked up where each thing is kept: `status_of`, `queue_of`.

Spec: `docs/commands.md` ("gonode status"). Ages are measured on trio's clock and shown by the wall clock as it is now, so a
clock that was set tells no lie about how long something waits.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from node.member import Member
from node.outbox import KINDS, Outbox
from node.role_status import Contributing, Work
from node.status import IN, OUT, BanState, Fetching, LinkState, Queue, Status

NOBODY: Final[Mapping[bytes, bytes]] = MappingProxyType({})


def status_of(
    member: Member,
    key: bytes,
    outbox: Outbox | None,
    queues: Sequence[Queue],
    work: Work,
    witnesses: Mapping[bytes, bytes] = NOBODY,
) -> Status:
    """The node's status, without its engine; `queues` besides the outbox's and `work` are the role's own.

    `witnesses`: by its peer each verifier that this node knows to be there.
    """
    state, backoff = member.state, member.reach.backoff
    has_log, newest = state.size >= 2, member.newest_head()
    tally = state.batches.tally(key) if isinstance(work, Contributing) else state.batches.total()
    return Status(
        version=member.build,
        key=key,
        run=state.run,
        run_name=state.manifest.name if has_log else None,
        release=state.release.name if has_log else None,
        release_id=state.release.id if has_log else None,
        log_size=state.size,
        newest_size=None if newest is None else newest.size,
        peers=len(member.transport.peers()),
        links=links_of(member, witnesses),
        relays=tuple(sorted(member.transport.relays())),
        services=member.services.status(),
        fetching=tuple(Fetching(digest, held, total) for digest, held, total in member.blobs.progress()),
        bans=_bans_of(member),
        contained=sum(member.transport.faults().values()),
        next_try_in_s=round(backoff.next_try_in_s, 1) if backoff.failures else None,
        queues=(*_outbox_queues(member, outbox), *queues),
        games=tally.games,
        plies=tally.plies,
        batches=tally.batches,
        verified=tally.verified,
        pending=tally.pending,
        rejected=tally.rejected,
        credit_plies=tally.credit_plies,
        credit_visits=tally.credit_visits,
        work=work,
    )


def queue_of(member: Member, name: str, length: int, waiting_for: str | None, since_s: float | None) -> Queue:
    """One queue; `since_s` is on trio's clock, and counts only where something is waited for."""
    return Queue(name, length, waiting_for or None, member.unix_s(since_s) if waiting_for else None)


def links_of(member: Member, witnesses: Mapping[bytes, bytes] = NOBODY) -> tuple[LinkState, ...]:
    """The connections: who dialed, since when, what is awaited longest from that peer, and how long it says its log is."""
    found = []
    for link in member.transport.links():
        wait = member.transport.waits.oldest(link.peer)
        said = None if member.follower is None else member.follower.said_size(link.peer)
        since_unix_s = member.unix_s(link.since_s)
        assert since_unix_s is not None
        found.append(
            LinkState(
                peer=link.peer,
                address=link.address,
                direction=IN if link.address is None else OUT,
                since_unix_s=since_unix_s,
                waiting_for=None if wait is None else wait.what,
                waiting_since_unix_s=None if wait is None else member.unix_s(wait.since_s),
                score=None if member.links is None else member.links.table.score(link.peer),
                log_size=None if said is None else said[0],
                log_unix_s=None if said is None else member.unix_s(said[1]),
                witness=witnesses.get(link.peer),
            )
        )
    return tuple(found)


def _outbox_queues(member: Member, outbox: Outbox | None) -> tuple[Queue, ...]:
    """What waits to be logged; nothing for a role that sends nothing."""
    if outbox is None:
        return ()
    counts = [(kind, member.store.waiting_count(kind)) for kind in KINDS]
    return tuple(
        queue_of(member, kind, length, outbox.waiting_for if length else None, outbox.waiting_since)
        for kind, length in counts
    )


def _bans_of(member: Member) -> tuple[BanState, ...]:
    """The peers that are refused now, why, and how long they still are."""
    bans = [] if member.conduct is None else member.conduct.bans.now()
    return tuple(BanState(ban.key, ban.reason, ban.times, round(ban.left_s)) for ban in bans)
