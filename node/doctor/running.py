"""Checks of the node that runs, by what it says itself (`Status`): peers, reachability, log, queues, engine, parts."""

import fcntl
from collections.abc import Sequence

from node.control import ControlError, OtherVersion, ask_status
from node.disk.home import Home
from node.disk.lockfile import LOCK_NAME
from node.doctor.finding import Finding, ok, unknown, warning, wrong
from node.status import EngineState, Queue, Status
from protocol.words import counted

LONG_S = 600
"""Seconds that something may wait without anything being wrong."""

FEW_RESTARTS = 3


def ask_node(home: Home) -> Status | OtherVersion | None:
    """What the node that runs in `home` says; None when none answers."""
    try:
        return ask_status(home.control)
    except OtherVersion as error:
        return error
    except ControlError:
        return None


def check_running(home: Home, status: Status | OtherVersion | None, now_unix_s: float) -> list[Finding]:
    """All that only a node that runs can say; `status` is what `ask_node` gave."""
    if status is None:
        return [_check_last(home)]
    if isinstance(status, OtherVersion):
        return [warning("node", str(status), "Run: gonode stop; then start it again as it was started.")]
    return [
        ok("node", f"A {status.role} runs here{_rest(status)}."),
        check_peers(status),
        check_reachability(status),
        check_log(status),
        *(check_queue(queue, now_unix_s) for queue in status.queues if queue.length or queue.waiting_for),
        *([] if status.engine is None else [check_engine(status.engine)]),
        check_services(status),
    ]


def _rest(status: Status) -> str:
    return "" if status.paused is None else f"; play rests, waiting for: {status.paused.waiting_for}"


def _check_last(home: Home) -> Finding:
    if home.fault.is_file():
        why = home.fault.read_text(encoding="utf-8", errors="replace").strip()[:300]
        return wrong(
            "node",
            f"No node runs here, and the last one ended: {why}",
            "Mend the machine first (canaries above); the next start drops what is doubtful.",
        )
    if _is_held(home):
        return warning(
            "node",
            "A process has this directory, and does not answer.",
            f"Wait a minute, for it may be starting; else end it: its number is in {home.directory / LOCK_NAME}; nothing "
            "that is finished is lost.",
        )
    return unknown(
        "node",
        "No node runs here: peers, reachability, log and queues cannot be looked at.",
        "Start it, as by gonode join, and look again.",
    )


def _is_held(home: Home) -> bool:
    """Whether a process has the lock of the directory."""
    try:
        with (home.directory / LOCK_NAME).open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def check_peers(status: Status) -> Finding:
    """Whether somebody of the run answers."""
    if status.peers:
        return ok("peers", f"{counted(status.peers, 'peer')} linked.")
    again = "" if status.next_try_in_s is None else f" It tries again in {status.next_try_in_s} s."
    return wrong(
        "peers",
        f"No peer of the run answers.{again}",
        "See whether this machine has internet and its firewall lets TCP out; ask whoever gave the ticket for a new one.",
    )


def check_reachability(status: Status) -> Finding:
    """Whether others dial this node, or could through a relay."""
    through = f" through {_named(status.relays)}" if status.relays else ""
    if status.dialed_by:
        also = f", also{through}" if through else ""
        return ok("reachability", f"Others reach this node{also}: {counted(status.dialed_by, 'peer')} dialed it.")
    if not status.peers:
        return unknown("reachability", "Without peers nobody can say.", "Mend the links to peers first.")
    if through:
        return ok("reachability", f"Nobody dialed this node yet; others reach it{through}.")
    return warning(
        "reachability",
        "Nobody dialed this node yet. It plays and sends all the same; others cannot fetch from it.",
        "Forward a TCP port of the router to this machine, and name it: --listen /ip4/0.0.0.0/tcp/PORT --announce "
        "/ip4/ADDRESS/tcp/PORT.",
    )


def _named(relays: Sequence[bytes]) -> str:
    return f"{counted(len(relays), 'relay')} ({', '.join(relay.hex()[:8] for relay in relays)})"


def check_log(status: Status) -> Finding:
    """Whether the log that the node has is the newest that it heard of."""
    size, newest = status.log_size, status.newest_size
    if newest is None:
        return unknown(
            "log",
            f"{counted(size, 'entry', 'entries')}; no signed head is known to compare with.",
            "Wait a minute; when it stays so, see the links to peers.",
        )
    if size < newest:
        return warning(
            "log",
            f"{size:,} of {newest:,} entries are here.",
            "Wait, and look again: it catches up by itself; when it does not, send what `gonode status` says with a report.",
        )
    return ok("log", f"In sync: {counted(size, 'entry', 'entries')}.")


def check_queue(queue: Queue, now_unix_s: float) -> Finding:
    """Whether what waits has waited long."""
    since = queue.since_unix_s
    waits = f", waiting for: {queue.waiting_for}" if queue.waiting_for else ""
    detail = f"{queue.length} in the queue {queue.name}{waits}"
    if since is not None and now_unix_s - since > LONG_S:
        return warning(
            "waiting",
            f"{detail}, since {(now_unix_s - since) / 60:.0f} minutes.",
            "Nothing is lost: it is sent later, in order. Where it waits for a peer, the coordinator may be away.",
        )
    return ok("waiting", f"{detail}.")


def check_engine(engine: EngineState) -> Finding:
    """Whether the engine's process lives and its canaries come out."""
    detail = f"{engine.device} ({engine.kernel}), canaries {engine.canaries}, restarts {engine.restarts}."
    if engine.restarts >= FEW_RESTARTS:
        return warning(
            "engine",
            detail,
            "It dies again and again: see the system's log for a lack of memory, or use fewer threads (--threads).",
        )
    return ok("engine", detail)


def check_services(status: Status) -> Finding:
    """Whether parts of the node fail."""
    failing = [service for service in status.services if service.restarts >= FEW_RESTARTS]
    if failing:
        names = "; ".join(f"{each.name} ({each.restarts} times): {each.last_failure}" for each in failing)
        return warning("services", names, "Report this with the lines above; the node goes on by itself meanwhile.")
    return ok("services", f"All {counted(len(status.services), 'part')} of the node run.")
