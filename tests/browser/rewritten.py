"""Logs that a coordinator rewrote, under heads that it and the verifiers signed. For tests."""

from dataclasses import replace

from protocol.checkpoint import Checkpoint, cosign
from protocol.envelope import Envelope
from protocol.layout import CHECKPOINT
from protocol.merkle import Tree
from protocol.record import Record
from protocol.release import Release
from protocol.seeds import log_origin
from protocol.window import WindowCommitment
from tests.protocol.tile_files import tiles_for
from tests.verification.world import World
from verification.witness import witness_name


def published(world: World, entries: list[bytes]) -> dict[str, bytes | None]:
    """Head and tiles of these entries, signed by the world's coordinator and verifiers."""
    tree = Tree(entries)
    head = Checkpoint(log_origin(world.run), len(entries), tree.root())
    lines = [cosign(head.body(), key, witness_name(key.public), 1) for key in world.verifiers]
    note = head.sign(world.coordinator).with_signatures(lines).encode()
    return {CHECKPOINT: note, **dict(tiles_for(0, len(entries), tree, entries))}


def doubtful(world: World, cause: Record, at: int, window: WindowCommitment) -> dict[str, bytes | None]:
    """The log up to the newest release, with `cause` for a share set, and another last window, which the release fits."""
    entries = world.entries[: world.state.release.index + 1]
    assert b"gonode.share-set." in entries[at], "the page asks only who signed it"
    release, rows = Release.open(Envelope.parse(entries[-1])), window.total_rows
    entries[at] = cause.seal(world.coordinator).encode()
    entries[world.state.windows[-1].index] = window.seal(world.coordinator).encode()
    fitting = replace(release, rows=rows, name=f"{release.name.rpartition('-')[0]}-d{rows}")
    entries[-1] = fitting.seal(world.coordinator).encode()
    return published(world, entries)
