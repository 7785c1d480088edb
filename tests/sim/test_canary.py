"""Machines that begin to compute wrongly: their canaries tell, and nothing of them comes into the log."""

from dataclasses import replace
from pathlib import Path

import pytest

from native.canary import WrongMachine
from native.pool import Done, Job
from node.disk.store import Store
from protocol.header import BatchHeader
from protocol.verdict import Verdict
from tests.sim.inline_engine import InlineEngine
from tests.sim.manifests import sim_manifest
from tests.sim.simulation import simulated, virtually

WELL_GAMES = 5


class WrongEngine(InlineEngine):
    """Searches games from a counter on with other numbers; its canaries see it once such a game is finished."""

    def __init__(self, first: int) -> None:
        super().__init__()
        self._first = first
        self._is_wrong = False

    async def play(self, job: Job) -> Done:
        """See `Engine.play`."""
        done = await super().play(self._changed(job))
        self._is_wrong = self._is_wrong or job.counter >= self._first
        return done

    async def replay(self, job: Job, block: bytes) -> Done:
        """See `Engine.replay`."""
        done = await super().replay(self._changed(job), block)
        self._is_wrong = self._is_wrong or job.counter >= self._first
        return done

    async def verify_canaries(self) -> None:
        """See `Engine.verify_canaries`."""
        await super().verify_canaries()
        if self._is_wrong:
            raise WrongMachine("This machine computes wrongly: 2 + 2 = 5.")

    def _changed(self, job: Job) -> Job:
        wrong = replace(job.config, visits_full=job.config.visits_full + 1)
        return job if job.counter < self._first else replace(job, config=wrong)


async def contributor(folder: Path) -> None:
    async with simulated(folder, sim_manifest(), "unwell", contributors=("ada",)) as sim:
        unwell = sim.invite("unwell", WrongEngine(WELL_GAMES), honest=False)
        sim.start()
        await sim.until(lambda: unwell.lives and unwell.life.ended.is_set())
        unwell.home.fault.write_text("This machine computes wrongly: 2 + 2 = 5.")  # as node/engine/process.py does
        sent = len(headers(sim.entries(), unwell.secret.public)) * sim.manifest.admission.games_per_batch
        assert 0 < sent <= WELL_GAMES
        with Store(unwell.home.database) as store:
            assert max(counter for counter, _ in store.games(sim.state.releases.all[0].id)) >= WELL_GAMES

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
