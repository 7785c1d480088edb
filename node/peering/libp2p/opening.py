"""Opens a libp2p transport and keeps its host alive: one that ends is made anew in the same place.

Spec: docs/spec/swarm.md ("Hardening"). What was served and subscribed to is so again with the next host.
"""

import logging
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

import trio

from node.peering.libp2p.host import build_host
from node.peering.libp2p.mends import hardening
from node.peering.libp2p.mends.forgetting import forget_gone
from node.peering.libp2p.mends.held import return_memory
from node.peering.libp2p.places import listen_place
from node.peering.libp2p.quota import Limits, Quota
from node.peering.libp2p.transport import Libp2pTransport
from node.peering.transport import CannotListen
from protocol.ed25519 import SecretKey

log = logging.getLogger("gonode.net")

RESTART_S: Final = 0.5
"""The first wait before a host that ended is started again; doubled each time in a row, up to LAST_RESTART_S."""

LAST_RESTART_S: Final = 30.0
WELL_AFTER_S: Final = 60.0
MOST_FAILURES: Final = 10
"""A transport whose host fails so often in a row gives up."""

_CLEAN_UP_S: Final = 5.0


@asynccontextmanager
async def open_libp2p(
    secret: SecretKey,
    listen: Sequence[str] = ("/ip4/127.0.0.1/tcp/0",),
    *,
    run: bytes | None = None,
    announced: Sequence[str] = (),
    limits: Limits | None = None,
) -> AsyncIterator[Libp2pTransport]:
    """A node that listens at the multiaddrs `listen` (a `/p2p/<own id>` at their end is allowed) while in the context.

    There, and as a relay, it tells `announced` addresses if there are any. With `run` it takes part in the directory of that
    run; without, `provide` and `find` raise Unreachable.
    Raises CannotListen for an address that is none or taken, TransportError for another version of libp2p.
    An exception of the body leaves as it is, in no group.
    """
    hardening.harden()
    return_memory()
    places = [listen_place(address, secret.public) for address in dict.fromkeys(listen)]
    counts: Counter[str] = Counter()
    ending = trio.Event()
    failure: Exception | None = None
    async with trio.open_nursery() as nursery:
        try:
            transport = await nursery.start(_run, secret, places, limits or Limits(), counts, ending)
            transport.announced = announced
            if run is not None:
                transport.keep_directory(run)
            yield transport
        except Exception as error:
            failure = error
        finally:
            ending.set()
    if failure is not None:
        raise failure


async def _run(
    secret: SecretKey,
    places: Sequence[Any],
    limits: Limits,
    counts: Counter[str],
    ending: trio.Event,
    task_status: trio.TaskStatus[Libp2pTransport],
) -> None:
    """Runs a host until `ending`, and another one in its place when it fails.

    Shielded, for the library closes no connection once it is cancelled.
    """
    with trio.CancelScope(shield=True):
        async with trio.open_nursery() as nursery:
            transport = Libp2pTransport(secret, nursery, counts)
            failures = 0
            failure: CannotListen | None = None
            while not ending.is_set():
                began = trio.current_time()
                try:
                    places = await _live(transport, secret, places, limits, counts, ending, task_status)
                except CannotListen as error:
                    failure = error
                    break
                if ending.is_set():
                    break
                counts["host ended"] += 1
                failures = 1 if trio.current_time() - began > WELL_AFTER_S else failures + 1
                if failures == MOST_FAILURES:
                    failure = CannotListen(f"This node's place among peers failed {failures} times in a row.")
                    break
                with trio.move_on_after(min(RESTART_S * 2 ** (failures - 1), LAST_RESTART_S)):
                    await ending.wait()
            nursery.cancel_scope.cancel()
    if failure is not None:
        raise failure


async def _live(
    transport: Libp2pTransport,
    secret: SecretKey,
    places: Sequence[Any],
    limits: Limits,
    counts: Counter[str],
    ending: trio.Event,
    task_status: trio.TaskStatus[Libp2pTransport],
) -> Sequence[Any]:
    """One life of the host, until `ending` or until a part of it fails; where it listened.

    Raises CannotListen when it is the first and cannot listen.
    """
    from libp2p.tools.anyio_service import background_trio_service

    is_first = not hasattr(transport, "host")
    transport.quota = Quota(
        limits, counts, lambda key: transport.refuse(key), lambda key, misdeed: transport.complain(key, misdeed)
    )
    host, pubsub, router = build_host(secret, limits, transport.quota)
    is_listening = False
    with trio.CancelScope() as life:
        try:
            async with (
                host.run(listen_addrs=places),
                background_trio_service(pubsub),
                background_trio_service(router),
                trio.open_nursery() as nursery,
            ):
                await pubsub.wait_until_ready()
                found = host.get_transport_addrs()
                is_listening = len(found) == len(places)
                if is_listening:
                    places = found
                    transport.attach(host, pubsub, nursery)
                    nursery.start_soon(forget_gone, host, transport.is_dialing)
                    if is_first:
                        task_status.started(transport)
                    try:
                        await _until_one_ends(ending, [host.get_network(), pubsub, router])
                    finally:
                        life.deadline = trio.current_time() + _CLEAN_UP_S
                nursery.cancel_scope.cancel()
                with trio.CancelScope(shield=True):
                    await _close_listeners(host.get_network())
                    await transport.disconnect_all()
        except Exception as error:
            log.info("the host failed: %r", error)
    await _close_listeners(host.get_network())
    if is_first and not is_listening:
        raise CannotListen(
            f"This node cannot listen at {', '.join(map(str, places))}: does another program have that port? --listen takes "
            "another one."
        )
    return places


async def _close_listeners(network: Any) -> None:
    """Frees the ports that a host listened at, which the library leaves bound when it is cancelled."""
    with trio.move_on_after(_CLEAN_UP_S):
        for listener in list(network.listeners.values()):
            try:
                await listener.close()
            except Exception as error:
                log.debug("a listener did not end cleanly: %r", error)


async def _until_one_ends(ending: trio.Event, services: Sequence[Any]) -> None:
    """Returns when a node is to end, or one of the library's services has."""
    async with trio.open_nursery() as nursery:

        async def wait(wait_end: Any) -> None:
            await wait_end()
            nursery.cancel_scope.cancel()

        nursery.start_soon(wait, ending.wait)
        for service in services:
            nursery.start_soon(wait, service.manager.wait_finished)
