"""Bad networks: frames that come late or again, streams that break, and a coordinator that is away for hours."""

from pathlib import Path

import pytest
import trio

from node.contributor import contributor
from node.contributor.contributor import Contributor
from node.disk.store import OutboxItem
from node.peering.post import Post
from protocol.entries import parse_entry
from protocol.header import BatchHeader
from protocol.record import Record
from tests.sim.ledger import holdings, waiting_entries
from tests.sim.manifests import sim_manifest
from tests.sim.simulation import Simulation, simulated, virtually

HOUR_S = 3600.0


async def cut_off(folder: Path, hours: float) -> Simulation:
    """The coordinator alone for hours, in a network that also loses, delays and cuts; then everybody together again."""
    manifest = sim_manifest(tick_s=120, timeout_entries=40)
    async with simulated(
        folder, manifest, "cut off", game_s=60.0, loss=0.05, delay_s=0.05, jitter_s=0.2, cut=0.002
    ) as sim:
        sim.start()
        await sim.until(lambda: sim.coordinator.member and len(sim.state.batches.all) > 4)
        before = sim.state.size
        sim.network.partition([sim.coordinator.host.public])
        await trio.sleep(hours * HOUR_S)

        # Alone, the coordinator logs ticks and what it had; the others play on and keep what they finish.
        assert {record.NAME for record in sim.entries(before + 30)} <= {"tick", "share-set", "gate-assignment"}
        held = {node.name: holdings(node) for node in sim.contributors}
        assert all(len(each.games) > 40 * hours for each in held.values())
        assert all(len(each.entries) > 20 * hours for each in held.values())
        sim.note()

        sim.network.heal()
        await sim.until(lambda: all(not waiting_entries(node) for node in sim.contributors), HOUR_S / 2)
        await sim.finish()
        sim.settle()
        return sim


async def with_a_small_backlog(folder: Path) -> Simulation:
    """The coordinator is away until contributors pause, then comes back."""
    async with simulated(folder, sim_manifest(tick_s=120, timeout_entries=40), "backlog", game_s=20.0) as sim:
        ada = sim.contributors[0]
        sim.start()
        await sim.until(lambda: sim.coordinator.member and len(sim.state.batches.all) > 2)
        sim.network.partition([sim.coordinator.host.public])
        await sim.until(lambda: isinstance(ada.role, Contributor) and ada.role.paused_since is not None)
        await trio.sleep(HOUR_S / 10)
        assert isinstance(ada.role, Contributor)
        assert 3 <= len(waiting_entries(ada)) <= 4, "games in flight may fill another batch"
        (queue,) = ada.role.queues
        assert queue.name == "games"
        assert "fewer than 3 batches" in queue.waiting_for
        before = len(sim.state.batches.all)
        sim.network.heal()
        role = ada.role
        await sim.until(lambda: len(sim.state.batches.all) > before + 8 and role.queues[0].waiting_for is None)
        await sim.finish()
        sim.settle()
        return sim


def test_play_pauses_while_many_batches_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contributor, "MOST_WAITING", 3)
    sim = virtually(with_a_small_backlog, tmp_path)
    said = [event.text for event in sim.said("waiting", sim.contributors[0]) if "Play" in event.text]
    assert said == ["Play is paused: 3 batches wait to be logged. Nothing is lost.", "Play goes on."]


async def with_a_lost_blob(folder: Path) -> Simulation:
    """While the coordinator is away, a contributor's disk loses the blob of a batch that waits to be sent."""
    async with simulated(folder, sim_manifest(tick_s=120, timeout_entries=40), "lost", game_s=20.0) as sim:
        ada = sim.contributors[0]
        sim.start()
        await sim.until(lambda: sim.coordinator.member and len(sim.state.batches.all) > 2)
        sim.network.partition([sim.coordinator.host.public, sim.verifiers[0].host.public])  # nobody else has it
        await sim.until(lambda: len(waiting_entries(ada)) > 3)
        assert ada.member is not None
        header = min(
            (record for record in map(_record, ada.member.store.outbox("batch")) if isinstance(record, BatchHeader)),
            key=lambda record: record.first_counter,
        )
        ada.member.blob_store.delete(header.blob_digest)
        sim.network.heal()
        await sim.until(
            lambda: any(header.blob_digest == each.header.blob_digest for each in sim.state.batches.all), 400
        )
        await sim.finish()
        return sim


def _record(item: OutboxItem) -> Record:
    return parse_entry(Post.parse(item.payload).envelope).record


def test_a_batch_whose_blob_is_lost_is_made_again(tmp_path: Path) -> None:
    sim = virtually(with_a_lost_blob, tmp_path)
    assert any("missing or damaged" in event.text for event in sim.said("refused", sim.contributors[0]))
    assert all(batch.is_accepted_batch for batch in sim.state.batches.all)


@pytest.mark.parametrize("hours", [0.25, pytest.param(4.0, marks=pytest.mark.soak)])
def test_the_coordinator_is_away_for_hours(tmp_path: Path, hours: float) -> None:
    sim = virtually(cut_off, tmp_path, hours)
    assert sim.refused() == []
    logged = [batch for batch in sim.state.batches.all if batch.index > sim.state.batches.all[3].index]
    assert len(logged) > 40 * hours
    assert all(batch.is_accepted_batch for batch in logged)
