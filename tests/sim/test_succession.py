"""A network in memory whose coordinator's key is replaced, and one of whose verifiers is revoked, while all goes on."""

from pathlib import Path

from node.founding.ceremony import propose_root
from node.founding.root_changes import with_coordinator, with_end
from node.founding.succession import prepare_key
from tests.sim.manifests import sim_manifest
from tests.sim.simulation import Simulation, simulated, virtually


async def with_another_key(folder: Path) -> Simulation:
    """The coordinator comes back under another key, its old one void from then on; a node was away meanwhile."""
    async with simulated(folder, sim_manifest(), "succession") as sim:
        away = sim.nodes["bob"]
        sim.start()
        await sim.until(lambda: sim.coordinator.member and len(sim.state.releases.all) > 1)
        sim.kill(away)
        await sim.stop(sim.coordinator)
        home = sim.coordinator.home
        new = prepare_key(home)
        propose_root(
            home,
            lambda root, logged: (root, with_coordinator(root.roles, new, logged.size)),
            sim.key("root"),
        )
        await sim.restart(sim.coordinator)
        await sim.until(lambda: sim.coordinator.member and sim.state.root.version == 2)
        changed = sim.state.size
        await sim.until(lambda: sim.nodes["ada"].state.size > changed + 20)
        await sim.restart(away)
        await sim.until(lambda: away.member and away.state.root.version == 2)
        await sim.until(lambda: len(sim.state.releases.all) > 2)
        await sim.finish()
        sim.settle()
        return sim


def test_a_coordinators_key_is_replaced(tmp_path: Path) -> None:
    sim = virtually(with_another_key, tmp_path)
    assert {release.number for release in sim.state.releases.all} >= {0, 1, 2}
    assert not list(tmp_path.rglob("fork-*"))


async def with_a_revoked_verifier(folder: Path) -> Simulation:
    """One of three verifiers is revoked from an index in the past; two go on, and judge anew what it judged since."""
    async with simulated(folder, sim_manifest(), "revoked", verifiers=3) as sim:
        sim.start()
        await sim.until(lambda: sim.coordinator.member and len(sim.state.releases.all) > 1)
        thief = next(
            node
            for node in sim.verifiers
            if any(batch.verdict and batch.verdict.verifier == node.secret.public for batch in sim.state.batches.all)
        )
        thief.is_honest = False
        await sim.stop(sim.coordinator)
        propose_root(
            sim.coordinator.home,
            lambda root, _: (root, with_end(root.roles, thief.secret.public, 20)),
            sim.key("root"),
        )
        await sim.restart(sim.coordinator)
        await sim.until(lambda: sim.coordinator.member and sim.state.root.version == 2)
        await sim.until(lambda: len(sim.state.releases.all) > 2)
        await sim.stop(thief)
        await sim.finish()
        sim.settle()
        assert any("revoked this verifier's from entry 20 on" in event.text for event in sim.said("waiting", thief))
        return sim


def test_a_verifier_is_revoked(tmp_path: Path) -> None:
    sim = virtually(with_a_revoked_verifier, tmp_path)
    assert len(sim.state.verifiers()) == 2
    assert sim.state.subjects.distrusted
