"""What became of a batch, as the state of the log has it: `row_of`.

Page: docs/pages.md. Invariants: the games of an identity's rows with a fate are those of its tally
(`verification.identities`).
"""

from node.web.model.sums import MOST_VISITS, PENDING, REJECTED, RINGER, VERIFIED, BatchRow
from verification.identities import BatchInfo, Identity
from verification.state import LogState


def row_of(state: LogState, identity: Identity, batch: BatchInfo, unix_s: int | None) -> BatchRow:
    """The row of a batch of `identity` that was logged by `unix_s`."""
    header = batch.header
    release = state.release_by_id(header.release)
    assert release is not None  # or the state had refused the header
    return BatchRow(
        number=batch.index,
        key=identity.peer,
        release=release.number,
        unix_s=unix_s,
        games=header.games,
        plies=header.plies,
        visits=min(header.visits, MOST_VISITS),
        fate=RINGER if state.ringers.find(header.peer) is not None else _fate(identity, batch),
    )


def _fate(identity: Identity, batch: BatchInfo) -> str:
    if batch.is_open:
        return PENDING
    if not batch.is_accepted_batch:
        return REJECTED
    # What was accepted and is dropped counts for its signer, unless it was found to be wrong later.
    is_withdrawn = batch.dropped and batch.header.games > 0 and batch.index not in identity.accepted_at
    return REJECTED if is_withdrawn else VERIFIED
