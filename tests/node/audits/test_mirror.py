"""A copy of a run: what nobody has is left out, and peers that go away meanwhile make it fail."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from node.audits import mirror
from node.disk.blob_store import BlobStore
from node.disk.home import Home
from node.disk.store import Store
from node.peering.transport import Unreachable
from protocol.checkpoint import SignedNote
from tests.node.homes import grown_world, make_home
from verification.audit.files import known_blobs

COORDINATOR, OTHER = b"coordinator", b"other"


class Copy:
    """As much of a member as a copy needs; from the call `n` on only the peers `absences[n]` are there."""

    def __init__(self, source: Home, target: Home, store: Store) -> None:
        self.state = grown_world().state
        self.store = store
        self.home = target
        self.blobs = self.reach = self
        self.calls = 0
        self.present = [COORDINATOR, OTHER]
        self.absences: dict[int, list[bytes]] = {}
        self._source = BlobStore(source.public)
        self._target = BlobStore(target.public)

    def peers(self) -> list[bytes]:
        return self.present

    def coordinators(self) -> list[bytes]:
        return [peer for peer in self.present if peer == COORDINATOR]

    async def fetch(self, digest: bytes, *_: Any) -> bytes:
        self.present = self.absences.get(self.calls, self.present)
        self.calls += 1
        data = self._source.get(digest) if COORDINATOR in self.present else None
        if data is None:
            raise Unreachable("No peer has it.")
        self._target.put(data)
        return data

    async def make(self) -> None:
        await mirror._copy(self, SignedNote.parse(grown_world().note()))  # type: ignore[arg-type]


@pytest.fixture
def copy(tmp_path: Path) -> Iterator[Copy]:
    source = make_home(grown_world(), tmp_path / "source")
    with Store(source.database) as store:
        yield Copy(source, Home(tmp_path / "target"), store)


async def test_what_nobody_has_is_left_out(copy: Copy) -> None:
    absent = min(known_blobs(copy.state))
    copy._source.delete(absent)
    await copy.make()
    there = set(BlobStore(copy.home.public).digests())
    assert absent not in there
    assert there == set(copy._source.digests()) & set(known_blobs(copy.state))
    assert (copy.home.public / "checkpoint").is_file()


@pytest.mark.parametrize("left", [[], [OTHER]], ids=["all peers", "the coordinator"])
async def test_peers_that_go_away_make_it_fail(copy: Copy, left: list[bytes]) -> None:
    copy.absences = {2: left}
    with pytest.raises(Unreachable, match=r"went away while it was copied; \d+ of its files"):
        await copy.make()
    assert not (copy.home.public / "checkpoint").exists()


async def test_a_moment_of_absence_costs_nothing(copy: Copy) -> None:
    copy.absences = {2: [], 4: [COORDINATOR]}
    await copy.make()
    assert set(BlobStore(copy.home.public).digests()) == set(copy._source.digests()) & set(known_blobs(copy.state))


async def test_without_a_coordinator_from_the_beginning(copy: Copy) -> None:
    copy.present = [OTHER]
    await copy.make()
    assert copy.calls >= len(known_blobs(copy.state))
