"""An honest network from its first entry to gated releases: everything that the design says happens, does."""

from itertools import pairwise
from pathlib import Path

from native.network import Kernel
from protocol.types import ZERO
from tests.sim.manifests import sim_manifest
from tests.sim.simulation import Simulation, simulated, virtually


async def grow(
    folder: Path,
    releases: int,
    word: str,
    kernel: Kernel = Kernel.BEST,
    skews_s: dict[str, float] | None = None,
    refusals: int = 0,
) -> Simulation:
    """A network that ends in good order once the last of so many releases, at least, is played and so many candidates are
    refused; `kernel` is the verifier's."""
    async with simulated(folder, sim_manifest(win_rate_ppm=500_000), word, kernel=kernel) as sim:
        for name, skew_s in (skews_s or {}).items():
            sim.nodes[name].skew_s = skew_s
        sim.start()
        await sim.until(
            lambda: sim.coordinator.member and sim.state.release.number >= releases and refused(sim) >= refusals
        )
        await sim.until(lambda: sim.state.batches.all[-1].header.release == sim.state.release.id)
        await sim.finish()
        sim.settle()
        return sim


def refused(sim: Simulation) -> int:
    """How many candidates did not pass their gate."""
    return sum(gate.record is not None and not gate.record.passed for gate in sim.state.gates.all)


def test_a_run_grows(tmp_path: Path) -> None:
    sim = virtually(grow, tmp_path, 2, "grow 5", Kernel.BEST, None, 1)
    state = sim.state
    contributors = [node.secret.public for node in sim.contributors]
    assert set(state.registry.peers) == set(contributors)
    assert not sim.said("refused")
    assert not state.faults

    # Every batch has its verdict and decision; verdicts were given once; drawn ones are opened.
    assert all(batch.is_accepted_batch for batch in state.batches.all)
    said = [event.values["index"] for event in sim.said("verdict")]
    assert len(said) == len(set(said))
    opened = [batch for batch in state.batches.all if batch.verdict is not None and batch.verdict.drawn]
    assert opened
    assert all(batch.opening is not None for batch in opened)
    assert any(not batch.drew_all for batch in state.batches.all)

    # Epochs follow each other, and all that have ended are revealed.
    epochs = state.epochs.all(sim.verifiers[0].secret.public)
    assert len(epochs) > 3
    assert all(epoch.secret is not None for epoch in epochs[:-1])
    assert all(later.index - earlier.index <= 60 for earlier, later in pairwise(epochs[:-1]))

    # Windows hold released batches only; train states chain over a refused candidate; gates are replayed in part.
    assert all(batch.released_at is not None for window in state.windows for batch in window.window.batches)
    trainings = [training.record for training in state.trainings]
    assert [record.parent_state for record in trainings] == [ZERO, *(record.state for record in trainings[:-1])]
    gates = [gate for gate in state.gates.all if gate.record is not None]
    assert {gate.record.passed for gate in gates if gate.record} == {True, False}
    results = [slot.result for gate in gates for slot in gate.slots if slot.result is not None]
    assert any(result.drawn for result in results)
    assert any(not result.drawn for result in results)
    assert {result.result.player for result in results} == {*contributors, sim.coordinator.secret.public}

    # Each release is followed by its statement.
    released = [release.index for release in state.releases.all[1:]]
    assert [(info.record.release, info.index) for info in state.statements.all] == [(at, at + 1) for at in released]

    # Contributors ended the series of each old release with a final batch, and played on with the next.
    for number, release in enumerate(state.releases.all[:-1]):
        for peer in contributors:
            assert state.batches.series(peer, release.id).closed, f"release {number}"
    played = {batch.header.release for batch in state.batches.all}
    assert played == {release.id for release in state.releases.all}


def test_kernels_and_clocks_change_no_byte_of_the_log(tmp_path: Path) -> None:
    """A scalar verifier, and clocks of contributors and verifier that are hours apart, give the very same log."""
    hour = 3600.0
    skews_s = {"ada": -7 * hour, "bob": 30 * hour, "verifier 0": 5 * hour}
    first = virtually(grow, tmp_path / "a", 1, "twice")
    second = virtually(grow, tmp_path / "b", 1, "twice", Kernel.SCALAR, skews_s)
    assert first.state.tree.root() == second.state.tree.root()


def test_a_coordinator_whose_clock_is_wrong(tmp_path: Path) -> None:
    sim = virtually(grow, tmp_path, 1, "twice", Kernel.BEST, {"coordinator": -9 * 3600.0})
    assert not sim.said("refused")
    assert sim.state.release.number == 1
