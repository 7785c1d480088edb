"""A node's status as metric families, with names and units as Prometheus wants them.

Spec: `docs/metrics.md`, which lists every one of them. Pure. What a status does not hold has no family, so that nothing is
shown as 0 that nobody counted.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

Status = Mapping[str, Any]
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


def _one(*path: str) -> Samples:
    """The number at a path of keys."""

    def samples(status: Status, now_unix_s: float) -> Iterator[Sample]:
        found: Any = status
        for key in path:
            found = found.get(key) if isinstance(found, Mapping) else None
        if found is not None:
            yield (), found

    return samples


def _count(key: str) -> Samples:
    """The length of a list."""

    def samples(status: Status, now_unix_s: float) -> Iterator[Sample]:
        if key in status:
            yield (), len(status[key])

    return samples


def _each(key: str, label: str, value: str) -> Samples:
    """A number of each object of a list, under its name."""

    def samples(status: Status, now_unix_s: float) -> Iterator[Sample]:
        for each in status.get(key) or ():
            yield (str(each[label]),), each[value]

    return samples


def _info(*keys: str) -> Samples:
    """1, under texts of the status."""

    def samples(status: Status, now_unix_s: float) -> Iterator[Sample]:
        yield tuple(str(status.get(key) or "") for key in keys), 1

    return samples


def _waiting(status: Status, now_unix_s: float) -> Iterator[Sample]:
    for queue in status.get("queues") or ():
        since = queue["since_unix_s"]
        yield (queue["name"],), 0 if since is None else max(0.0, now_unix_s - since)


def _games(status: Status, now_unix_s: float) -> Iterator[Sample]:
    for outcome in ("verified", "pending", "rejected"):
        yield (outcome,), status.get(outcome)


def _is_paused(status: Status, now_unix_s: float) -> Iterator[Sample]:
    if "paused" in status:
        yield (), int(status["paused"] is not None)


def _engine(status: Status, now_unix_s: float) -> Iterator[Sample]:
    engine = status.get("engine")
    if engine is not None:
        yield (engine["device"], engine["kernel"]), 1


_INFO: Final = ("version", "role", "name", "key", "run", "run_name", "release")
_GAUGE, _COUNTER = Kind.GAUGE, Kind.COUNTER

FAMILIES: Final = (
    Family("gonode_info", _GAUGE, "1; the labels say which node of which run this is.", _info(*_INFO), _INFO),
    # the run's log
    Family("gonode_log_entries", _GAUGE, "Entries in this node's copy of the log.", _one("log_size")),
    Family("gonode_log_newest_entries", _GAUGE, "Entries under the newest head that is known.", _one("newest_size")),
    Family("gonode_logged_batches", _GAUGE, "Batches in the log.", _one("batches")),
    Family("gonode_logged_games", _GAUGE, "Games in the log.", _one("games")),
    Family("gonode_logged_plies", _GAUGE, "Plies of the games in the log.", _one("plies")),
    Family("gonode_games", _GAUGE, "Games in the log, by what became of them.", _games, ("outcome",)),
    Family("gonode_credit_plies", _GAUGE, "Plies of accepted batches.", _one("credit_plies")),
    Family("gonode_credit_visits", _GAUGE, "Visits of accepted batches.", _one("credit_visits")),
    # peers
    Family("gonode_peers", _GAUGE, "Connected peers.", _one("peers")),
    Family("gonode_banned_peers", _GAUGE, "Peers that are refused now.", _count("bans")),
    Family("gonode_contained_faults", _COUNTER, "Faults of peers or libraries that ended nothing.", _one("contained")),
    Family("gonode_next_try_seconds", _GAUGE, "Until an unreachable coordinator is tried.", _one("next_try_in_s")),
    Family(
        "gonode_blob_bytes",
        _GAUGE,
        "Size of a blob that is coming.",
        _each("fetching", "blob", "total_bytes"),
        ("blob",),
    ),
    Family(
        "gonode_blob_held_bytes",
        _GAUGE,
        "How much of a blob that is coming is here.",
        _each("fetching", "blob", "held_bytes"),
        ("blob",),
    ),
    # what waits
    Family("gonode_queue_length", _GAUGE, "Items in a queue.", _each("queues", "name", "length"), ("queue",)),
    Family(
        "gonode_queue_waiting_seconds", _GAUGE, "How long a queue waits; 0 while it does not.", _waiting, ("queue",)
    ),
    Family(
        "gonode_service_restarts",
        _COUNTER,
        "How often a part of the node was started again.",
        _each("services", "name", "restarts"),
        ("service",),
    ),
    # the engine
    Family("gonode_engine_info", _GAUGE, "1; the labels say what evaluates.", _engine, ("device", "kernel")),
    Family("gonode_engine_threads", _GAUGE, "Threads of the engine.", _one("engine", "threads")),
    Family("gonode_engine_games", _GAUGE, "Games that the engine has in hand.", _one("engine", "under_way")),
    Family("gonode_engine_restarts", _COUNTER, "How often the engine was started again.", _one("engine", "restarts")),
    Family("gonode_engine_canaries", _COUNTER, "How often what is known came out.", _one("engine", "canaries")),
    # a contributor
    Family("gonode_played_games", _COUNTER, "Games finished.", _one("played")),
    Family("gonode_played_plies", _COUNTER, "Plies of finished games.", _one("played_plies")),
    Family("gonode_played_visits", _COUNTER, "Visits of finished games.", _one("played_visits")),
    Family("gonode_today_games", _GAUGE, "Games finished since midnight UTC.", _one("today", "games")),
    Family("gonode_today_plies", _GAUGE, "Plies of the games finished since midnight UTC.", _one("today", "plies")),
    Family("gonode_paused", _GAUGE, "1 while play rests, else 0.", _is_paused),
    Family("gonode_hottest_celsius", _GAUGE, "The hottest sensor of the processor.", _one("hottest_c")),
    # a verifier
    Family("gonode_verdicts", _COUNTER, "Verdicts given.", _one("verdicts")),
    Family("gonode_replayed_plies", _COUNTER, "Plies replayed.", _one("replayed_plies")),
    # a relay, a mirror
    Family("gonode_relay_networks", _COUNTER, "Networks fetched to be served.", _one("networks")),
    Family("gonode_relay_places", _GAUGE, "Peers for which this node relays.", _one("places")),
    Family("gonode_relay_circuits", _GAUGE, "Open connections through this node.", _one("circuits")),
    Family("gonode_mirror_blobs", _COUNTER, "Blobs that came.", _one("copied")),
    Family("gonode_mirror_shown_entries", _GAUGE, "Entries of the head that the folder shows.", _one("shown")),
    Family("gonode_mirror_missing_blobs", _GAUGE, "Blobs that nobody has now.", _one("missing")),
    # a coordinator
    Family("gonode_releases", _GAUGE, "Releases after release 0.", _count("releases")),
    Family("gonode_gate_pairs", _GAUGE, "Pairs counted in the open gate.", _one("gate")),
    Family("gonode_training_step", _GAUGE, "Step of the training that runs, or ran last.", _one("training", "step")),
    Family("gonode_training_steps", _GAUGE, "Steps of that training.", _one("training", "steps")),
    Family("gonode_log_faults", _GAUGE, "What others did against the rules.", _count("faults")),
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
