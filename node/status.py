"""What `gonode status` says of a running node: who it is, how far, and what each queue waits for since when.

Spec: `docs/commands.md` ("status").
"""

from collections.abc import Sequence
from typing import Any

from node.member import Member
from node.outbox import KINDS, Outbox


def status_of(
    member: Member, role: str, key: bytes, outbox: Outbox, queues: Sequence[dict[str, Any]] = (), **more: Any
) -> dict[str, Any]:
    """The object that `gonode status --json` prints; `queues` besides the outbox's and `more` are the role's own."""
    state = member.state
    tally = state.batches.tally(key) if role == "contributor" else state.batches.total()
    return {
        "role": role,
        "run": state.run.hex(),
        "release": state.release.name if state.size >= 2 else None,
        "log_size": state.size,
        "peers": len(member.transport.peers()),
        "queues": [
            {
                "name": kind,
                "length": member.store.waiting_count(kind),
                "waiting_for": outbox.waiting_for or None,
                "since_unix_s": None if outbox.waiting_since is None else int(outbox.waiting_since),
            }
            for kind in KINDS
        ]
        + list(queues),
        "games": tally.games,
        "plies": tally.plies,
        "batches": tally.batches,
        "verified": tally.verified,
        "pending": tally.pending,
        "rejected": tally.rejected,
        **more,
    }
