"""Machines that begin to compute wrongly: their canaries tell, and nothing of them comes into the log."""

from dataclasses import replace
from pathlib import Path

import pytest

from native.canary import WrongMachine
from native.pool import Done, Job
from protocol.header import BatchHeader
from protocol.verdict import Verdict
from tests.sim.inline_engine import InlineEngine
from tests.sim.manifests import sim_manifest
from tests.sim.simulation import simulated, virtually

WELL_GAMES = 5


class WrongEngine(InlineEngine):
    """Searches with other numbers from some game on, and its canaries see it from then on."""

    def __init__(self, well: int) -> None:
        super().__init__()
        self._well = well

    async def play(self, job: Job) -> Done:
        """See `Engine.play`."""
        return await super().play(self._wrong(job))

    async def replay(self, job: Job, block: bytes) -> Done:
        """See `Engine.replay`."""
        return await super().replay(self._wrong(job), block)

    async def verify_canaries(self) -> None:
        """See `Engine.verify_canaries`."""
        await super().verify_canaries()
        if self._well < 0:
            raise WrongMachine("This machine computes wrongly: 2 + 2 = 5.")

    def _wrong(self, job: Job) -> Job:
        self._well -= 1
        return (
            job if self._well >= 0 else replace(job, config=replace(job.config, cpuct_micro=job.config.cpuct_micro + 1))
        )


async def contributor(folder: Path) -> None:
    async with simulated(folder, sim_manifest(), "unwell", contributors=("ada",)) as sim:
        unwell = sim.invite("unwell", WrongEngine(WELL_GAMES), honest=False)
        sim.start()
        await sim.until(lambda: unwell.lives and unwell.life.ended.is_set())
        unwell.home.fault.write_text("This machine computes wrongly: 2 + 2 = 5.")  # as node/engine/process.py does
        assert (
            0 < len(headers(sim.entries(), unwell.secret.public)) * sim.manifest.admission.games_per_batch <= WELL_GAMES
        )

        unwell.engine, unwell.is_honest = InlineEngine(), True
        sim.start(unwell)
        await sim.until(lambda: sim.state.batches.tally(unwell.secret.public).verified > 2 * WELL_GAMES)
        assert not unwell.home.fault.exists()
        assert not sim.state.is_banned(unwell.secret.public)
        await sim.finish()
        sim.settle()
        assert sim.state.batches.tally(unwell.secret.public).rejected == 0


async def verifier(folder: Path) -> None:
    async with simulated(folder, sim_manifest(), "judge", contributors=("ada",)) as sim:
        (judge,) = sim.verifiers
        judge.engine, judge.is_honest = WrongEngine(0), False
        sim.start()
        await sim.until(lambda: judge.lives and judge.life.ended.is_set())
        assert headers(sim.entries(), sim.nodes["ada"].secret.public)
        assert not [record for record in sim.entries() if isinstance(record, Verdict)]
        assert not list(judge.home.proofs.glob("*"))


def headers(records: list[object], key: bytes) -> list[BatchHeader]:
    """The batch headers of one peer."""
    return [record for record in records if isinstance(record, BatchHeader) and record.peer == key]


@pytest.mark.parametrize("scenario", [contributor, verifier], ids=lambda scenario: scenario.__name__)
def test_a_machine_that_computes_wrongly(scenario: object, tmp_path: Path) -> None:
    virtually(scenario, tmp_path)  # type: ignore[arg-type]
