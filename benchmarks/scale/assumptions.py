"""What the paper model of a large network takes for granted: every number with its unit and where it comes from.

A source is `code` (taken from the code here, so it cannot differ), `measured` (by the benchmark that it names, on one core
of the machine in docs/benchmarks.md), or `assumed` (no benchmark here gives it; the model is no better than these).
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final

from native.netfile import Architecture, file_bytes
from node.blobs.have_lists import ENOUGH, JITTER_S
from node.coordinator.adjudicator import MOST_AT_ONCE
from node.coordinator.coordinator import CHECKPOINT_EVERY_S
from node.following import follower, service
from node.founding.manifest_file import load_manifest
from node.peering.libp2p.quota import Limits
from node.peering.links import LINKS
from node.verifier.post_keeper import AT_ONCE
from protocol.blob import CHUNK_BYTES
from protocol.checkpoint import MAX_SIGNATURES

CODE: Final = "code"
MEASURED: Final = "measured"
ASSUMED: Final = "assumed"
KINDS: Final = (CODE, MEASURED, ASSUMED)

DAY_S: Final = 86_400
MANIFEST: Final = load_manifest(None)
"""The default run, `node/founding/default_run.toml`."""

_NINE = 9 * 9


def _number(default: Any, unit: str, kind: str, source: str) -> Any:
    return field(default=default, metadata={"unit": unit, "kind": kind, "source": source})


def _code(default: Any, unit: str, source: str) -> Any:
    return _number(default, unit, CODE, source)


def _measured(default: Any, unit: str, benchmark: str, what: str) -> Any:
    return _number(default, unit, MEASURED, f"benchmarks.{benchmark}: {what}")


def _assumed(default: Any, unit: str, why: str) -> Any:
    return _number(default, unit, ASSUMED, why)


def _run(name: str) -> str:
    return f"default run, {name}"


@dataclass(frozen=True, slots=True)
class Machine:
    """A class of contributors' machines; all of it is assumed.

    `share` of the nodes, cores that play, speed of one against a VNNI core, and what its line carries.
    """

    name: str
    share: float
    cores: int
    speed: float
    up_mbit_s: float
    down_mbit_s: float


AVX2_TO_VNNI: Final = 1509 / 2513
"""benchmarks.net: evaluations/s of b6c96 at 9x9."""

MACHINES: Final = (
    Machine("laptop, AVX2", 0.50, 4, AVX2_TO_VNNI, 10, 50),
    Machine("desktop, AVX2", 0.25, 8, AVX2_TO_VNNI, 20, 100),
    Machine("desktop, VNNI", 0.15, 8, 1.0, 20, 100),
    Machine("server, VNNI", 0.05, 16, 1.0, 200, 200),
    Machine("small ARM board", 0.05, 4, 0.25, 10, 50),
)


@dataclass(frozen=True, slots=True)
class Assumptions:
    """Everything that the model computes from. `facts` lists it."""

    machines: tuple[Machine, ...] = _assumed(MACHINES, "machines", "a guess at volunteers: see the table of machines")

    # Games
    plies_per_game: float = _measured(114, "plies", "scale --measure", "16 games of the default run, trained b6c96")
    plies_per_core_s: float = _measured(99, "plies/s", "scale --measure", "the default run (43 visits a ply) on VNNI")
    bytes_per_ply: float = _measured(64, "bytes", "scale --measure", "of a batch as it travels")
    parallel: float = _assumed(
        0.85, "share", "of a core's speed when all play; benchmarks.selfplay ran on a loaded machine"
    )
    points: int = _code(_NINE, "points", _run("boards"))
    network_bytes: int = _code(
        file_bytes(Architecture(MANIFEST.network.blocks, MANIFEST.network.channels)), "bytes", _run("network")
    )
    gmac: float = _measured(208.16 / 2513, "GMAC/evaluation", "net", "b6c96 at 9x9")
    gate_visits_ratio: float = _code(
        MANIFEST.gate_search.visits_full
        / (
            MANIFEST.selfplay.visits_full * MANIFEST.selfplay.full_share_ppm / 10**6
            + MANIFEST.selfplay.visits_fast * (1 - MANIFEST.selfplay.full_share_ppm / 10**6)
        ),
        "times",
        _run("visits of a gate's ply to those of self-play"),
    )

    # Admission
    games_per_batch: int = _code(MANIFEST.admission.games_per_batch, "games", _run("n"))
    q: float = _code(MANIFEST.admission.q_min_ppm / 10**6, "share", _run("q_min; no manifest may go below 0.05"))
    probation_batches: int = _code(MANIFEST.admission.probation_batches, "batches", _run("K"))
    hold_back_batches: int = _code(MANIFEST.admission.hold_back_batches, "batches", _run("W"))
    epoch_entries: int = _code(MANIFEST.admission.epoch_entries, "entries", _run("E"))
    tick_s: int = _code(MANIFEST.admission.tick_s, "s", _run("tick_s"))
    timeout_entries: int = _code(MANIFEST.admission.timeout_entries, "entries", _run("timeout_entries"))
    final_entries: int = _code(MANIFEST.admission.final_entries, "entries", _run("final_entries"))
    newcomers_a_day: float = _assumed(
        0.02, "share of nodes", "identities that join each day, and are replayed whole at first"
    )

    # Log and following
    head_s: float = _code(CHECKPOINT_EVERY_S, "s", "node.coordinator.coordinator, one head")
    decisions_per_head: int = _code(MOST_AT_ONCE, "batches", "node.coordinator.adjudicator")
    poll_s: float = _code(follower.POLL_S, "s", "node.following.follower, one call, while gossip brings heads")
    entries_calls: float = _assumed(
        2.2,
        "calls/head",
        "for entries, those in vain too: what 30 nodes of tests.node.following made, 4 linked to its source",
    )
    entries_answered_s: float = _code(service.ENTRIES_PER_S, "calls/s", "node.following.service, at most")
    entries_per_core_s: float = _measured(594, "entries/s", "log", "signatures verified")
    known_entries_per_core_s: float = _measured(2024, "entries/s", "log", "signatures known")
    entry_memory_bytes: float = _measured(848, "bytes", "scale --measure", "what an applied entry leaves in the state")
    light_head_s: float = _assumed(10, "s", "how often a light follower, which does not exist yet, asks for a head")

    # Network
    links: int = _code(LINKS, "links", "node.peering.links, dialed; twice that are held when others dial too")
    connections: int = _code(Limits().connections, "connections", "node.peering.libp2p.quota")
    kept_connections: float = _assumed(0.75, "share", "of them, over which a coordinator sheds (node.peering.links)")
    degree: int = _code(16, "peers", "node.peering.libp2p.host, GossipSub")
    publications_passed: float = _code(
        Limits().publications_passed[1], "messages", "node.peering.libp2p.quota, of one peer at once; more are dropped"
    )
    gossip_spread_s: float = _assumed(0.5, "s", "until all have a message: five hops of a tenth of a second")
    have_jitter_s: float = _code(JITTER_S, "s", "node.blobs.have_lists, the longest wait before a list is told")
    holders_enough: int = _code(ENOUGH, "holders", "node.blobs.have_lists: after so many, others tell no list")
    gossip_pace: float = _assumed(
        50, "messages/s", "bursts over it were lost on py-libp2p 0.8.1; no benchmark here keeps it"
    )
    call_core_s: float = _measured(0.00189, "s", "scale --measure", "one end of one call, half of both")
    call_bytes: float = _assumed(600, "bytes", "of a call besides its answer: negotiation, yamux, noise, TCP")
    chunk_bytes: int = _code(CHUNK_BYTES, "bytes", "protocol.blob")
    swarm_times: float = _measured(
        2.1, "times one copy", "blobs", "until 16 fetchers behind 20 Mbit/s have 32 MiB; the seed uploads 1.0 to 1.3"
    )
    stream_bytes_per_core_s: float = _assumed(
        50 * 2**20, "bytes/s", "one stream of py-libp2p 0.8.1 on loopback; no benchmark here keeps it"
    )

    # Verifiers
    verifier_cores: int = _assumed(16, "cores", "a rented server with VNNI")
    verifier_use: float = _assumed(0.7, "share", "of its time that a verifier can be busy and keep up with bursts")
    replay_ratio: float = _measured(
        24.98e-3 * 40.22, "times", "replay", "a replayed ply to a played one, of benchmarks.selfplay"
    )
    checked_plies_per_core_s: float = _measured(41_174, "plies/s", "admission", "cheap checks, at 7x7")
    posts_at_once: int = _code(AT_ONCE, "posts", "node.verifier.post_keeper, passed on by one verifier")
    post_s: float = _assumed(0.5, "s", "that one takes: some round trips, and the batch to the coordinator")
    most_verifiers: int = _code(
        MAX_SIGNATURES - 1, "verifiers", "protocol.checkpoint: lines of a note besides the log's"
    )

    # Coordinator
    coordinator_up_mbit_s: float = _assumed(1000, "Mbit/s", "a rented server")
    coordinator_down_mbit_s: float = _assumed(1000, "Mbit/s", "a rented server")
    coordinator_disk_bytes: float = _assumed(4e12, "bytes", "a rented server")
    coordinator_memory_bytes: float = _assumed(64e9, "bytes", "a rented server")
    contributor_memory_bytes: float = _assumed(2e9, "bytes", "that somebody gives to a node")
    first_sync_s: float = _assumed(3600, "s", "patience of somebody who joins, or starts a node again")
    keep_days: float = _assumed(30, "days", "that disk and memory have to last; nothing is deleted today")
    durable_file_s: float = _measured(0.00055, "s", "scale --measure", "100 kB, on this machine's fast disk")
    parsed_rows_per_core_s: float = _measured(1_741_788, "rows/s", "reader", "the second reading behind each decision")

    # Training
    samples_per_row: float = _code(MANIFEST.training.samples_per_row_milli / 1000, "samples", _run("samples_per_row"))
    samples_per_cycle: int = _code(MANIFEST.training.samples_per_cycle, "samples", _run("samples_per_cycle"))
    trainer_flop_s: float = _assumed(20e12, "FLOP/s", "what one GPU sustains in training; none was measured")
    reader_rows_s: float = _measured(
        12_976 * 7 * 7 / _NINE, "rows/s", "reader", "at 7x7, taken to fall with the points"
    )
    gate_pairs: int = _assumed(500, "pairs", "that a gate takes; the default cap is 1,000")
    gate_replay: float = _code(MANIFEST.gate.replay_ppm / 10**6, "share of pairs", _run("replay"))
    gate_pass: float = _assumed(0.5, "share", "of candidates that become releases")
    pairs_per_assignment: int = _code(MANIFEST.gate.pairs_per_assignment, "pairs", _run("pairs_per_assignment"))

    def __post_init__(self) -> None:
        if abs(sum(machine.share for machine in self.machines) - 1) > 1e-9:
            raise ValueError("The shares of the machines have to sum to 1.")
        if any(getattr(self, each.name) <= 0 for each in fields(self) if each.name != "machines"):
            raise ValueError("Every assumption has to be above 0.")

    def facts(self) -> Iterator[dict[str, str | float]]:
        """A row for each number but the machines'."""
        for each in fields(self):
            if each.name != "machines":
                told = {key: each.metadata[key] for key in ("unit", "kind", "source")}
                yield {"name": each.name, "value": float(getattr(self, each.name)), **told}


DEFAULT: Final = Assumptions()
"""The default run, 9x9 with b6c96: the smallest work a ply, so the most batches, entries and bytes."""

_BIG: Final = Architecture(15, 192)
_COST: Final = _BIG.blocks * _BIG.channels**2 / (MANIFEST.network.blocks * MANIFEST.network.channels**2)
_VISITS: Final = 0.25 * 600 + 0.75 * 100

LARGE: Final = replace(
    DEFAULT,
    plies_per_game=250,
    plies_per_core_s=4022 * (554.67 / 2513) / _COST / _VISITS,
    bytes_per_ply=150,
    points=19 * 19,
    network_bytes=file_bytes(_BIG),
    gmac=DEFAULT.gmac * 2513 / 554.67 * _COST,
    gate_visits_ratio=1,
    pairs_per_assignment=1,
    reader_rows_s=DEFAULT.reader_rows_s * _NINE / 19**2,
    checked_plies_per_core_s=DEFAULT.checked_plies_per_core_s * 7 * 7 / 19**2,
)
"""A run that is worth so many machines: 19x19, b15c192, 600 visits a full search (a quarter), 100 a fast one, 225 in gates.

Speed from benchmarks.net at 19x19 and benchmarks.selfplay, divided by the network's cost; plies and bytes a ply are assumed.
"""


def turned(given: Assumptions) -> Assumptions:
    """The same run with its knobs turned as far as helps.

    Counts in entries are a thousand times larger, a quarter of gate pairs is replayed, an assignment is one pair, and a
    batch is an hour of the mean machine but at most 1,024 games, the most there may be.
    """
    games_s = sum(each.share * each.cores * each.speed for each in given.machines)
    games_s *= given.parallel * given.plies_per_core_s / given.plies_per_game
    return replace(
        given,
        games_per_batch=min(1024, max(given.games_per_batch, int(3600 * games_s))),
        epoch_entries=1000 * given.epoch_entries,
        timeout_entries=1000 * given.timeout_entries,
        final_entries=1000 * given.final_entries,
        gate_replay=0.25,
        pairs_per_assignment=1,
    )
