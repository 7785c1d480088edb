"""Where a network of N contributors breaks: each resource's need and limit, the first N at which one is over the other, and
what is then done."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from benchmarks.scale.assumptions import Assumptions
from benchmarks.scale.model import BYTES_PER_MBIT, Load, load
from benchmarks.scale.sizes import sizes
from protocol.tiles import MAX_ENTRY_BYTES

MOST_NODES: Final = 10**7
VERDICT_S: Final = 30.0
"""Assumed: two heads, the fetch and the replay of a batch on probation by a verifier that has others in hand."""

STOPS: Final = "stops"
FAILS: Final = "fails"
WASTES: Final = "wastes"

Of = Callable[[Load], float]


@dataclass(frozen=True, slots=True)
class Resource:
    """Something of which there is only so much.

    `kind`: the network `stops`, some of its parts or nodes fail (`fails`), or work is done in vain (`wastes`).
    `then`: what is done, with knobs that exist; what would have to be built is said to be so.
    """

    name: str
    unit: str
    need: Of
    limit: Of
    kind: str
    effect: str
    then: str

    def is_over(self, found: Load) -> bool:
        """Whether more is needed than there is."""
        return self.need(found) > self.limit(found)


def _mbit(bytes_s: float) -> float:
    return bytes_s / BYTES_PER_MBIT


RESOURCES: Final = (
    Resource(
        "trainer: half of the rows are never drawn",
        "share never drawn",
        lambda each: each.never_used,
        lambda each: 0.5,
        WASTES,
        "more is admitted than one trainer learns from",
        "more visits, a larger network or board; fewer samples a row; samples_per_cycle up; a faster reader, then more GPUs",
    ),
    Resource(
        "coordinator: its one thread",
        "share of a core",
        lambda each: each.coordinator_core_share,
        lambda each: 1.0,
        STOPS,
        "posts and heads come late, then calls time out",
        "games_per_batch up",
    ),
    Resource(
        "coordinator and verifiers: connections",
        "contributors",
        lambda each: each.nodes,
        lambda each: each.post_places,
        FAILS,
        "whoever comes later has nobody to post to, and waits for a free place",
        "Limits(connections=...) up (code, no option); more verifiers; then others that pass posts on (to be built)",
    ),
    Resource(
        "verifiers: posts that one passes on at once",
        "posts",
        lambda each: each.passed_posts,
        lambda each: each.given.posts_at_once,
        FAILS,
        "batches wait with verifiers until these keep no more, then with their contributors",
        "games_per_batch up; more verifiers; AT_ONCE up (code)",
    ),
    Resource(
        "timeout_entries: a gate assignment on the slowest class",
        "s",
        lambda each: each.gate_assignment_s,
        lambda each: each.timeout_s,
        FAILS,
        "pairs are taken from players that are still at them; with many of these the gate never ends",
        "timeout_entries up with the entries a second; pairs_per_assignment down",
    ),
    Resource(
        "timeout_entries: a verdict",
        "s",
        lambda each: VERDICT_S,
        lambda each: each.timeout_s,
        FAILS,
        "verifiers replay each other's batches, work is done twice",
        "timeout_entries up; games_per_batch up",
    ),
    Resource(
        "log: full followers",
        "share of a core",
        lambda each: each.full_core_share,
        lambda each: 1.0,
        STOPS,
        "no node keeps up: contributors never see that their batches are accepted, verifiers fall behind",
        "games_per_batch up; then the light form for contributors (to be built)",
    ),
    Resource(
        "log: a start after a month of it",
        "h",
        lambda each: each.first_sync_s / 3600,
        lambda each: each.given.first_sync_s / 3600,
        FAILS,
        "whoever joins, or starts again, applies the whole log before it plays",
        "games_per_batch up; then a saved state with the head it belongs to, and the light form (to be built)",
    ),
    Resource(
        "log: a contributor's memory after a month",
        "GB",
        lambda each: each.full_memory_bytes / 1e9,
        lambda each: each.given.contributor_memory_bytes / 1e9,
        FAILS,
        "nodes end, and cannot start again",
        "games_per_batch up; then the light form, or a state that forgets decided batches (to be built)",
    ),
    Resource(
        "log: the coordinator's memory after a month",
        "GB",
        lambda each: each.full_memory_bytes / 1e9,
        lambda each: each.given.coordinator_memory_bytes / 1e9,
        STOPS,
        "the coordinator ends",
        "games_per_batch up; then a state that forgets decided batches (to be built)",
    ),
    Resource(
        "log: bandwidth of a full follower, a tenth of the slowest line",
        "Mbit/s",
        lambda each: _mbit(each.full_down_bytes_s),
        lambda each: 0.1 * min(machine.down_mbit_s for machine in each.given.machines),
        FAILS,
        "guests on slow lines leave",
        "games_per_batch up, the light form (to be built)",
    ),
    Resource(
        "contributors: half of the slowest uplink",
        "share of it",
        lambda each: each.uplink_share,
        lambda each: 0.5,
        FAILS,
        "the log, heads and networks that a node passes on crowd out its batches and whatever else uses the line",
        "games_per_batch up; the light form, without which all pass the whole log on (to be built)",
    ),
    Resource(
        "final batches after a release",
        "entries",
        lambda each: each.final_window_entries,
        lambda each: each.given.final_entries,
        WASTES,
        "series end before their final batch is logged: games in flight are lost at each release",
        "final_entries up with the number of nodes; larger cycles",
    ),
    Resource(
        "coordinator: decisions, one entry a head",
        "batches/s",
        lambda each: each.headers_s,
        lambda each: each.given.decisions_per_head / each.given.head_s,
        STOPS,
        "batches wait for admission, ever longer",
        "games_per_batch up",
    ),
    Resource(
        "coordinator: downlink",
        "Mbit/s",
        lambda each: _mbit(each.coordinator_down_bytes_s),
        lambda each: each.given.coordinator_down_mbit_s,
        STOPS,
        "posts time out, batches wait with their contributors",
        "more visits; then batches stay with verifiers, and the coordinator takes what a window needs (to be built)",
    ),
    Resource(
        "coordinator: uplink",
        "Mbit/s",
        lambda each: _mbit(each.coordinator_up_bytes_s),
        lambda each: each.given.coordinator_up_mbit_s,
        STOPS,
        "followers fall behind",
        "games_per_batch up; the public folder behind a web server serves mirrors and audits; the light "
        "form (to be built)",
    ),
    Resource(
        "coordinator: disk after a month",
        "TB",
        lambda each: each.coordinator_disk_bytes_day * each.given.keep_days / 1e12,
        lambda each: each.given.coordinator_disk_bytes / 1e12,
        STOPS,
        "the disk is full: nothing is logged any more",
        "more visits; a larger disk; old batches moved to a mirror (to be built)",
    ),
    Resource(
        "verifiers: as many as a note can name",
        "verifiers",
        lambda each: each.verifiers_needed,
        lambda each: each.given.most_verifiers,
        FAILS,
        "batches wait for verdicts; hold-back grows without bound",
        "gate replay down to 0.25; verifiers with more cores or a GPU; q is at the least that a manifest may say; then "
        "long-standing peers replay and verifiers sample them (to be built)",
    ),
    Resource(
        "share sets: an entry's length",
        "bytes",
        lambda each: sizes().share_set + each.verifiers * sizes().share,
        lambda each: MAX_ENTRY_BYTES,
        STOPS,
        "no beacon, so no draws",
        "fewer, larger verifiers; the number of lines in a note ends before",
    ),
    Resource(
        "gossip: have-lists, if all got a network's first chunk at once",
        "messages",
        lambda each: each.have_lists,
        lambda each: each.given.publications_passed,
        FAILS,
        "lists are dropped, of which there are enough, and heads among them, which polls find",
        "JITTER_S up (code)",
    ),
    Resource(
        "gossip: heads",
        "messages/s",
        lambda each: each.gossip_messages_s,
        lambda each: each.given.gossip_pace,
        FAILS,
        "heads are lost, polls find them (does not depend on the number of nodes: one publisher, two notes a head)",
        "a head each two seconds",
    ),
    Resource(
        "weights: a tenth of a cycle until all have a release",
        "s",
        lambda each: each.release_s,
        lambda each: each.cycle_s / 10,
        WASTES,
        "the last ones play with the release before meanwhile",
        "samples_per_cycle up; smaller chunks for small networks (to be built)",
    ),
)


def breaks_at(resource: Resource, given: Assumptions, verifiers: int | None = None) -> int | None:
    """The smallest number of nodes for which the resource is over its limit; None up to MOST_NODES."""

    def is_over(nodes: int) -> bool:
        return resource.is_over(load(given, nodes, verifiers))

    low, high = 0, 1
    while not is_over(high):
        low, high = high, 2 * high
        if low > MOST_NODES:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_over(middle) else (middle, high)
    return high


def in_order(
    given: Assumptions, verifiers: int | None = None, resources: Iterable[Resource] = RESOURCES
) -> list[tuple[int | None, Resource]]:
    """Resources with the number of nodes at which they break, the first one first, those that never do last."""
    found = [(breaks_at(resource, given, verifiers), resource) for resource in resources]
    return sorted(found, key=lambda item: (item[0] is None, item[0] or 0))
