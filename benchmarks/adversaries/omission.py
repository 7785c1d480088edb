"""Coordinators that do not log what they are sent, or give no receipt: a whole network in one process, on a virtual clock.

The coordinator runs its own code but for the one answer that it holds back from one contributor. What the contributor and
the verifiers then have on disk, and what they say, is how an outsider notices.
"""

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import trio

from benchmarks.adversaries.outcome import NOTICED, Effort, Row, Run, summary
from node.contributor.contributor import Contributor
from node.coordinator.intake import Intake
from node.peering.post import Post, Posted
from protocol.envelope import Envelope
from tests.sim.manifests import sim_manifest
from tests.sim.simulation import Simulation, simulated, virtually
from tests.sim.test_mirrors import begun, kept_of, logged_of, receipts_of, waiting_of

KIND = "coordinator"
VICTIM = "ada"
GAME_S = 60.0
Hold = Callable[[Simulation], Any]
Shows = Callable[[Simulation], bool]


def omits(sim: Simulation) -> Any:
    """Never answers a post that the victim signed, whoever passes it on."""
    honest, victim = Intake.post, sim.nodes[VICTIM].secret.public

    async def post(self: Intake, post: Post, peer: bytes | None = None) -> Posted:
        if victim in Envelope.parse(post.envelope).signers:
            await trio.sleep_forever()
        return await honest(self, post, peer)

    return patch.object(Intake, "post", post)


def withholds_receipts(sim: Simulation) -> Any:
    """Logs what the victim sends, and answers without a receipt."""
    honest, victim = Intake.post, sim.nodes[VICTIM].secret.public

    async def post(self: Intake, post: Post, peer: bytes | None = None) -> Posted:
        posted = await honest(self, post, peer)
        return replace(posted, receipt=b"") if victim in Envelope.parse(post.envelope).signers else posted

    return patch.object(Intake, "post", post)


async def held_back(folder: Path, word: str, hold: Hold, shows: Shows) -> str:
    """How the victim comes to say why its batches wait, and others have what shows it."""
    async with simulated(folder, sim_manifest(), word, (VICTIM, "bob"), 2, game_s=GAME_S) as sim:
        victim = sim.nodes[VICTIM]
        await begun(sim)
        with hold(sim):
            before, receipts = len(sim.state.batches.all), receipts_of(victim)
            await sim.until(lambda: waiting_of(victim) and role_of(sim).outbox.waiting_for)
            await sim.until(lambda: shows(sim))
            await sim.until(lambda: len(sim.state.batches.all) > before + 4)
            assert receipts_of(victim) <= receipts + 1
            text = role_of(sim).outbox.waiting_for
        await sim.finish()
        sim.settle()
    return text


def are_kept(sim: Simulation) -> bool:
    """Whether a verifier keeps all that waits."""
    victim = sim.nodes[VICTIM]
    return waiting_of(victim) <= kept_of(sim.verifiers[0], victim)


def are_logged(sim: Simulation) -> bool:
    """Whether some of what waits for a receipt is in everybody's log."""
    victim = sim.nodes[VICTIM]
    logged = {(header.release, header.first_counter) for header in logged_of(sim, victim)}
    return len(waiting_of(victim) & logged) > 1


def role_of(sim: Simulation) -> Contributor:
    """The victim's role."""
    role = sim.nodes[VICTIM].role
    assert isinstance(role, Contributor)
    return role


def noticed(name: str, reason: str, effort: Effort, hold: Hold, shows: Shows) -> Row:
    """The row of a coordinator that holds something back; afterwards all of it is logged."""
    runs = []
    for seed in range(min(2, effort.real)):
        with tempfile.TemporaryDirectory() as folder:
            virtually(held_back, Path(folder), f"{name} {seed}", hold, shows)
        runs.append(Run(1, 0, 0, reason))
    return summary(name, KIND, "whole network", NOTICED, runs, 0.0)


def omission(effort: Effort) -> Iterator[Row]:
    """It does not log one contributor's batches: verifiers keep them, the contributor says so."""
    yield noticed("coordinator that omits batches", "kept by verifiers", effort, omits, are_kept)


def receipts(effort: Effort) -> Iterator[Row]:
    """It logs batches without a receipt: the contributor goes on offering them, and says so."""
    yield noticed(
        "coordinator that withholds receipts", "logged, still waiting", effort, withholds_receipts, are_logged
    )


ADVERSARIES = (omission, receipts)
