"""Blobs are read once, whenever the coordinator is killed, and what is of old releases is forgotten."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import trio
import trio.testing

from node.coordinator.statistician import NEXT, PREFIX, Statistician
from node.disk.store import Store
from protocol.codec import decode
from tests.node.world_member import WorldMember
from tests.sim.inline_engine import InlineEngine
from tests.verification.test_batches import policy
from tests.verification.verdicts import accepted
from tests.verification.world import World
from verification.statistics.profile_record import parse_profile


class Desk(WorldMember):
    """A world's coordinator, whose blobs are all here."""

    def __init__(self, store: Store) -> None:
        super().__init__(World(policy(hold_back_batches=0)), store)
        self.world.register("ada")
        self.world.register("bob")
        self.reads = 0
        self.blob_store = SimpleNamespace(get=self._get)

    def _get(self, digest: bytes) -> bytes | None:
        self.reads += 1
        return self.world.blobs.get(digest)

    async def life(self, seconds: float = 5) -> Statistician:
        scrutineer: Any = SimpleNamespace(raise_share=lambda suspicion: pytest.fail(suspicion.reason))
        statistician = Statistician(self, InlineEngine(), scrutineer)  # type: ignore[arg-type]
        with trio.move_on_after(seconds):
            await statistician.run()
        return statistician

    def games(self) -> int:
        """How many games are counted."""
        names = [name for name in self.store.names(PREFIX) if "/own/" in name]
        return sum(parse_profile(self.store.get(name) or b"").games for name in names)


async def test_each_blob_is_read_once(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    with Store(tmp_path / "node.db") as store:
        desk = Desk(store)
        batches = [accepted(desk.world, peer) for peer in ("ada", "bob", "ada")]
        await desk.life()
        assert desk.games() == sum(batch.games for batch in batches)
        assert desk.reads == 3
        open_batch = desk.world.play(desk.world.peers["ada"])
        batches.append(accepted(desk.world, "bob"))
        statistician = await desk.life()
        assert (desk.reads, decode(store.get(NEXT) or b"")) == (3, 3), "the log's order waits for the open one"
        assert statistician._index.peers == tuple(desk.world.peers[name].public for name in ("ada", "bob"))
        desk.world.judge(open_batch)
        desk.world.admit()
        statistician = await desk.life()
        assert desk.reads == 5
        assert desk.games() == sum(batch.games for batch in (*batches, open_batch))
        report = statistician.report(desk.world.peers["ada"].public)
        assert report is not None
        assert (report["q_ppm"], report["reason"]) == (None, "")
        assert statistician.report(bytes(32)) is None
