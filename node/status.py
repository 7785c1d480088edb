"""What `gonode status` says of a running node: who it is, how far, and what it waits for from whom since when.

Spec: `docs/commands.md` ("gonode status"). Ages are measured on trio's clock and shown by the wall clock as it is now, so a
clock that was set tells no lie about how long something waits.
"""

from collections.abc import Sequence
from typing import Any

from node.member import Member
from node.outbox import KINDS, Outbox


def status_of(
    member: Member, role: str, key: bytes, outbox: Outbox | None, queues: Sequence[dict[str, Any]] = (), **more: Any
) -> dict[str, Any]:
    """The object that `gonode status --json` prints; `queues` besides the outbox's and `more` are the role's own."""
    state, backoff = member.state, member.reach.backoff
    has_log, newest = state.size >= 2, member.newest_head()
    tally = state.batches.tally(key) if role == "contributor" else state.batches.total()
    return {
        "role": role,
        "version": member.build,
        "key": key.hex(),
        "run": state.run.hex(),
        "run_name": state.manifest.name if has_log else None,
        "release": state.release.name if has_log else None,
        "release_id": state.release.id.hex() if has_log else None,
        "log_size": state.size,
        "newest_size": None if newest is None else newest.size,
        "peers": len(member.transport.peers()),
        "links": links_of(member),
        "services": member.services.status(),
        "fetching": fetching_of(member),
        "bans": bans_of(member),
        "contained": sum(member.transport.faults().values()),
        "next_try_in_s": round(backoff.next_try_in_s, 1) if backoff.failures else None,
        "queues": [*_outbox_queues(member, outbox), *queues],
        "games": tally.games,
        "plies": tally.plies,
        "batches": tally.batches,
        "verified": tally.verified,
        "pending": tally.pending,
        "rejected": tally.rejected,
        "credit_plies": tally.credit_plies,
        "credit_visits": tally.credit_visits,
        **more,
    }


def _outbox_queues(member: Member, outbox: Outbox | None) -> list[dict[str, Any]]:
    """What waits to be logged; nothing for a role that sends nothing."""
    if outbox is None:
        return []
    return [
        queue_of(member, kind, length, outbox.waiting_for if length else None, outbox.waiting_since)
        for kind, length in ((kind, member.store.waiting_count(kind)) for kind in KINDS)
    ]


def queue_of(member: Member, name: str, length: int, waiting_for: str | None, since_s: float | None) -> dict[str, Any]:
    """One queue; `since_s` is on trio's clock, and counts only where something is waited for."""
    return {
        "name": name,
        "length": length,
        "waiting_for": waiting_for or None,
        "since_unix_s": member.unix_s(since_s) if waiting_for else None,
    }


def links_of(member: Member) -> list[dict[str, Any]]:
    """The connections: who dialed, since when, and what is awaited longest from that peer."""
    found = []
    for link in member.transport.links():
        wait = member.transport.waits.oldest(link.peer)
        found.append(
            {
                "peer": link.peer.hex(),
                "address": link.address,
                "direction": "in" if link.address is None else "out",
                "since_unix_s": member.unix_s(link.since_s),
                "waiting_for": None if wait is None else wait.what,
                "waiting_since_unix_s": None if wait is None else member.unix_s(wait.since_s),
                "score": None if member.links is None else member.links.table.score(link.peer),
            }
        )
    return found


def fetching_of(member: Member) -> list[dict[str, Any]]:
    """The blobs that are coming, such as a network's file, and how much of each is here."""
    return [
        {"blob": digest.hex(), "held_bytes": held, "total_bytes": total}
        for digest, held, total in member.blobs.progress()
    ]


def bans_of(member: Member) -> list[dict[str, Any]]:
    """The peers that are refused now, why, and how long they still are."""
    bans = [] if member.conduct is None else member.conduct.bans.now()
    return [
        {"peer": ban.key.hex(), "reason": ban.reason, "times": ban.times, "left_s": round(ban.left_s)} for ban in bans
    ]
