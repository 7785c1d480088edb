"""Puts the roles together: a contributor, a verifier or a coordinator over libp2p in this process.

What a role is made of is said here and nowhere else; the simulation puts the same parts together over the memory transport.
"""

import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import trio

from native.search import selftest
from node.blobs.options import BlobOptions
from node.blobs.work import in_thread
from node.contributor.contributor import Contributor
from node.contributor.replacing import Replaced, Replacer
from node.coordinator.opening import open_coordinator
from node.disk.home import Home, read_ticket
from node.disk.keyring import load_key, load_or_create_key
from node.engine.process import open_engine
from node.engine.settings import EngineSettings
from node.events import Events, silent
from node.founding.invites import read_invite
from node.guest.guest import Guest
from node.guest.machine_readings import MachineReadings
from node.guest.options import GuestOptions
from node.launch import open_member
from node.lifetime import Beside, Lifetime
from node.member import Member
from node.mirror import Mirror, check_home
from node.own_status import status_of
from node.peering.reachability import UseRelays
from node.relay import PublicRelay
from node.role_status import Contributing, Verifying
from node.screen.screen import Output, Screen, open_screen
from node.standing import contributors_of
from node.status import Status
from node.verifier.verifier import Verifier
from protocol.ed25519 import SecretKey
from verification.standing import name_of


@dataclass(frozen=True, slots=True)
class Peering:
    """What the command line says of a node's place among its peers."""

    listen: Sequence[str]
    announce: Sequence[str]
    lan: bool
    relays: UseRelays
    blobs: BlobOptions


@dataclass(frozen=True, slots=True)
class NodeOptions:
    """What the command line says for any node that joins a run by its ticket."""

    home: Home
    ticket: str
    output: Output
    peering: Peering


@dataclass(frozen=True, slots=True)
class RoleOptions(NodeOptions):
    """What the command line says for a role with an engine."""

    engine: EngineSettings


def _beside(screen: Screen, output: Output) -> tuple[Beside, ...]:
    """What shows how a node stands while it runs; raises MetricsFault."""
    if output.metrics is None:
        return (screen.run,)
    from node.metrics.server import MetricsServer

    return screen.run, MetricsServer(output.metrics).run


@asynccontextmanager
async def _member(
    options: NodeOptions,
    events: Events,
    secret: SecretKey,
    coordinator_first: bool = False,
    serves_relay: bool = False,
) -> AsyncIterator[Member]:
    from node.peering.libp2p.opening import open_libp2p

    ticket = read_ticket(options.ticket)
    options.home.store_ticket(ticket)
    async with open_member(
        options.home,
        ticket,
        secret,
        partial(open_libp2p, run=ticket.run, announced=options.peering.announce),
        events,
        options.peering.listen,
        await_log=False,
        coordinator_first=coordinator_first,
        lan=options.peering.lan,
        relays=options.peering.relays,
        serves_relay=serves_relay,
        announced=options.peering.announce,
        blob_options=options.peering.blobs,
    ) as member:
        yield member


async def _live(
    options: NodeOptions,
    screen: Screen,
    member: Member,
    role: Contributor | Verifier | PublicRelay | Mirror,
    status: Callable[[], Status],
    *beside: Beside,
) -> int:
    """Runs a role once the log begins, and answers commands from now on; a drain before the log ends the node."""
    looking = trio.CancelScope()

    def drain() -> None:
        looking.cancel()
        role.drain()

    async def run() -> None:
        with looking:
            await member.until_size(2)
        if member.state.size >= 2:
            await role.run()

    contributors = partial(contributors_of, member.state)
    commands = role.rest.commands() if isinstance(role, Contributor) else None
    lifetime = Lifetime(
        options.home,
        screen,
        drain,
        role.DRAINING,
        status,
        contributors,
        beside=beside,
        commands=commands,
        put_down=role.put_down if isinstance(role, Contributor) else None,
    )
    return await lifetime.run(run)


def run_contributor(
    options: RoleOptions,
    invite: Path | None,
    name: str | None,
    recovery_hash: bytes = b"",
    guest_options: GuestOptions | None = None,
) -> int:
    """Contributes until drained or stopped; the exit status."""
    selftest()
    screen = open_screen("contributor", options.output)
    beside = _beside(screen, options.output)
    invitation = b"" if invite is None else read_invite(invite, read_ticket(options.ticket).run)
    secret = load_or_create_key(options.home.key("host"))

    async def main() -> int:
        async with (
            open_engine(options.engine, screen, options.home.fault) as engine,
            _member(options, screen, secret) as member,
        ):
            own_name = name or f"node-{secret.public.hex()[:8]}"
            role = Contributor(
                member, secret, engine, engine.kernel, options.engine.seats, invitation, own_name, recovery_hash
            )

            def status() -> Status:
                work = Contributing(
                    name=name_of(member.state, secret.public) or own_name,
                    played=role.games,
                    played_plies=role.plies,
                    played_visits=role.visits,
                    today=role.today.status(),
                    paused=role.rest.status(),
                    hottest_c=guest.hottest_c,
                )
                found = status_of(member, secret.public, role.outbox, role.queues, work)
                return replace(found, engine=engine.status())

            guest = Guest(guest_options or GuestOptions(), member, role, MachineReadings(), in_thread)
            return await _live(options, screen, member, role, status, *beside, guest.run)

    return trio.run(main)


def run_replacement(options: NodeOptions, recovery: Path, old: bytes | None, invalid_from: int | None) -> Replaced:
    """Replaces a contributor's key by the folder's new one; see `Replacer`."""
    replacer = Replacer(options.home, load_key(recovery), old)

    async def main() -> Replaced:
        async with _member(options, silent, replacer.new) as member:
            return await replacer.replace(member, invalid_from)

    return trio.run(main)


def run_verifier(options: RoleOptions) -> int:
    """Verifies until drained or stopped; the exit status."""
    selftest()
    screen = open_screen("verifier", options.output)
    beside = _beside(screen, options.output)
    host = load_or_create_key(options.home.key("host"))
    secret = load_or_create_key(options.home.key("verifier"))

    async def main() -> int:
        async with (
            open_engine(options.engine, screen, options.home.fault) as engine,
            _member(options, screen, host, coordinator_first=True, serves_relay=True) as member,
        ):
            options.home.fault.unlink(missing_ok=True)
            role = Verifier(member, secret, engine)

            def status() -> Status:
                work = Verifying(role.verdicts, role.plies)
                found = status_of(member, secret.public, role.outbox, role.queues, work)
                return replace(found, engine=engine.status())

            return await _live(options, screen, member, role, status, *beside)

    return trio.run(main)


def run_relay(options: NodeOptions) -> int:
    """Relays until drained or stopped; the exit status."""
    screen = open_screen("relay", options.output)
    beside = _beside(screen, options.output)
    secret = load_or_create_key(options.home.key("host"))

    async def main() -> int:
        async with _member(options, screen, secret, serves_relay=True) as member:
            role = PublicRelay(member)

            def status() -> Status:
                return status_of(member, secret.public, None, role.queues, role.status())

            return await _live(options, screen, member, role, status, *beside)

    return trio.run(main)


def run_mirror(options: NodeOptions, once: bool) -> int:
    """Keeps a copy of the run until drained or stopped, or makes it once; the exit status."""
    screen = open_screen("mirror", options.output)
    beside = _beside(screen, options.output)
    check_home(options.home)
    secret = load_or_create_key(options.home.key("host"))

    async def main() -> int:
        async with _member(options, screen, secret) as member:
            role = Mirror(member)
            if once:
                await role.take_once()
                return 0

            def status() -> Status:
                return status_of(member, secret.public, None, role.queues, role.status())

            return await _live(options, screen, member, role, status, *beside)

    return trio.run(main)


def run_coordinator(
    home: Home, settings: EngineSettings, output: Output, peering: Peering, grow: str | None, train_device: str
) -> int:
    """Coordinates until stopped; the exit status. See `open_coordinator` for `grow` and `train_device`."""
    selftest()
    screen = open_screen("coordinator", output)
    beside = _beside(screen, output)

    async def main() -> int:
        async with AsyncExitStack() as stack:
            engine = await stack.enter_async_context(open_engine(settings, screen, home.fault))
            opening = open_coordinator(
                home,
                engine,
                screen,
                time.time,
                listen=peering.listen,
                announced=peering.announce,
                blob_options=peering.blobs,
                lan=peering.lan,
                grow=grow,
                train_device=train_device,
            )
            role = await stack.enter_async_context(opening)
            home.fault.unlink(missing_ok=True)
            stop = trio.Event()

            def status() -> Status:
                return replace(role.status(), engine=engine.status())

            async def run() -> None:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(role.run)
                    await stop.wait()
                    nursery.cancel_scope.cancel()

            drain = role.quiesce
            lifetime = Lifetime(
                home,
                screen,
                drain,
                role.DRAINING,
                status,
                role.contributors,
                interrupt=stop.set,
                beside=beside,
            )
            return await lifetime.run(run)

    return trio.run(main)
