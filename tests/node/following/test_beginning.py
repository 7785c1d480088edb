"""The first two entries: the run id says what they say, only a head says which signatures they have."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import trio.testing

from node.following.service import LOG_PROTOCOL
from node.peering.call import serve_calls
from protocol import codec
from protocol.envelope import Envelope, Signature
from protocol.merkle import Tree
from protocol.root import COORDINATOR, Role, Root
from tests.node.following.copies import (
    BEGINNING,
    MANIFEST,
    OTHER,
    OWNER,
    ROLES,
    ROOT,
    RUN,
    Log,
    logs,
    signed_head,
    tick,
)


def without(envelope: Envelope, *places: int) -> bytes:
    """An envelope with some signatures removed."""
    kept = tuple(each for place, each in enumerate(envelope.signatures) if place not in places)
    return replace(envelope, signatures=kept).encode()


def garbled(envelope: Envelope) -> bytes:
    """An envelope whose first signature is garbage."""
    first, *others = envelope.signatures
    return replace(envelope, signatures=(Signature(first.key, bytes(64)), *others)).encode()


def joined(envelope: Envelope) -> bytes:
    """An envelope that a stranger signed too."""
    added = Root.parse(ROOT.payload).seal(OTHER) if envelope is ROOT else envelope
    return replace(
        envelope, signatures=tuple(sorted({*envelope.signatures, *added.signatures}, key=lambda each: each.key))
    ).encode()


async def begin_as(entries: list[bytes], log: Log, peer: bytes, request: bytes) -> bytes:
    """What a log answers, but for other entries at its beginning."""
    value = codec.decode(await log.answer(peer, request), 1 << 22)
    asked = codec.decode(request, 256)
    assert isinstance(value, dict)
    assert isinstance(asked, dict)
    if asked["op"] == "entries" and asked["start"] == 0:
        value["entries"] = entries
    return codec.encode(value)


LIES = {
    "a signature less of the root": [without(ROOT, 0), MANIFEST.encode()],
    "the other signature less of the root": [without(ROOT, 1), MANIFEST.encode()],
    "a signature less of the manifest": [ROOT.encode(), without(MANIFEST, 1)],
    "no signature": [without(ROOT, 0, 1), MANIFEST.encode()],
    "garbage for a signature of the root": [garbled(ROOT), MANIFEST.encode()],
    "garbage for a signature of the manifest": [ROOT.encode(), garbled(MANIFEST)],
    "a stranger's signature": [joined(ROOT), MANIFEST.encode()],
    "no envelope": [b"noise", MANIFEST.encode()],
    "an entry more": [*BEGINNING, tick(2)],
}


@pytest.mark.parametrize("lie", LIES)
async def test_other_signatures_are_the_peers_lie(
    lie: str, tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    """Were they taken, no honest entry would lead to a proof any more, or the node would end."""
    assert LIES[lie] != BEGINNING
    reports: list[bytes] = []
    async with logs(tmp_path, 3) as (source, liar, mine):
        for log in (source, liar):
            log.extend([*BEGINNING, *map(tick, range(2, 9))])
            log.sign()
        serve_calls(liar.transport, LOG_PROTOCOL, partial(begin_as, LIES[lie], liar), max_bytes=256)
        assert not await mine.follower(tmp_path, liar, report=lambda peer, why: reports.append(peer)).sync_once()
        assert mine.replica.size == mine.store.log_size == 0
        assert reports == [liar.key]
        assert await mine.follower(tmp_path, source, report=lambda peer, why: reports.append(peer)).sync_once()
        assert mine.replica.tree.root() == source.replica.tree.root()
        assert reports == [liar.key]


async def test_a_head_of_the_peers_own_begins_nothing(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    """It proves its entries to a head of its own, which no coordinator of the root signed."""
    reports: list[bytes] = []
    entries = [without(ROOT, 0), MANIFEST.encode()]
    async with logs(tmp_path, 2) as (liar, mine):
        liar.extend([*entries, tick(2)])
        liar.store.put_head(signed_head(Tree([*entries, tick(2)]), OTHER))
        assert not await mine.follower(tmp_path, liar, report=lambda peer, why: reports.append(peer)).sync_once()
        assert mine.replica.size == 0
        assert liar.calls["roots"] == 1
        assert not reports, "it may have been told so"


async def test_a_beginning_under_a_later_coordinator(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    """Its root version is not logged yet, or was logged long ago."""
    first = Root.parse(ROOT.payload)
    roles = (replace(ROLES[0], invalid_from=5), ROLES[1], Role(COORDINATOR, OTHER.public, "new"))
    second = replace(first, run=RUN, version=2, roles=roles).seal(OWNER).encode()
    async with logs(tmp_path, 3) as (source, mine, late):
        source.extend([*BEGINNING, *map(tick, range(2, 9))])
        source.sign(OTHER)
        assert not await mine.follower(tmp_path, source).sync_once()
        source.follower(tmp_path).learn_root(second)
        assert await mine.follower(tmp_path, source).sync_once()
        assert mine.replica.size == 9
        source.extend([second])
        source.replica.roots = source.replica.roots.followed_by(9, Root.parse(Envelope.parse(second).payload))
        source.sign(OTHER)
        assert await late.follower(tmp_path, source).sync_once()
        assert late.replica.size == 10
