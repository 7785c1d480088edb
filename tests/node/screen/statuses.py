"""Statuses of nodes that are well, role by role, for tests of what is made of them."""

from dataclasses import replace
from typing import Any

from node.role_status import Contributing, Coordinating, Mirroring, Played, Relaying, Verifying, Work
from node.status import IN, OUT, EngineState, LinkState, Queue, ServiceState, Status

KEY = bytes.fromhex("9c41e07b" + "00" * 28)
ENGINE = EngineState("cpu", "avx2", threads=4, games=4, restarts=0, canaries=9, under_way=16)
CONTRIBUTING = Contributing("mira", 41, 1204, 120_400, Played(41, 1204), None, None)
COORDINATING = Coordinating("gating", None, (), (), None, None)
RELAYING = Relaying(1, 2, 3)


def queue(name: str, length: int = 0, waiting_for: str | None = None) -> Queue:
    """One queue of a status."""
    return Queue(name, length, waiting_for, 3 if waiting_for else None)


def link(direction: str = OUT, peer: bytes = b"\xcd" * 32) -> LinkState:
    """A link on which nothing is awaited."""
    address = None if direction == IN else "/ip4/192.0.2.7/tcp/9/p2p/x"
    return LinkState(peer, address, direction, 3, None, None, 0)


def status(work: Work, *queues: Queue, **changes: Any) -> Status:
    """A status of a node that is well."""
    found = Status(
        version="0.4.1",
        key=KEY,
        run=b"\xab" * 32,
        run_name="alpha",
        release="r0123",
        release_id=bytes.fromhex("8f3e21aa" + "00" * 28),
        log_size=812_051,
        newest_size=812_051,
        peers=9,
        links=(link(IN), link(OUT)),
        relays=(),
        services=(ServiceState("links", 0, None),),
        fetching=(),
        bans=(),
        contained=0,
        next_try_in_s=None,
        queues=queues,
        games=1204,
        plies=108_360,
        batches=12,
        verified=1102,
        pending=102,
        rejected=0,
        credit_plies=24_310,
        credit_visits=2_431_000,
        work=work,
        engine=ENGINE if isinstance(work, Contributing | Verifying | Coordinating) else None,
    )
    return replace(found, **changes)


def contributor(*queues: Queue, own: Contributing = CONTRIBUTING, **changes: Any) -> Status:
    """A contributor that plays."""
    return status(own, *(queues or (queue("batch"), queue("games", 2))), **changes)


EVERY = (
    contributor(),
    status(Verifying(3, 400), queue("judging", 3)),
    status(COORDINATING),
    status(RELAYING),
    status(Mirroring(7, 80, 0)),
)
"""One of each role."""
