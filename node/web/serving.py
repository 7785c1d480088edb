"""`gonode web` as a server: the log is taken in as it grows, and pages are answered meanwhile, on one trio loop.

Page: docs/pages.md. Invariants: the node's store is only read; one such process a directory.
"""

import fcntl
import ipaddress
import os
import signal
import socket
import sqlite3
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import trio
from hypercorn.config import Config

from node.disk.home import Home, HomeError
from node.disk.lockfile import DirectoryInUse
from node.web.app import make_app
from node.web.connection_limits import ConnectionLimits
from node.web.connections import answer_connections
from node.web.day_maker import DayMaker
from node.web.faults import TOLD_AGAIN_S, Faults
from node.web.games.indexer import Indexer
from node.web.guard import LOCAL, Guard
from node.web.model.feeder import Feeder, is_busy

LOOK_AGAIN_S: Final = 1.0
REST: Final = 1.0
"""For so long as it took to take in games, that then rests: pages and the node on this machine come first."""
LOCK: Final = "pages.lock"
FAILED_S: Final = 60.0
READ_TIMEOUT_S: Final = 15
BACKLOG: Final = 100

Said = Callable[[str], object]


class CannotServe(HomeError):
    """One sentence about an address at which pages cannot be served."""


async def serve_pages(home: Home, host: str, port: int, say: Said, proxies: Collection[str] = ()) -> None:
    """Serves until cancelled or told to end; raises HomeError, StoreError, LogRefused, DirectoryInUse, OSError.

    `proxies`: addresses of web servers before it, which say for whom they ask.
    """
    if not home.directory.is_dir():
        raise HomeError(f"There is no directory {home.directory}.")
    home.load_ticket()  # or the lock would be made in any directory
    with _alone(home.directory):
        feeder = Feeder(home)
        indexer, maker, faults = Indexer(home), DayMaker(home), Faults(say)
        try:
            async with trio.open_nursery() as nursery:
                await nursery.start(_end_on_signal, nursery.cancel_scope)
                nursery.start_soon(_feed, feeder, say)
                nursery.start_soon(_index, indexer, maker, say)
                app = make_app(home, faults, proxies=proxies, hosts=_hosts(host, proxies))
                listener = _listening(host, port)
                nursery.start_soon(_serve, app, listener, ConnectionLimits(proxies=proxies), faults)
                nursery.start_soon(_tell, faults)
                say(f"Pages of this run: {_url(listener)} (Ctrl-C ends this).")
        finally:
            faults.tell()
            feeder.close()
            indexer.close()
            maker.close()


async def _tell(faults: Faults) -> None:
    while True:
        await trio.sleep(TOLD_AGAIN_S)
        faults.tell()


async def _serve(app: Guard, listener: trio.SocketListener, limits: ConnectionLimits, faults: Faults) -> None:
    config = Config()
    config.accesslog = None
    config.errorlog = "-"
    config.loglevel = "WARNING"
    config.read_timeout = READ_TIMEOUT_S
    config.include_server_header = False
    await answer_connections(app, config, listener, limits, faults)


def _hosts(host: str, proxies: Collection[str]) -> Collection[str]:
    """The names that are answered to: on this machine alone, with no proxy that makes it known, only this machine's."""
    try:
        is_local = host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        is_local = False
    own = f"[{host}]" if ":" in host else host
    return {*LOCAL, own} if is_local and not proxies else ()


def _listening(host: str, port: int) -> trio.SocketListener:
    """Listens at an address; raises CannotServe."""
    bound = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((host, port))
        bound.listen(BACKLOG)
    except OSError as error:
        bound.close()
        raise CannotServe(f"Nothing can be served at {host}, port {port}: {error.strerror or error}.") from error
    return trio.SocketListener(trio.socket.from_stdlib_socket(bound))


def _url(listener: trio.SocketListener) -> str:
    host, port = listener.socket.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


async def _feed(feeder: Feeder, say: Said) -> None:
    """Takes in what there is, then looks again each second; a disk that is full ends no page."""
    told, said = 0, ""
    while True:
        has_more, pause_s = False, LOOK_AGAIN_S
        try:
            has_more = await trio.to_thread.run_sync(feeder.step)
            said = ""
        except sqlite3.OperationalError as error:
            if not is_busy(error):
                pause_s = FAILED_S
                if str(error) != said:
                    said = str(error)
                    say(f"The log is not taken in: {said}. Pages stay as they are; this is tried again each minute.")
        if has_more and feeder.size >= told + 50_000:
            told = feeder.size
            say(f"{told:,} entries of the log are taken in.")
        if not has_more:
            await trio.sleep(pause_s)


async def _end_on_signal(scope: trio.CancelScope, task_status: trio.TaskStatus[None]) -> None:
    with trio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        task_status.started()
        async for _ in signals:
            scope.cancel()
            return


async def _index(indexer: Indexer, maker: DayMaker, say: Said) -> None:
    """Takes in the games that are here, and then makes the files of whole days, in half of the time at most."""
    told = ""
    while True:
        started_s = trio.current_time()
        pause_s = LOOK_AGAIN_S
        try:
            if await trio.to_thread.run_sync(lambda: indexer.step() or maker.step()):
                pause_s = REST * (trio.current_time() - started_s)
            told = ""
        except (sqlite3.Error, OSError) as error:
            if not (isinstance(error, sqlite3.Error) and is_busy(error)):
                pause_s = FAILED_S
                if str(error) != told:
                    told = str(error)
                    say(f"The games are not taken in: {told}. Other pages grow; this is tried again each minute.")
        await trio.sleep(pause_s)


@contextmanager
def _alone(directory: Path) -> Iterator[None]:
    """Holds the lock of the pages' file; raises DirectoryInUse."""
    file = os.open(directory / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise DirectoryInUse(f"Another `gonode web` shows {directory} already.") from error
        yield
    finally:
        os.close(file)
