"""Processes that serve and fetch blobs over libp2p, each under orders of the benchmark that started it."""

import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import trio

from benchmarks._uplinks import enter
from node.blobs.service import BlobService
from node.blobs.work import in_thread
from node.disk.blob_store import BlobStore
from node.peering.libp2p.mends import hardening
from node.peering.libp2p.opening import open_libp2p
from protocol.ed25519 import SecretKey

Place = tuple[str, str]
"""A network namespace and the address there."""

LOOPBACK: Place = ("", "127.0.0.1")


class BlobNode:
    """A node in a process of its own."""

    def __init__(self, orders: Connection) -> None:
        self._orders = orders

    def ask(self, order: str, *arguments: Any) -> Any:
        """What the node answers to an order."""
        self.send(order, *arguments)
        return self.answer()

    def send(self, order: str, *arguments: Any) -> None:
        """Gives an order; the answer is to be taken before the next one."""
        self._orders.send((order, *arguments))

    def answer(self) -> Any:
        """The answer to the order given last; RuntimeError when it failed."""
        answer = self._orders.recv()
        if isinstance(answer, Exception):
            raise RuntimeError(str(answer))
        return answer


@contextmanager
def blob_nodes(places: Sequence[Place]) -> Iterator[list[BlobNode]]:
    """A node at each place, while in the context; forked, for the library takes a second to import."""
    hardening.harden()
    context = get_context("fork")
    nodes, processes = [], []
    try:
        for place in places:
            near, far = context.Pipe()
            process = context.Process(target=_run, args=(place, far, near), daemon=True)
            process.start()
            far.close()
            nodes.append(BlobNode(near))
            processes.append(process)
        yield nodes
    finally:
        for process in processes:
            process.kill()
            process.join()


def _run(place: Place, orders: Connection, others_end: Connection) -> None:
    others_end.close()
    name, address = place
    if name:
        enter(name)
    with tempfile.TemporaryDirectory(prefix="gonode-blobs-") as folder:
        trio.run(_serve, address, orders, BlobStore(Path(folder) / "public"))


async def _serve(address: str, orders: Connection, store: BlobStore) -> None:
    async with open_libp2p(SecretKey.generate(), [f"/ip4/{address}/tcp/0"]) as transport:
        blobs = BlobService(transport, store, work=in_thread)

        async def answer(order: str, *arguments: Any) -> Any:
            match order, arguments:
                case "address", ():
                    return transport.addresses()[0]
                case "dial", (addresses,):
                    for each in addresses:
                        await transport.dial(each)
                case "put", (blob,):
                    return store.put(blob)
                case "fetch", (digest, within_s):
                    started = time.perf_counter()
                    await blobs.fetch(digest, transport.peers, timeout_s=within_s)
                    return time.perf_counter() - started
                case "forget", (digest,):
                    store.delete(digest)
                case "processor", ():
                    return time.process_time()
                case "sent", ():
                    return blobs.sent_bytes
            return None

        while True:
            try:
                order, *arguments = await trio.to_thread.run_sync(orders.recv, abandon_on_cancel=True)
            except EOFError:
                return
            try:
                given = await answer(order, *arguments)
            except Exception as error:
                given = RuntimeError(f"{order}: {error}")
            orders.send(given)
