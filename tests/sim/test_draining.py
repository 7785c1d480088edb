"""A contributor that is drained and started again and again: it goes on with every game where it was."""

from pathlib import Path
from random import Random

import trio

from node.engine.adjourning import AdjourningEngine
from tests.native.begun import plies_of
from tests.sim.inline_engine import InlineEngine
from tests.sim.manifests import sim_manifest
from tests.sim.simulation import Simulation, simulated, virtually

DRAINS = 20


def rest_of(engine: AdjourningEngine, finished: dict[str, int]) -> int:
    """The plies of games that were put down and are not finished."""
    store = engine._store
    return sum(plies_of((store.get(name) or b"")[32:]) for name in store.names("begun/") if name not in finished)


async def drained_again_and_again(folder: Path) -> Simulation:
    async with simulated(folder, sim_manifest(), "drained contributor", contributors=("ada",)) as sim:
        ada, rng = sim.nodes["ada"], Random(7)
        engine = ada.engine = InlineEngine(game_s=8.0)
        sim.start()
        await sim.until(lambda: engine.finished, 600)
        resumed = 0
        for _ in range(DRAINS):
            await sim.opened(ada)
            await trio.sleep(rng.uniform(0.5, 6.0))
            role, began = ada.role, trio.current_time()
            role.drain()  # type: ignore[union-attr]
            rested = trio.current_time()
            await ada.life.ended.wait()
            assert trio.current_time() - began < 60, sim.tail()
            assert rested == began
            await sim.restart(ada)
            await sim.opened(ada)
            resumed += bool(rest_of(ada.role.engine, engine.finished))  # type: ignore[union-attr]
        assert resumed > DRAINS // 2
        await sim.until(lambda: len(sim.state.releases.all) > 1)
        await sim.opened(ada)
        lost = engine.searched - sum(engine.finished.values()) - rest_of(ada.role.engine, engine.finished)  # type: ignore[union-attr]
        assert lost == 0
        begins = [event for event in sim.said("playing", ada) if event.values["begun"]]
        assert len(begins) > DRAINS // 2
        assert all(", going on with what is kept: " in event.text for event in begins)
        assert " in flight" in begins[0].text
        await sim.finish()
        sim.settle()
        return sim


def test_twenty_drains_lose_no_ply(tmp_path: Path) -> None:
    sim = virtually(drained_again_and_again, tmp_path)
    assert sim.refused() == []
    assert sim.state.batches.tally(sim.nodes["ada"].secret.public).rejected == 0
