"""Others play on where a series ended, also where somebody ended it because it did not like the games."""

from pathlib import Path
from typing import Any

from node.contributor.contributor import Contributor
from tests.sim.manifests import sim_manifest
from tests.sim.simulation import Simulation, simulated, virtually
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
