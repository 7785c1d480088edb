"""What py-libp2p 0.8.1 needs before strangers may reach it: the only file that changes the library itself.

Spec: docs/spec/swarm.md ("Hardening"). Each mend has its reason here and its attack in
`tests/node/peering/libp2p/test_hardening.py`. They touch private names, so the version is exact: `harden` refuses any other
before anything listens.

- **A failed task is not the end.** The library runs a host, its gossip and each connection as services of which one
  failed task stops everything; any exception in a stream handler, five bytes `05 ff ff ff ff ff` on `/meshsub/1.1.0`, a
  gossip message with a malformed key and a validator that raises do that to a stranger's order. So a service's task
  that fails is logged and, when it must run always, started again; a handler that fails loses its stream; a signature
  that cannot be checked does not hold; identification that fails, in a system task of trio itself, is dropped.
- **Reads do not give up.** `read_exactly` stops after 100 reads, which breaks connections with small segments and
  messages over 6.5 MB. It reads until the end of the stream here.
- **Lengths are bounded before they are believed.** Negotiation reads as many bytes as a stranger announces; 64 KiB here.
- **Inbound places come back.** The library keeps the place (and a task) of each inbound connection until the host
  ends, so that it refuses everybody after 300 connections. Here they end with their connection.
- **No silent second listener.** Listening sockets have SO_REUSEPORT, so a second node on one port starts without an
  error and takes half of the connections. They do not have it here.
- **No dials by itself.** The library dials peers it has heard of, and those that gossip names. `node.peering.links` dials,
  one address at a time, so no dial waits 250 ms to see whether to try another.
- **Logging stays as it was.** Importing the library cuts its loggers off and sets their level; some lines go to the root
  logger and configure it. All of its lines come by the logger `libp2p` and pass on to the program's handlers; they
  are kept only when the program has set a level, for a peer that hangs up is an ERROR to the library.
- **Peer records in gossip go unread.** The library checks the signature of one with each message, twice, and keeps its
  addresses, at which nobody here dials.
- **What no node uses is not loaded.** Importing the library brings clients of HTTP and ACME, their colours for terminals and
  a multicast DNS that no node uses, 10 to 16 MB in all; empty modules stand in their place.
- Streams, windows and writes: `yamux`. Speed: `speed`. Gossip: `gossip_quota`. Peers that went: `forgetting`. Connections
  and streams per peer: `node.peering.libp2p.quota`.
"""

import functools
import importlib.metadata
import logging
import sys
from collections import Counter
from collections.abc import Awaitable, Callable
from types import ModuleType
from typing import Any, Final

import trio

from node.peering.libp2p.mends.speed import quicken
from node.peering.libp2p.quota import handshake
from node.peering.transport import TransportError

LIBP2P_VERSION: Final = "0.8.1"
MAX_NEGOTIATION: Final = 64 << 10

log = logging.getLogger("gonode.net")

_UNUSED: Final = {
    "libp2p.discovery.mdns.mdns": ("MDNSDiscovery", "create_mdns_discovery"),
    "libp2p.security.tls.autotls.acme": ("ACMEClient", "compute_b36_peer_id"),
    "libp2p.security.tls.autotls.broker": ("BrokerClient",),
}
"""Modules that the library's host imports for options that are never given, and the names that it takes from them."""

_RESTART_S: Final = 1.0
faults: Final[Counter[str]] = Counter()
"""Faults met in the library's own tasks, of all hosts of this process."""

_hardened = False


def harden() -> None:
    """Mends the library, once a process; raises TransportError when it is another version."""
    global _hardened
    if _hardened:
        return
    version = importlib.metadata.version("libp2p")
    if version != LIBP2P_VERSION:
        raise TransportError(
            f"This gonode needs libp2p {LIBP2P_VERSION} exactly and found {version}; "
            f"install it with `pip install libp2p=={LIBP2P_VERSION}`."
        )
    _leave_out_unused()
    level = logging.getLogger("libp2p").level
    import libp2p.pubsub.gossipsub
    import libp2p.pubsub.pubsub  # noqa: F401 - all modules are there before they are mended

    _restore_logging(level)
    _guard_services()
    _guard_signatures()
    _ignore_peer_records()
    _replace_reads()
    _release_inbound_places()
    _forbid_shared_ports()
    quicken()
    from libp2p.network import swarm
    from libp2p.stream_muxer import muxer_multistream
    from libp2p.stream_muxer.yamux import yamux

    from node.peering.libp2p.mends.yamux import BoundedYamux, PatientStream

    yamux.YamuxStream = PatientStream  # type: ignore[misc]
    vars(muxer_multistream)["Yamux"] = BoundedYamux  # made by this name, whatever class a host is given
    swarm._HAPPY_EYEBALLS_DELAY = 0.0
    _hardened = True


def harden_host(host: Any) -> None:
    """Mends one host (a BasicHost) before it runs."""
    network = host.get_network()
    handle = host._swarm_stream_handler
    identify = host._identify_task_entry

    async def handle_stream(stream: Any) -> None:
        try:
            await handle(stream)
        except Exception as error:
            _note("stream", error)
            with trio.move_on_after(1, shield=True):
                await stream.reset()

    async def identify_peer(*args: Any, **kwargs: Any) -> None:
        try:
            await identify(*args, **kwargs)
        except Exception as error:
            _note("identify", error)

    async def connect_nobody() -> None:
        await trio.lowlevel.checkpoint()

    network.set_stream_handler(handle_stream)
    host._identify_task_entry = identify_peer
    network.auto_connector.maybe_connect = connect_nobody
    network._inbound_limiter = trio.CapacityLimiter(2**20)  # node.peering.libp2p.quota counts instead


def _note(what: str, error: BaseException) -> None:
    faults[what] += 1
    log.info("contained a fault in libp2p (%s): %r", what, error)


def _leave_out_unused() -> None:
    if "libp2p" in sys.modules:
        return
    for name, members in _UNUSED.items():
        module = ModuleType(name)
        vars(module).update(dict.fromkeys(members))
        sys.modules[name] = module


def _restore_logging(level: int) -> None:
    from libp2p.network.connection import swarm_connection

    logger = logging.getLogger("libp2p")
    logger.handlers.clear()
    logger.propagate = True
    logger.setLevel(level or logging.CRITICAL)
    logging.getLogger("libp2p.network.auto_connector").setLevel(logging.NOTSET)
    vars(swarm_connection)["logging"] = logging.getLogger("libp2p.network.connection")


def _guard_services() -> None:
    from libp2p.tools.anyio_service.trio_manager import TrioManager

    run_task = TrioManager.run_task

    def run_guarded(
        self: Any, async_fn: Callable[..., Awaitable[Any]], *args: Any, daemon: bool = False, **options: Any
    ) -> None:
        if options.get("_internal"):
            run_task(self, async_fn, *args, daemon=daemon, **options)
            return

        @functools.wraps(async_fn)
        async def guarded(*given: Any) -> None:
            while True:
                try:
                    await async_fn(*given)
                    return
                except Exception as error:
                    _note("task", error)
                if not daemon:
                    return
                await trio.sleep(_RESTART_S)

        run_task(self, guarded, *args, daemon=daemon, **options)

    TrioManager.run_task = run_guarded  # type: ignore[method-assign]


def _guard_signatures() -> None:
    from libp2p.pubsub import pubsub

    validate = vars(pubsub)["signature_validator"]

    def validate_safely(message: Any) -> bool:
        try:
            return bool(validate(message))
        except Exception as error:
            _note("signature", error)
            return False

    vars(pubsub)["signature_validator"] = validate_safely


def _ignore_peer_records() -> None:
    from libp2p.pubsub import gossipsub, pubsub

    for module in (pubsub, gossipsub):
        vars(module)["maybe_consume_signed_record"] = _accept_unread


def _accept_unread(message: Any, host: Any, peer: Any) -> bool:
    return True


def _replace_reads() -> None:
    from libp2p.io import utils as io_utils
    from libp2p.io.exceptions import IncompleteReadError
    from libp2p.utils import varint

    given_up = io_utils.read_exactly

    async def read_exactly(reader: Any, n: int, retry_count: int = 0) -> bytes:
        part = await reader.read(n) if n else b""
        if len(part) == n:
            return bytes(part)
        buffer = bytearray(part)
        while len(buffer) < n:
            part = await reader.read(n - len(buffer)) if part else b""
            if not part:
                raise IncompleteReadError(
                    f"The stream ended after {len(buffer)} of {n} bytes.",
                    expected_bytes=n,
                    received_bytes=len(buffer),
                )
            buffer += part
        return bytes(buffer)

    async def read_negotiation(reader: Any) -> bytes:
        return await varint.read_varint_prefixed_bytes_limited(reader, MAX_NEGOTIATION)

    varint.read_varint_prefixed_bytes = read_negotiation
    for name, module in list(sys.modules.items()):
        if name.startswith("libp2p.") and getattr(module, "read_exactly", None) is given_up:
            module.read_exactly = read_exactly  # type: ignore[attr-defined]


def _release_inbound_places() -> None:
    from libp2p.network.connection.raw_connection import RawConnection
    from libp2p.network.swarm import Swarm

    async def handle_inbound(self: Any, stream: Any, address: Any, _event: Any) -> None:
        connection = RawConnection(stream, False)
        try:
            with trio.CancelScope() as scope:
                handshake.set(scope)
                muxed = await self.upgrade_inbound_raw_conn(connection, address)
            if not scope.cancelled_caught:
                await muxed.event_closed.wait()
        except Exception as error:
            log.debug("an inbound connection failed: %r", error)
        finally:
            with trio.move_on_after(1, shield=True):
                await connection.close()

    Swarm._do_handle_inbound_connection = handle_inbound  # type: ignore[assignment,method-assign]


def _forbid_shared_ports() -> None:
    import socket

    from libp2p.transport.tcp import tcp

    def reuse_address(sock: Any) -> None:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)

    tcp._set_reuse_flags = reuse_address
