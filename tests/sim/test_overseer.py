"""Who leaves gets what is held released; a verifier that keeps its secret back is out, and the run goes on without it."""

from pathlib import Path
from typing import Any

from node.verifier.epoch_keeper import EpochKeeper
from node.verifier.verifier import Verifier
from protocol.envelope import Envelope
from protocol.epoch import EpochReveal
from protocol.orders import Exit, VoidEpoch
from tests.sim.manifests import sim_manifest
from tests.sim.simulation import Simulation, simulated, virtually
from verification.identities import EXIT, VOID


async def with_a_leaver(folder: Path) -> Simulation:
    """A contributor that leaves for good, and a coordinator that is killed before it sees that."""
    manifest = sim_manifest(hold_back_batches=3, exit_entries=60, exit_ppm=10**6)
    async with simulated(folder, manifest, "leaver") as sim:
        sim.start()
        ada = sim.nodes["ada"]

        def identity() -> Any:
            return sim.state.batches.identity(ada.secret.public)

        await sim.until(lambda: sim.coordinator.member and identity() and identity().accepted >= 6, 600)
        await sim.opened(ada)
        ada.role.drain()  # type: ignore[union-attr]
        await ada.life.ended.wait()
        await sim.until(lambda: not any(batch.is_open for batch in identity().held))
        assert len(identity().held) >= 3
        sim.kill(sim.coordinator)
        await sim.restart(sim.coordinator)
        await sim.opened(sim.coordinator)
        await sim.until(lambda: sim.said("exit"))
        await sim.until(lambda: not [batch for batch in identity().held if batch.games])
        await sim.finish()
        sim.settle()
        return sim


def test_who_leaves_for_good_gets_its_held_batches_released(tmp_path: Path) -> None:
    sim = virtually(with_a_leaver, tmp_path)
    ada = sim.nodes["ada"].secret.public
    exits = [record for record in sim.entries() if isinstance(record, Exit)]
    assert [each.peers for each in exits] == [(ada,)]
    mine = [batch for batch in sim.state.batches.all if batch.header.peer == ada]
    assert [each.purpose for batch in mine for each in batch.rechecks].count(EXIT) >= 3
    assert all(batch.released_at is not None for batch in mine if batch.games)
    assert len(sim.said("exit")) == 1


class Secretive(EpochKeeper):
    """Never reveals."""

    async def _post(self, envelope: Envelope) -> None:
        if envelope.type != EpochReveal.payload_type():
            await super()._post(envelope)


class SecretiveVerifier(Verifier):
    """Judges rightly and keeps its secrets."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._epochs.__class__ = Secretive


async def with_a_secretive_verifier(folder: Path) -> Simulation:
    """Three verifiers, one of which never reveals; until it is out and a release came after that."""
    async with simulated(folder, sim_manifest(exit_entries=60), "secretive", verifiers=3) as sim:
        secretive = sim.verifiers[0]
        secretive.make_verifier, secretive.is_honest = SecretiveVerifier, False
        sim.start()
        await sim.until(lambda: sim.said("void-epoch"), 1200)
        key = secretive.secret.public
        looks = [look for look in sim.state.batches.judged(key, 0) if not look.header.final]
        assert looks
        status = sim.coordinator.role.status()  # type: ignore[union-attr]
        assert [fault for fault in status.work.faults if "did not reveal epoch 0 in time" in fault]
        await sim.until(lambda: sim.said("distrusted", secretive))
        (queue,) = (each for each in secretive.role.queues if each.name == "approval")  # type: ignore[union-attr]
        assert "another key" in queue.waiting_for
        before = sim.state.release.number
        await sim.until(lambda: sim.state.release.number > before)
        sim.kill(secretive)  # a drain of it would never end
        await sim.finish()
        sim.settle()
        return sim


def test_a_verifier_that_never_reveals_is_out(tmp_path: Path) -> None:
    sim = virtually(with_a_secretive_verifier, tmp_path)
    key = sim.verifiers[0].secret.public
    voided = [record for record in sim.entries() if isinstance(record, VoidEpoch)]
    assert voided
    assert {each.verifier for each in voided} == {key}
    assert voided[0].epoch == 0
    assert len(sim.said("distrusted")) == 1
    orders = [each for batch in sim.state.batches.all for each in batch.rechecks if each.purpose == VOID]
    assert orders
    assert all(each.decision is not None and each.decision.verifier != key for each in orders)
    assert all(sim.state.batches.tally(sim.nodes[name].secret.public).rejected == 0 for name in ("ada", "bob"))


async def with_an_absence(folder: Path, entries: int) -> Simulation:
    """Three verifiers, one of which is killed while it has batches to judge, and comes back so many entries later."""
    async with simulated(folder, sim_manifest(exit_entries=120), f"absence {entries}", verifiers=3) as sim:
        away = sim.verifiers[0]
        sim.start()
        key = away.secret.public
        await sim.until(lambda: sim.coordinator.member and len(sim.state.batches.judged(key)) > 3, 600)
        sim.kill(away)
        left = sim.state.size
        await sim.until(lambda: sim.state.size > left + entries)
        await sim.restart(away)
        await sim.opened(away)
        back = sim.state.size
        is_void = bool(sim.said("void-epoch"))
        away.is_honest = not is_void
        before = len(sim.state.batches.judged(key))
        await sim.until(lambda: sim.state.size > back + 300)
        if is_void:
            assert sim.said("distrusted", away)
        else:
            assert len(sim.state.batches.judged(key)) > before
        await sim.finish()
        sim.settle()
        return sim


def test_a_verifier_that_comes_back_goes_on(tmp_path: Path) -> None:
    sim = virtually(with_an_absence, tmp_path, 150)
    assert not sim.said("void-epoch")
    key = sim.verifiers[0].secret.public
    *spent, _ = sim.state.epochs.all(key)
    assert len(spent) > 1
    assert all(info.secret is not None for info in spent)


def test_a_verifier_that_comes_back_too_late_is_told(tmp_path: Path) -> None:
    sim = virtually(with_an_absence, tmp_path, 300)
    voids = [
        event.values["verifier"] for event in sim.said("void-epoch")
    ]  # two, if one had ended and was not revealed yet
    assert set(voids) == {sim.verifiers[0].secret.public.hex()}
    assert len(voids) <= 2
    (told,) = sim.said("distrusted")
    assert "was not revealed in time" in told.text
    assert "gonode verify --request" in told.text
