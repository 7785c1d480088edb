"""A node's status as metric families, with names and units as Prometheus wants them.

Spec: `docs/metrics.md`, which lists every one of them. Pure. What a status does not hold has no family, so that nothing is
shown as 0 that nobody counted.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Final, TypeVar

from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from node.role_status import Contributing, Coordinating, Mirroring, Relaying, Verifying, Work
from node.status import EngineState, Fetching, Queue, ServiceState, Status

P = TypeVar("P")
W = TypeVar("W", bound=Work)
Labels = tuple[str, ...]
Sample = tuple[Labels, float | int | None]
Samples = Callable[[Status, float], Iterable[Sample]]


class Kind(Enum):
    """A gauge goes up and down; a counter only up, from 0 at the node's start."""

    GAUGE = "gauge"
    COUNTER = "counter"


@dataclass(frozen=True, slots=True)
class Family:
    """`samples` makes of a status and the wall clock the values and their labels; None is left out."""

    name: str
    kind: Kind
    help: str
    samples: Samples
    labels: Labels = ()

    def metric(self, status: Status, now_unix_s: float) -> Metric | None:
        """The family with its samples; None without any."""
        made = CounterMetricFamily if self.kind == Kind.COUNTER else GaugeMetricFamily
        metric = made(self.name, self.help, labels=self.labels)
        for labels, value in self.samples(status, now_unix_s):
            if value is not None:
                metric.add_metric(labels, value)
        return metric if metric.samples else None


def _one(value: Callable[[Status], float | int | None]) -> Samples:
    """One number without labels."""

    def samples(status: Status, now_unix_s: float) -> Iterator[Sample]:
        yield (), value(status)

    return samples


def _of(kind: type[W], value: Callable[[W], float | int | None]) -> Samples:
    """One number of a role's own."""

    def samples(status: Status, now_unix_s: float) -> Iterator[Sample]:
        if isinstance(status.work, kind):
            yield (), value(status.work)

    return samples


def _of_engine(value: Callable[[EngineState], int]) -> Samples:
    """One number of the engine."""

    def samples(status: Status, now_unix_s: float) -> Iterator[Sample]:
        if status.engine is not None:
            yield (), value(status.engine)

    return samples


def _each(parts: Callable[[Status], Iterable[P]], label: Callable[[P], str], value: Callable[[P], int]) -> Samples:
    """A number of each part, under its name."""

    def samples(status: Status, now_unix_s: float) -> Iterator[Sample]:
        for each in parts(status):
            yield (label(each),), value(each)

    return samples


def _info(status: Status, now_unix_s: float) -> Iterator[Sample]:
    name = status.work.name if isinstance(status.work, Contributing) else ""
    run, release = status.run_name or "", status.release or ""
    yield (status.version, status.role, name, status.key.hex(), status.run.hex(), run, release), 1


def _waiting(status: Status, now_unix_s: float) -> Iterator[Sample]:
    for queue in status.queues:
        yield (queue.name,), 0 if queue.since_unix_s is None else max(0.0, now_unix_s - queue.since_unix_s)


def _games(status: Status, now_unix_s: float) -> Iterator[Sample]:
    yield ("verified",), status.verified
    yield ("pending",), status.pending
    yield ("rejected",), status.rejected


def _engine(status: Status, now_unix_s: float) -> Iterator[Sample]:
    if status.engine is not None:
        yield (status.engine.device, status.engine.kernel), 1


def _step(work: Coordinating) -> int | None:
    return None if work.training is None else work.training.step


def _steps(work: Coordinating) -> int | None:
    return None if work.training is None else work.training.steps


def _blobs(status: Status) -> tuple[Fetching, ...]:
    return status.fetching


def _digest(blob: Fetching) -> str:
    return blob.blob.hex()


def _queues(status: Status) -> tuple[Queue, ...]:
    return status.queues


def _services(status: Status) -> tuple[ServiceState, ...]:
    return status.services


_INFO: Final = ("version", "role", "name", "key", "run", "run_name", "release")
_GAUGE, _COUNTER = Kind.GAUGE, Kind.COUNTER

FAMILIES: Final = (
    Family("gonode_info", _GAUGE, "1; the labels say which node of which run this is.", _info, _INFO),
    # the run's log
    Family("gonode_log_entries", _GAUGE, "Entries in this node's copy of the log.", _one(lambda s: s.log_size)),
    Family(
        "gonode_log_newest_entries",
        _GAUGE,
        "Entries under the newest head that is known.",
        _one(lambda s: s.newest_size),
    ),
    Family("gonode_logged_batches", _GAUGE, "Batches in the log.", _one(lambda s: s.batches)),
    Family("gonode_logged_games", _GAUGE, "Games in the log.", _one(lambda s: s.games)),
    Family("gonode_logged_plies", _GAUGE, "Plies of the games in the log.", _one(lambda s: s.plies)),
    Family("gonode_games", _GAUGE, "Games in the log, by what became of them.", _games, ("outcome",)),
    Family("gonode_credit_plies", _GAUGE, "Plies of accepted batches.", _one(lambda s: s.credit_plies)),
    Family("gonode_credit_visits", _GAUGE, "Visits of accepted batches.", _one(lambda s: s.credit_visits)),
    # peers
    Family("gonode_peers", _GAUGE, "Connected peers.", _one(lambda s: s.peers)),
    Family("gonode_relays", _GAUGE, "Peers that relay for this node.", _one(lambda s: len(s.relays))),
    Family("gonode_banned_peers", _GAUGE, "Peers that are refused now.", _one(lambda s: len(s.bans))),
    Family(
        "gonode_contained_faults",
        _COUNTER,
        "Faults of peers or libraries that ended nothing.",
        _one(lambda s: s.contained),
    ),
    Family(
        "gonode_next_try_seconds", _GAUGE, "Until an unreachable coordinator is tried.", _one(lambda s: s.next_try_in_s)
    ),
    Family(
        "gonode_blob_bytes",
        _GAUGE,
        "Size of a blob that is coming.",
        _each(_blobs, _digest, lambda blob: blob.total_bytes),
        ("blob",),
    ),
    Family(
        "gonode_blob_held_bytes",
        _GAUGE,
        "How much of a blob that is coming is here.",
        _each(_blobs, _digest, lambda blob: blob.held_bytes),
        ("blob",),
    ),
    # what waits
    Family(
        "gonode_queue_length",
        _GAUGE,
        "Items in a queue.",
        _each(_queues, lambda queue: queue.name, lambda queue: queue.length),
        ("queue",),
    ),
    Family(
        "gonode_queue_waiting_seconds", _GAUGE, "How long a queue waits; 0 while it does not.", _waiting, ("queue",)
    ),
    Family(
        "gonode_service_restarts",
        _COUNTER,
        "How often a part of the node was started again.",
        _each(_services, lambda part: part.name, lambda part: part.restarts),
        ("service",),
    ),
    # the engine
    Family("gonode_engine_info", _GAUGE, "1; the labels say what evaluates.", _engine, ("device", "kernel")),
    Family("gonode_engine_threads", _GAUGE, "Threads of the engine.", _of_engine(lambda e: e.threads)),
    Family("gonode_engine_games", _GAUGE, "Games that the engine has in hand.", _of_engine(lambda e: e.under_way)),
    Family(
        "gonode_engine_restarts", _COUNTER, "How often the engine was started again.", _of_engine(lambda e: e.restarts)
    ),
    Family("gonode_engine_canaries", _COUNTER, "How often what is known came out.", _of_engine(lambda e: e.canaries)),
    # a contributor
    Family("gonode_played_games", _COUNTER, "Games finished.", _of(Contributing, lambda w: w.played)),
    Family("gonode_played_plies", _COUNTER, "Plies of finished games.", _of(Contributing, lambda w: w.played_plies)),
    Family("gonode_played_visits", _COUNTER, "Visits of finished games.", _of(Contributing, lambda w: w.played_visits)),
    Family(
        "gonode_today_games", _GAUGE, "Games finished since midnight UTC.", _of(Contributing, lambda w: w.today.games)
    ),
    Family(
        "gonode_today_plies",
        _GAUGE,
        "Plies of the games finished since midnight UTC.",
        _of(Contributing, lambda w: w.today.plies),
    ),
    Family(
        "gonode_paused", _GAUGE, "1 while play rests, else 0.", _of(Contributing, lambda w: int(w.paused is not None))
    ),
    Family(
        "gonode_hottest_celsius",
        _GAUGE,
        "The hottest sensor of the processor.",
        _of(Contributing, lambda w: w.hottest_c),
    ),
    # a verifier
    Family("gonode_verdicts", _COUNTER, "Verdicts given.", _of(Verifying, lambda w: w.verdicts)),
    Family("gonode_replayed_plies", _COUNTER, "Plies replayed.", _of(Verifying, lambda w: w.replayed_plies)),
    # a relay, a mirror
    Family("gonode_relay_networks", _COUNTER, "Networks fetched to be served.", _of(Relaying, lambda w: w.networks)),
    Family("gonode_relay_places", _GAUGE, "Peers for which this node relays.", _of(Relaying, lambda w: w.places)),
    Family("gonode_relay_circuits", _GAUGE, "Open connections through this node.", _of(Relaying, lambda w: w.circuits)),
    Family("gonode_mirror_blobs", _COUNTER, "Blobs that came.", _of(Mirroring, lambda w: w.copied)),
    Family(
        "gonode_mirror_shown_entries",
        _GAUGE,
        "Entries of the head that the folder shows.",
        _of(Mirroring, lambda w: w.shown),
    ),
    Family("gonode_mirror_missing_blobs", _GAUGE, "Blobs that nobody has now.", _of(Mirroring, lambda w: w.missing)),
    # a coordinator
    Family("gonode_releases", _GAUGE, "Releases after release 0.", _of(Coordinating, lambda w: len(w.releases))),
    Family("gonode_gate_pairs", _GAUGE, "Pairs counted in the open gate.", _of(Coordinating, lambda w: w.gate)),
    Family(
        "gonode_gate_played_pairs",
        _GAUGE,
        "Pairs of the open gate that have a result, counted or not.",
        _of(Coordinating, lambda w: w.gate_played),
    ),
    Family("gonode_training_step", _GAUGE, "Step of the training that runs, or ran last.", _of(Coordinating, _step)),
    Family("gonode_training_steps", _GAUGE, "Steps of that training.", _of(Coordinating, _steps)),
    Family(
        "gonode_log_faults", _GAUGE, "What others did against the rules.", _of(Coordinating, lambda w: len(w.faults))
    ),
)


class StatusCollector(Collector):
    """What `prometheus_client` prints: the families of `status` as it is when it is asked."""

    def __init__(self, status: Callable[[], Status], unix_s: Callable[[], float]) -> None:
        self._status = status
        self._unix_s = unix_s

    def collect(self) -> Iterable[Metric]:
        """See `Collector`."""
        status, now = self._status(), self._unix_s()
        found = (family.metric(status, now) for family in FAMILIES)
        return [metric for metric in found if metric is not None]
