"""A verifier that gives false shares: the coordinator refuses what it could not log, and lives on."""

from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

from node.verifier.witness import Witness
from protocol.envelope import Envelope
from protocol.epoch import Share
from tests.sim.manifests import sim_manifest
from tests.sim.simulation import Simulation, simulated, virtually


async def with_false_shares(folder: Path) -> Simulation:
    """Two verifiers of three are enough; the third names an epoch that it does not have in each share."""
    async with simulated(folder, sim_manifest(), "false", verifiers=3) as sim:
        liar = sim.verifiers[2]
        honest = Witness._cosign

        def cosign(witness: Witness, newest: Any) -> Any:
            made = honest(witness, newest)
            if made is None or made.witness != liar.secret.public:
                return made
            share = replace(Share.open(Envelope.parse(made.share)), epoch=7)
            return replace(made, share=share.seal(liar.secret).encode())

        with patch.object(Witness, "_cosign", cosign):
            sim.start()
            await sim.until(lambda: sim.coordinator.member and sim.state.release.number == 1)
            links = sim.coordinator.role.status().links  # type: ignore[union-attr]
            known = {link.witness: link.peer for link in links if link.witness is not None}
            assert known.keys() == {each.secret.public for each in sim.verifiers[:2]}
            assert len(set(known.values())) == 2
        await sim.stop(liar)
        await sim.finish()
        sim.settle()
        return sim


def test_shares_of_another_epoch(tmp_path: Path) -> None:
    sim = virtually(with_false_shares, tmp_path)
    assert sim.state.release.number == 1
    assert "epoch" in sim.said("cosign-refused", sim.verifiers[2])[0].text
