"""What a running node says of itself: `Status`, and its JSON, which `gonode status --json` prints.

Spec: `docs/commands.md` ("gonode status"). A node makes it in `node.own_status`; the screen, the metrics, the doctor and the
pages read the record. In JSON a role's own numbers (`work`, `node.role_status`) stand beside the others.
"""

from dataclasses import dataclass
from typing import Any, Final, Self

from node.json_record import JsonFault, encode_record, parse_record, value_of
from node.role_status import WORKS, Contributing, Pause, Work

IN, OUT = "in", "out"
"""Who dialed: the peer, or this node."""


@dataclass(frozen=True, slots=True)
class Queue:
    """What waits, how much of it, and for what since when; None, both, where nothing is waited for."""

    name: str
    length: int
    waiting_for: str | None = None
    since_unix_s: int | None = None


@dataclass(frozen=True, slots=True)
class LinkState:
    """A connection: `address` is None when the peer dialed; what is awaited longest from it, its addresses' score, and
    how many entries it said to have, and when. `witness`: of a coordinator's, the verifier who cosigns over it."""

    peer: bytes
    address: str | None
    direction: str
    since_unix_s: int
    waiting_for: str | None
    waiting_since_unix_s: int | None
    score: int | None
    log_size: int | None = None
    log_unix_s: int | None = None
    witness: bytes | None = None

    def __post_init__(self) -> None:
        if self.direction not in (IN, OUT):
            raise ValueError(f"direction is {self.direction[:40]!r}")


@dataclass(frozen=True, slots=True)
class ServiceState:
    """A part of the node: how often it was started again, and why the last time."""

    name: str
    restarts: int
    last_failure: str | None


@dataclass(frozen=True, slots=True)
class Fetching:
    """A blob that is coming, such as a network's file."""

    blob: bytes
    held_bytes: int
    total_bytes: int


@dataclass(frozen=True, slots=True)
class BanState:
    """A peer that is refused now, how often it was, and how long it still is."""

    peer: bytes
    reason: str
    times: int
    left_s: int


@dataclass(frozen=True, slots=True)
class EngineState:
    """What evaluates: `games` in flight on each thread, `under_way` now; `canaries`: how often what is known came out."""

    device: str
    kernel: str
    threads: int
    games: int
    restarts: int
    canaries: int
    under_way: int


_ROLES: Final = {kind: role for role, kind in WORKS.items()}


@dataclass(frozen=True, slots=True)
class Status:
    """How a node stands. `games` to `credit_visits` count in the log: a contributor's own, else the run's.

    Before there is a log, `run_name`, `release` and `release_id` are None. `relays` are the peers that relay for this node;
    `contained` counts faults that ended nothing; a role that computes nothing has no `engine`.
    """

    version: str
    key: bytes
    run: bytes
    run_name: str | None
    release: str | None
    release_id: bytes | None
    log_size: int
    newest_size: int | None
    peers: int
    links: tuple[LinkState, ...]
    relays: tuple[bytes, ...]
    services: tuple[ServiceState, ...]
    fetching: tuple[Fetching, ...]
    bans: tuple[BanState, ...]
    contained: int
    next_try_in_s: float | None
    queues: tuple[Queue, ...]
    games: int
    plies: int
    batches: int
    verified: int
    pending: int
    rejected: int
    credit_plies: int
    credit_visits: int
    work: Work
    engine: EngineState | None = None

    @property
    def role(self) -> str:
        """The node's role, such as `contributor`."""
        return _ROLES[type(self.work)]

    @property
    def paused(self) -> Pause | None:
        """Why a contributor's play rests; None of others."""
        return self.work.paused if isinstance(self.work, Contributing) else None

    @property
    def dialed_by(self) -> int:
        """How many of the links others made."""
        return sum(link.direction == IN for link in self.links)

    def queue(self, name: str) -> Queue | None:
        """The queue of that name."""
        return next((queue for queue in self.queues if queue.name == name), None)

    def to_json(self) -> dict[str, Any]:
        """The object that `gonode status --json` prints."""
        found = {"role": self.role, **encode_record(self)}
        work, engine = found.pop("work"), found.pop("engine")
        return {**found, **work, **({} if engine is None else {"engine": engine})}

    @classmethod
    def parse(cls, table: Any) -> Self:
        """Of what `to_json` gives; raises JsonFault."""
        role = value_of(table, "role", str)
        if role not in WORKS:
            raise JsonFault(f"role is {role[:40]!r}")
        return parse_record(cls, {"engine": None, **table}, work=parse_record(WORKS[role], table))
