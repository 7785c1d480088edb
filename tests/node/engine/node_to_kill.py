"""`python -m tests.node.engine.node_to_kill FOLDER`: prints its engine's process id, asks for games,
and then does nothing any more."""

import sys
import time
from pathlib import Path

import trio

from native.network import Kernel
from node.engine.process import open_engine
from node.engine.settings import EngineSettings
from node.events import silent
from tests.node.engine.jobs import job, network


async def main() -> None:
    net = network(1)
    async with (
        open_engine(EngineSettings(Kernel.best(), 2, 1), silent, Path(sys.argv[1]) / "fault") as engine,
        trio.open_nursery() as nursery,
    ):
        for counter in range(200):
            nursery.start_soon(engine.play, job(counter, net))
        await engine.verify_canaries()
        print(engine.pid, flush=True)
        time.sleep(600)


trio.run(main)
