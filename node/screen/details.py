"""The rest of a status as rows, for `gonode status`: what waits since when, the log's counts, engine, links, parts, bans.

Spec: `docs/commands.md` ("gonode status"). Pure. Moments are written in UTC.
"""

import time
from collections.abc import Iterator

from node.role_status import Coordinating
from node.screen.row import Row, Tone
from node.screen.rows import main_rows
from node.status import LinkState, Status

DIGITS = 8
"""So much of a key is shown."""


def all_rows(status: Status) -> tuple[Row, ...]:
    """Everything that a status says, the most important first."""
    return (*main_rows(status, None), *_rows(status))


def _rows(status: Status) -> Iterator[Row]:
    if isinstance(status.work, Coordinating):
        for fault in status.work.faults:
            yield Row("fault", (fault,), Tone.BAD)
    for queue in status.queues:
        tone = Tone.WAIT if queue.waiting_for else Tone.PLAIN
        yield Row("queue", (f"{queue.name} {queue.length:,}", *_waits(queue.waiting_for, queue.since_unix_s)), tone)
    yield _logged(status)
    if status.engine is not None:
        yield _engine(status)
    for link in status.links:
        yield Row("link", tuple(_link(link)))
    for relay in status.relays:
        yield Row("relay", (relay.hex()[:DIGITS], "relays for this node"))
    yield from _services(status)
    for ban in status.bans:
        yield Row("ban", (ban.peer.hex()[:DIGITS], f"{ban.left_s} s left", f"times {ban.times}", ban.reason), Tone.BAD)


def _logged(status: Status) -> Row:
    counts = f"batches {status.batches:,}", f"games {status.games:,}", f"plies {status.plies:,}"
    became = f"verified {status.verified:,}", f"pending {status.pending:,}", f"rejected {status.rejected:,}"
    credit = f"credit {status.credit_plies:,} plies and {status.credit_visits:,} visits"
    return Row("logged", (*counts, *became, credit))


def _engine(status: Status) -> Row:
    engine = status.engine
    assert engine is not None
    counts = f"restarts {engine.restarts}", f"canaries {engine.canaries}", f"under way {engine.under_way}"
    return Row(
        "engine", (f"{engine.device} ({engine.kernel})", f"threads {engine.threads}", f"games {engine.games}", *counts)
    )


def _link(link: LinkState) -> list[str]:
    """The peer, since when, who dialed, and what is awaited."""
    way = "it dialed" if link.address is None else link.address.rpartition("/p2p/")[0]
    return [
        link.peer.hex()[:DIGITS],
        _since(link.since_unix_s),
        way,
        *_waits(link.waiting_for, link.waiting_since_unix_s),
    ]


def _services(status: Status) -> Iterator[Row]:
    restarts = sum(service.restarts for service in status.services)
    contained = () if not status.contained else (f"faults contained {status.contained}",)
    yield Row("parts", (f"{len(status.services)}", f"restarts {restarts}", *contained))
    for service in status.services:
        if service.restarts:
            why = f"the last one after: {service.last_failure}"
            yield Row("part", (service.name, f"restarts {service.restarts}", why), Tone.WAIT)


def _waits(what: str | None, unix_s: int | None) -> list[str]:
    if not what:
        return []
    return [f"waiting for: {what}", *([] if unix_s is None else [_since(unix_s)])]


def _since(unix_s: int) -> str:
    return f"since {time.strftime('%Y-%m-%d %H:%M:%SZ', time.gmtime(unix_s))}"
