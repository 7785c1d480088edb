"""Audits of batches that were rejected for their blob, of which no proof exists."""

from dataclasses import replace

import pytest

from protocol.admission import Admission
from tests.verification.memory_reader import MemoryReader
from tests.verification.world import World
from verification.audit.folder import AuditFault, Folder
from verification.audit.rejections import audit_rejections
from verification.faults import Rejected
from verification.identities import BatchInfo
from verification.replay import Replayed


def reject_for_blob(world: World, batch: BatchInfo) -> None:
    """A verdict that the blob is wrong, and the coordinator's decision for it."""
    world.say(batch, Replayed((), (), None), Rejected("batch format", "It is no batch."))
    decisions = tuple(due.decision for due in world.state.due_decisions())
    world.log(Admission(world.run, decisions), world.coordinator)
    assert batch.decision is not None
    assert batch.decision.outcome == "rejected"


def audited(world: World) -> str:
    return audit_rejections(Folder(MemoryReader(world.public())), world.state)


def test_a_good_batch_that_was_put_out_for_its_blob_fails_the_audit(world: World) -> None:
    assert audited(world) == ""
    reject_for_blob(world, world.play(world.peers["ada"]))
    with pytest.raises(AuditFault, match="rejected for its blob, which is in order"):
        audited(world)


def test_a_blob_that_is_wrong_passes(world: World) -> None:
    ada = world.peers["ada"]
    good = world.header(ada, world.games(ada, 2))
    index = world.log(replace(good, plies=good.plies + 1), ada)
    world.share_set()
    batch = world.state.batch(index)
    assert batch is not None
    reject_for_blob(world, batch)
    assert audited(world) == " Batches rejected for their blob: 1 blob wrong indeed, 0 gone."
    world.blobs.pop(good.blob_digest)
    assert audited(world) == " Batches rejected for their blob: 0 blobs wrong indeed, 1 gone."
