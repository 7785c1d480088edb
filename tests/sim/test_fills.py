"""Others play on where a series ended, also where somebody ended it because it did not like the games."""

from pathlib import Path
from typing import Any

import pytest

from node.contributor.contributor import Contributor
from node.contributor.fill_player import GAMES
from protocol.admission import LOST
from tests.sim.manifests import sim_manifest
from tests.sim.nodes import Node
from tests.sim.simulation import Simulation, simulated, virtually
from verification.identities import BatchInfo
from verification.releases import ReleaseInfo

ALL = 10**6
POLICY = {"tail_ppm": ALL, "timeout_entries": 300, "final_entries": 80}


class Chooser(Contributor):
    """Ends a series in place of its second batch, which it does not like, and sends nothing more of that release."""

    async def _pack(self, release: ReleaseInfo, final: bool) -> None:
        member = self._member
        series = member.store.series(release.id)
        if series.counter and not series.ended and member.store.games(release.id):
            with member.store.transaction():
                for counter, _ in member.store.games(release.id):
                    member.store.drop_games(release.id, counter + 1)
                self._seal(release, series.counter, [], True)
        else:
            await super()._pack(release, final)


async def with_a_chooser(folder: Path, **policy: Any) -> Simulation:
    manifest = sim_manifest(**{**POLICY, **policy})
    async with simulated(folder, manifest, "fills", ("ada", "bob")) as sim:
        chooser = sim.invite("cyd", make=Chooser, honest=False)
        sim.start()
        await sim.until(lambda: sim.coordinator.member and sim.state.release.number == 3)
        key = chooser.secret.public
        await sim.until(lambda: len(sim.state.fills.filled(key)) >= 2)
        await sim.until(lambda: sim.state.fills.filled_count >= 5)
        await sim.finish()
        sim.settle()
        return sim


def test_tails_are_filled_in_by_others(tmp_path: Path) -> None:
    sim = virtually(with_a_chooser, tmp_path)
    state = sim.state
    fills = [batch for batch in state.batches.all if batch.fill is not None]
    assert len(fills) >= 5
    assert state.fills.drawn >= len(fills)
    assert not sim.said("refused")
    for batch in fills:
        header = batch.header
        assert header.peer != header.owner
        assert batch.is_accepted_batch
        assert header.games == sim.manifest.admission.games_per_batch
    owners = {batch.header.owner for batch in fills}
    assert owners == {node.secret.public for node in sim.contributors}

    # What the chooser did not like is played, and enters windows.
    chooser = sim.nodes["cyd"].secret.public
    withheld = state.fills.filled(chooser)
    assert {batch.header.first_counter for batch in withheld} == {sim.manifest.admission.games_per_batch}
    in_windows = {batch.index for window in state.windows for batch in window.window.batches}
    assert any(batch.index in in_windows for batch in fills)


async def with_kills(folder: Path) -> Simulation:
    """Each contributor is killed once while it fills in, as soon as a game of it is on its disk."""
    async with simulated(folder, sim_manifest(**POLICY), "fills and kills", ("ada", "bob", "cyd")) as sim:
        sim.start()

        def filling(node: Node) -> bool:
            return node.is_alive and node.member is not None and bool(node.member.store.names(GAMES))

        spared = list(sim.contributors)
        while spared:
            await sim.until(lambda: any(map(filling, spared)))
            node = next(filter(filling, spared))
            spared.remove(node)
            sim.kill(node)
            await sim.restart(node)
        count = sim.state.fills.filled_count
        await sim.until(lambda: sim.state.fills.filled_count >= count + 3)
        await sim.finish()
        sim.settle()
        return sim


def test_a_kill_while_filling_in_loses_nothing(tmp_path: Path) -> None:
    sim = virtually(with_kills, tmp_path)
    fills = [batch for batch in sim.state.batches.all if batch.fill is not None]
    assert all(batch.is_accepted_batch for batch in fills)
    assert not sim.said("refused")
    places = [(batch.header.owner, batch.header.release) for batch in fills]
    assert len(set(places)) == len(places)


async def with_a_gap(folder: Path, is_copy_kept: bool) -> tuple[Simulation, BatchInfo]:
    """While no verifier is there, all disks but ada's lose a batch of hers, and, unless its copy is kept, hers too."""
    async with simulated(folder, sim_manifest(timeout_entries=100), "gap", ("ada", "bob")) as sim:
        sim.start()
        ada, (verifier,) = sim.nodes["ada"], sim.verifiers
        key = ada.secret.public
        await sim.until(lambda: sim.coordinator.member and sim.state.batches.tally(key).verified >= 4)
        sim.kill(verifier)
        open_before = len(sim.state.batches.open)
        await sim.until(lambda: any(b.header.peer == key for b in sim.state.batches.open[open_before:]))
        lost = next(b for b in sim.state.batches.open[open_before:] if b.header.peer == key)
        await sim.until(lambda: sim.state.size > lost.index + 101)
        for node in (sim.coordinator, sim.nodes["bob"], *([] if is_copy_kept else [ada])):
            assert node.member is not None
            node.member.blob_store.delete(lost.header.blob_digest)
        await sim.until(lambda: lost.decision is not None)
        await sim.restart(verifier)
        await sim.until(lambda: sim.state.fills.filled(key))
        await sim.until(lambda: sim.state.batches.tally(key).verified >= lost.header.first_counter + 8)
        await sim.finish()
        sim.settle()
        return sim, lost


@pytest.mark.parametrize("is_copy_kept", [True, False])
def test_a_lost_batch_is_filled_in_and_the_series_goes_on(tmp_path: Path, is_copy_kept: bool) -> None:
    sim, lost = virtually(with_a_gap, tmp_path, is_copy_kept)
    state = sim.state
    assert lost.decision is not None
    assert lost.decision.outcome == LOST
    (batch,) = state.fills.filled(lost.header.peer)
    assert (batch.header.first_counter, batch.header.blob_digest) == (
        lost.header.first_counter,
        lost.header.blob_digest,
    )
    later = [
        b for b in state.batches.all if b.series is lost.series and b.header.first_counter > lost.header.first_counter
    ]
    assert any(each.released_at is not None for each in later)
    assert not any(each.dropped for each in later)
    assert state.fills.lapsed == 0
