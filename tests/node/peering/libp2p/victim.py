"""A node in a process of its own, for attacks to be aimed at: `victim.py [STREAMS CONNECTIONS_PER_ADDRESS CONNECTIONS]`.

Prints its address; ends when its standard input does.
"""

import json
import sys
from collections import Counter
from pathlib import Path

import trio

from node.peering.call import serve_calls
from node.peering.libp2p.opening import open_libp2p
from node.peering.libp2p.quota import Limits
from node.peering.transport import Misdeed, Stream
from protocol.ed25519 import SecretKey

ECHO, RAISE, IDLE, LATE, STATUS, END = (
    f"/gonode/{name}/1" for name in ("echo", "raise", "idle", "late", "status", "end")
)
FIND = "/gonode/find/1"
RUN = b"the run of the victim".ljust(32)
GOOD_TOPIC, BAD_TOPIC = "good", "bad"
LATE_S = 6.0
LATE_FRAMES = 12


async def main(limits: Limits) -> None:
    """Serves until the standard input ends."""
    heard: list[str] = []
    idle = 0
    misdeeds: Counter[str] = Counter()

    def complain(peer: bytes, misdeed: Misdeed) -> None:
        misdeeds[misdeed.name] += 1

    async def echo(peer: bytes, request: bytes) -> bytes:
        return request

    async def fail(stream: Stream) -> None:
        raise RuntimeError("a handler that fails")

    async def hold(stream: Stream) -> None:
        nonlocal idle
        idle += 1
        await trio.sleep_forever()

    async def late(stream: Stream) -> None:
        await trio.sleep(LATE_S)
        for _ in range(LATE_FRAMES):
            await stream.send((await stream.receive())[:10])

    async def end(peer: bytes, request: bytes) -> bytes:
        part, how = request.decode().split()
        services = {"host": transport.host.get_network(), "pubsub": transport.pubsub, "router": transport.pubsub.router}
        manager = services[part].manager

        async def fail() -> None:
            raise RuntimeError("a service of the library that fails")

        async def act() -> None:
            await trio.sleep(0.2)
            if how == "stops":
                manager.cancel()
            else:
                manager.run_task(fail, _internal=True)

        trio.lowlevel.spawn_system_task(act)
        return b""

    async def status(peer: bytes, request: bytes) -> bytes:
        tasks = trio.lowlevel.current_statistics().tasks_living
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        faults = dict(transport.faults())
        kept = {"records": len(directory.records), "contacts": len(directory.contacts)}
        return json.dumps(
            {
                "resident": pages * 4096,
                "faults": faults,
                "heard": heard,
                "idle": idle,
                "tasks": tasks,
                **kept,
                **misdeeds,
            }
        ).encode()

    async def find(peer: bytes, request: bytes) -> bytes:
        return json.dumps(await transport.find(request)).encode()

    async def hear(source: bytes, data: bytes) -> None:
        heard.append(data.decode())

    def validate(*_: object) -> bool:
        raise RuntimeError("a validator that fails")

    async with open_libp2p(SecretKey.generate(), limits=limits) as transport:
        transport.complain = complain
        serve_calls(transport, ECHO, echo)
        directory = transport.keep_directory(RUN)
        serve_calls(transport, STATUS, status)
        serve_calls(transport, FIND, find)
        serve_calls(transport, END, end)
        transport.serve(RAISE, fail)
        transport.serve(IDLE, hold)
        transport.serve(LATE, late)
        transport.subscribe(GOOD_TOPIC, hear)
        transport.subscribe(BAD_TOPIC, hear)
        transport.pubsub.set_topic_validator(BAD_TOPIC, validate, False)
        print(transport.addresses()[0], flush=True)
        while await trio.to_thread.run_sync(sys.stdin.readline):
            pass


if __name__ == "__main__":
    trio.run(main, Limits(*map(int, sys.argv[1:])))
