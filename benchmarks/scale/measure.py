"""The numbers of the paper model that no other benchmark gives, taken here: `python -m benchmarks.scale --measure`.

Games of the default run with the trained 9x9 network, a call over libp2p on loopback, the memory that a followed entry
leaves, and a file made durable. Each takes seconds.
"""

import os
import tempfile
import time
import tracemalloc
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from statistics import median

import trio

from benchmarks._games import nine_by_nine
from benchmarks._run import Row
from benchmarks._world import run_with
from native.network import Kernel
from native.pool import Pool
from node.disk.files import write_file
from node.founding.manifest_file import load_manifest
from node.machine.playing import play, self_play_games
from node.peering.call import call, serve_calls
from node.peering.libp2p.opening import open_libp2p
from protocol.batch import encode_batch
from protocol.compress import compress
from protocol.ed25519 import SecretKey
from verification.state import LogState

CALLS = 300
PROTOCOL = "/gonode/measure/1"


def measured(games: int) -> Iterator[Row]:
    """A row for each number; `games` self-play games are played."""
    yield from _games(games)
    yield from _call()
    yield from _memory()
    yield from _sync()


def _row(what: str, value: float, unit: str) -> Row:
    return {"what": what, "value": float(value), "unit": unit}


def _games(count: int) -> Iterator[Row]:
    network, name = nine_by_nine()
    search = load_manifest(None).selfplay
    job_of = self_play_games(network, 9, search.visits_full)
    shares = {
        field: getattr(search, field)
        for field in (
            "visits_full",
            "visits_fast",
            "full_share_ppm",
            "temperature_start_micro",
            "temperature_end_micro",
        )
    }
    jobs = [replace(job, config=replace(job.config, **shares)) for job in map(job_of, range(count))]
    with Pool(1, Kernel.BEST) as pool:
        played, dones = play(pool, jobs)
    raw = encode_batch(done.block for done in dones)
    yield _row(f"plies a game, default run, {name}", played.plies / played.games, "plies")
    yield _row("visits a ply", played.visits / played.plies, "visits")
    yield _row("self-play of the default run", played.plies / played.cpu_s, "plies a processor second")
    yield _row("raw batch", len(raw) / played.plies, "bytes a ply")
    yield _row("batch as it travels", len(compress(raw)) / played.plies, "bytes a ply")


def _call() -> Iterator[Row]:
    async def answer(peer: bytes, request: bytes) -> bytes:
        return bytes(400)

    async def main() -> float:
        one, two = (SecretKey(bytes([number]) * 32) for number in (1, 2))
        async with open_libp2p(one) as server, open_libp2p(two) as client:
            serve_calls(server, PROTOCOL, answer)
            peer = await client.dial(server.addresses()[0])
            await call(client, peer, PROTOCOL, b"")
            started = time.process_time()
            for _ in range(CALLS):
                await call(client, peer, PROTOCOL, b"")
            return (time.process_time() - started) / CALLS

    yield _row("a call of 400 bytes, both ends together", trio.run(main) * 1e3, "processor ms")


def _memory() -> Iterator[Row]:
    world = run_with(80)
    entries = world.entries
    tracemalloc.start()
    state = LogState(world.run)
    for entry in entries:
        state.apply(entry)
    used, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    yield _row("memory that an applied entry leaves in the state", used / len(entries), "bytes")


def _sync() -> Iterator[Row]:
    times = []
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
        for number in range(50):
            started = time.perf_counter()
            write_file(Path(folder, str(number)), bytes(100_000))
            times.append(time.perf_counter() - started)
    yield _row("a file of 100 kB made durable", median(times) * 1e3, "ms")
