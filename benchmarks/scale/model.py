"""The paper model: what a network of N contributors asks of each of its parts, from the assumptions alone.

All rates are steady means a second; bursts are looked at where they decide (a release, its final batches). Invariants: what
is sent is received, and no load falls when N grows.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, exp, log, log2

from benchmarks.scale.assumptions import DAY_S, MANIFEST, Assumptions, Machine
from benchmarks.scale.sizes import HASH_BYTES, sizes, verdict_bytes
from verification.window import window_rows

BYTES_PER_MBIT = 125_000
TRACE_BYTES = 32
GATE_LOG_S = 30.0
"""Candidate's beacon, assignments and the record: some heads each."""

SWARM_FETCHERS, SWARM_CHUNKS = 16, 32
"""Of benchmarks.blobs."""


@dataclass(frozen=True, slots=True)
class Speed:
    """What one machine of a class does: games, plies and uploaded bytes a second, and seconds from batch to batch."""

    machine: Machine
    plies_s: float
    games_s: float
    up_bytes_s: float
    batch_s: float


def speed(given: Assumptions, machine: Machine) -> Speed:
    """The speed of a class."""
    plies_s = machine.cores * machine.speed * given.parallel * given.plies_per_core_s
    games_s = plies_s / given.plies_per_game
    batches_s = games_s / given.games_per_batch
    return Speed(machine, plies_s, games_s, plies_s * given.bytes_per_ply + batches_s * sizes().header, 1 / batches_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What a network of `nodes` contributors does. `_s` at an end is a second where the name is a rate."""

    given: Assumptions
    nodes: int
    verifiers: int
    verifiers_needed: int
    # Games
    plies_s: float
    games_s: float
    batches_s: float
    batch_bytes_s: float
    # Log
    headers_s: float
    verdicts_s: float
    openings_s: float
    receipts_s: float
    gate_entries_s: float
    other_entries_s: float
    entries_s: float
    log_bytes_s: float
    note_bytes: float
    # Training
    cycle_s: float
    used_rows_s: float
    never_used: float
    # Gate
    gate_assignment_s: float
    final_window_entries: float
    held_rows: float
    hold_back_s: float
    heads_s: float
    # Verification
    replay_core_s: float
    check_core_s: float

    # ---- followers

    @property
    def followers(self) -> int:
        """Nodes that take the log, heads and weights from others."""
        return self.nodes + self.verifiers

    @property
    def log_bytes_day(self) -> float:
        """Growth of everybody's copy of the log, bytes a day."""
        return self.log_bytes_s * DAY_S

    @property
    def follow_calls_s(self) -> float:
        """Calls a follower makes a second: polls, and for the entries of each gossiped head."""
        return 1 / self.given.poll_s + self.given.entries_calls * self.heads_s

    @property
    def follow_bytes_s(self) -> float:
        """Bytes a second of these calls besides the log, answers included: a poll shows two notes."""
        return self.follow_calls_s * self.given.call_bytes + 2 * self.note_bytes / self.given.poll_s

    @property
    def full_down_bytes_s(self) -> float:
        """What a full follower downloads."""
        return self.log_bytes_s + self.follow_bytes_s + self.gossip_bytes_s

    @property
    def passed_on_bytes_s(self) -> float:
        """What a follower uploads of the log: the mean, of all that does not come from the coordinator."""
        return max(0.0, self.log_bytes_s - self.coordinator_log_bytes_s / self.followers)

    @property
    def full_up_bytes_s(self) -> float:
        """What a follower uploads for others: the log, gossip, and a copy of each release."""
        return self.passed_on_bytes_s + self.gossip_bytes_s + self.given.network_bytes / self.cycle_s

    @property
    def uplink_share(self) -> float:
        """The share of its uplink that the worst class of contributors uses: own batches, and what it does for others."""
        return max(
            (speed(self.given, machine).up_bytes_s + self.full_up_bytes_s) / (machine.up_mbit_s * BYTES_PER_MBIT)
            for machine in self.given.machines
        )

    @property
    def full_core_share(self) -> float:
        """The share of one core that following takes: entries, own calls, and at most as many served to others."""
        return self.entries_s / self.given.entries_per_core_s + 2 * self.follow_calls_s * self.given.call_core_s

    @property
    def full_memory_bytes(self) -> float:
        """What the state of the log takes after the days it has to last."""
        return self.entries_s * self.given.entry_memory_bytes * DAY_S * self.given.keep_days

    @property
    def first_sync_s(self) -> float:
        """The time that a newcomer needs for the log of these days, and every node at each start, for no state is kept."""
        return self.entries_s * DAY_S * self.given.keep_days / self.given.entries_per_core_s

    @property
    def proof_bytes(self) -> float:
        """An inclusion proof in the log as it then is."""
        return HASH_BYTES * ceil(log2(max(2.0, self.entries_s * DAY_S * self.given.keep_days)))

    @property
    def light_down_bytes_s(self) -> float:
        """What a light follower would download: a head now and then with a consistency proof, a receipt a batch."""
        head = self.note_bytes + self.given.call_bytes + self.proof_bytes
        return head / self.given.light_head_s + self.batches_s / self.nodes * (self.given.call_bytes + self.proof_bytes)

    @property
    def light_core_share(self) -> float:
        """The share of one core that it would take."""
        calls_s = 1 / self.given.light_head_s + self.batches_s / self.nodes
        signatures_s = (1 + self.verifiers) / self.given.light_head_s + self.batches_s / self.nodes
        return calls_s * self.given.call_core_s + signatures_s / self.given.entries_per_core_s

    # ---- gossip

    @property
    def gossip_copies(self) -> float:
        """Copies of one publication that a node takes and sends: its mesh is all of its links."""
        return min(self.given.degree, 2 * self.given.links)

    @property
    def gossip_messages_s(self) -> float:
        """Messages a node takes a second, copies included: the coordinator publishes each head twice."""
        return 2 * self.gossip_copies * self.heads_s

    @property
    def gossip_bytes_s(self) -> float:
        """Bytes of them."""
        return self.gossip_messages_s * (self.note_bytes + self.given.call_bytes / 3)

    @property
    def have_lists(self) -> float:
        """Have-lists that are told of a new network, at most: all nodes get its first chunk at once.

        Enough of them, and those that are told before these are heard.
        """
        unheard = self.followers * min(1.0, self.given.gossip_spread_s / self.given.have_jitter_s)
        return min(float(self.followers), self.given.holders_enough + unheard)

    # ---- weights

    @property
    def release_bytes(self) -> float:
        """One release to everybody."""
        return float(self.followers * self.given.network_bytes)

    @property
    def copy_s(self) -> float:
        """One copy over the uplink of the median node."""
        return self.given.network_bytes / (_median_up(self.given) * BYTES_PER_MBIT)

    @property
    def release_s(self) -> float:
        """The time until everybody has a release: holders of a chunk double in a chunk's time, chunks follow each other.

        As measured with SWARM_FETCHERS and SWARM_CHUNKS. The swarm of benchmarks.blobs in memory took 0.7 to 0.9 of this:
        networks of 1 to 32 MiB, 16 to 128 fetchers.
        """
        chunks = self.given.network_bytes / self.given.chunk_bytes
        doublings = 1 + log2(max(2, self.followers)) / chunks
        return self.given.swarm_times * self.copy_s * doublings / (1 + log2(SWARM_FETCHERS) / SWARM_CHUNKS)

    # ---- coordinator

    @property
    def coordinator_down_bytes_s(self) -> float:
        """Batches, trace openings and posts that come in."""
        posts = self.batches_s * sizes().header + self.verdicts_s * verdict_bytes(2) + self.openings_s * sizes().opening
        return self.batch_bytes_s + self.trace_bytes_s + posts

    @property
    def trace_bytes_s(self) -> float:
        """D of the replayed plies."""
        return self.plies_s * self.given.q * TRACE_BYTES

    @property
    def coordinator_links(self) -> float:
        """Connections of the coordinator: verifiers, and contributors until it sheds them; others post to verifiers."""
        return min(self.followers, self.given.kept_connections * self.given.connections)

    @property
    def post_places(self) -> float:
        """Contributors that can be linked to somebody who takes posts: what the coordinator keeps, and each verifier.

        A verifier is linked to the coordinator too, and as many links as a node has otherwise have nothing to do with posts.
        """
        own = self.given.kept_connections * self.given.connections - self.verifiers
        return own + self.verifiers * (self.given.connections - 1 - 2 * self.given.links)

    @property
    def passed_posts(self) -> float:
        """Posts that one verifier passes on at the same time: of contributors that are not linked to the coordinator."""
        linked = max(0.0, self.coordinator_links - self.verifiers)
        return self.receipts_s * (1 - linked / self.nodes) / self.verifiers * self.given.post_s

    @property
    def coordinator_follow_calls_s(self) -> float:
        """Calls for its log: each linked node at most one a head, and its turn among the peers that a node polls."""
        polls = 1 / (self.given.poll_s * 2 * self.given.links)
        return self.coordinator_links * (self.heads_s + polls)

    @property
    def coordinator_log_bytes_s(self) -> float:
        """Log that it sends: to each linked node once, as long as it answers that many calls; others give the rest."""
        answered = min(1.0, self.given.entries_answered_s / (self.coordinator_links * self.heads_s))
        return answered * self.coordinator_links * self.log_bytes_s

    @property
    def coordinator_up_bytes_s(self) -> float:
        """Log and notes for linked nodes, batches for verifiers, weights: a copy to each linked node at most.

        Of a network of many chunks it uploads one to three copies; of one or two chunks, a copy to many of them.
        """
        calls = self.coordinator_follow_calls_s * (self.note_bytes + self.given.call_bytes)
        weights = self.coordinator_links * self.given.network_bytes / self.cycle_s
        return self.coordinator_log_bytes_s + calls + self.batch_bytes_s + weights

    @property
    def coordinator_core_share(self) -> float:
        """The share of one core that its one thread needs: followers, posts, blobs, entries, disk."""
        given = self.given
        blobs_s = self.batches_s + self.openings_s
        calls = self.coordinator_follow_calls_s + self.entries_s + 2 * blobs_s
        entries = self.entries_s * (1 / given.entries_per_core_s + 2 / given.known_entries_per_core_s)
        disk = (2 * blobs_s + self.entries_s / 2) * given.durable_file_s
        sent = (self.coordinator_up_bytes_s + self.coordinator_down_bytes_s) / given.stream_bytes_per_core_s
        return calls * given.call_core_s + entries + disk + sent + self.plies_s / given.parsed_rows_per_core_s

    @property
    def coordinator_signatures_s(self) -> float:
        """Signatures that it makes (receipts, heads, its own entries) and checks (all others, cosignatures, shares)."""
        return self.receipts_s + self.heads_s + self.entries_s + 2 * self.verifiers * self.heads_s

    @property
    def coordinator_disk_bytes_day(self) -> float:
        """Blobs, the log twice (store and tiles) and heads that stay on its disk, a day."""
        heads = self.note_bytes * self.heads_s
        return (self.batch_bytes_s + self.trace_bytes_s + 2 * self.log_bytes_s + heads) * DAY_S

    @property
    def timeout_s(self) -> float:
        """What `timeout_entries` is in seconds."""
        return self.given.timeout_entries / self.entries_s


def load(given: Assumptions, nodes: int, verifiers: int | None = None) -> Load:
    """The load of `nodes` contributors with so many verifiers, or with as many as are needed and a note can name."""
    speeds = [speed(given, machine) for machine in given.machines]
    plies_s = nodes * sum(each.machine.share * each.plies_s for each in speeds)
    games_s = plies_s / given.plies_per_game
    batches_s = games_s / given.games_per_batch
    slowest = min(speeds, key=lambda each: each.plies_s)
    gate_games = 2 * given.gate_pairs
    gate_plies = gate_games * given.plies_per_game * given.gate_visits_ratio
    assignments = ceil(given.gate_pairs / given.pairs_per_assignment)
    assignment_s = 2 * given.pairs_per_assignment * given.plies_per_game * given.gate_visits_ratio / slowest.plies_s
    gate_s = ceil(assignments / nodes) * assignment_s + GATE_LOG_S

    samples_s = min(given.trainer_flop_s / (6e9 * given.gmac), given.reader_rows_s)
    cycle_s, used, never = _training(given, plies_s, samples_s, gate_s)

    newcomers_s = nodes * given.newcomers_a_day / DAY_S
    extra_batches_s = newcomers_s * given.probation_batches * log(1 / given.q)
    extra = min(1.0, extra_batches_s / batches_s)
    replayed_s = plies_s * (given.q + (1 - given.q) * extra) + given.gate_replay * gate_plies / cycle_s
    replay_core_s = replayed_s * given.replay_ratio / given.plies_per_core_s
    check_core_s = plies_s / given.checked_plies_per_core_s
    needed = ceil(
        max(
            replay_core_s / (given.verifier_cores * given.parallel * given.verifier_use),
            check_core_s / given.verifier_use,
            1,
        )
    )
    members = min(max(needed, 3), given.most_verifiers) if verifiers is None else verifiers

    finals_s = nodes * given.gate_pass / cycle_s
    judged_s = batches_s + finals_s
    drawn = 1 - (1 - given.q) ** given.games_per_batch
    gate_results_s = assignments / cycle_s
    admissions_s = _a_head(given, judged_s)
    posted_s = (2 + drawn) * judged_s + 4 * gate_results_s + admissions_s + newcomers_s + 4 / cycle_s
    heads_s = max(_a_head(given, posted_s), 1 / given.tick_s)
    other = admissions_s + heads_s + newcomers_s + 4 / cycle_s
    before_epochs = posted_s + heads_s
    epochs = 2 * members / given.epoch_entries
    entries_s = before_epochs / (1 - min(epochs, 0.9))
    made = sizes()
    verdict = verdict_bytes(max(1, round(given.q * given.games_per_batch)))
    log_bytes_s = (
        judged_s * (made.header + verdict + drawn * made.opening + made.decision)
        + admissions_s * made.admission
        + heads_s * (made.share_set + members * made.share)
        + newcomers_s * made.registration
        + gate_results_s * (made.gate_assignment + made.gate_result + verdict + made.opening)
        + made.cycle / cycle_s
        + (entries_s - before_epochs) * (made.epoch_hash + made.epoch_reveal) / 2
    )
    game_s = given.plies_per_game / (slowest.plies_s / slowest.machine.cores)
    return Load(
        given=given,
        nodes=nodes,
        verifiers=members,
        verifiers_needed=needed,
        plies_s=plies_s,
        games_s=games_s,
        batches_s=batches_s,
        batch_bytes_s=plies_s * given.bytes_per_ply,
        headers_s=judged_s,
        verdicts_s=judged_s + gate_results_s,
        openings_s=drawn * judged_s + gate_results_s,
        receipts_s=judged_s + gate_results_s,
        gate_entries_s=2 * gate_results_s,
        other_entries_s=other + entries_s - before_epochs,
        entries_s=entries_s,
        log_bytes_s=log_bytes_s,
        note_bytes=made.note + members * made.cosignature,
        cycle_s=cycle_s,
        used_rows_s=used,
        never_used=never,
        gate_assignment_s=assignment_s,
        final_window_entries=nodes * (2 + drawn) + entries_s * game_s,
        heads_s=heads_s,
        hold_back_s=given.hold_back_batches * _commonest(speeds).batch_s,
        held_rows=nodes * given.hold_back_batches * given.games_per_batch * given.plies_per_game,
        replay_core_s=replay_core_s,
        check_core_s=check_core_s,
    )


def _a_head(given: Assumptions, rate_s: float) -> float:
    """How many heads a second hold something that comes at random at this rate; none is signed when nothing came."""
    return (1 - exp(-rate_s * given.head_s)) / given.head_s


def _commonest(speeds: Sequence[Speed]) -> Speed:
    """The speed of the class with most nodes."""
    return max(speeds, key=lambda each: each.machine.share)


def _training(given: Assumptions, plies_s: float, samples_s: float, gate_s: float) -> tuple[float, float, float]:
    """Seconds a cycle, rows a second that a trainer makes use of, and the share of rows that it never draws.

    A cycle draws `samples_per_row` samples a new row, at most `samples_per_cycle`, and cannot begin before the last one is
    gated. Rows are drawn evenly, so one that is drawn m times on average is never drawn with exp(-m); rows that come between
    two windows and are more than a window holds are not even in one.
    """
    policy = MANIFEST.window
    rows = plies_s * gate_s / max(1e-9, 1 - given.samples_per_row * plies_s / samples_s)
    endless = given.samples_per_row * plies_s >= samples_s or rows * given.samples_per_row > given.samples_per_cycle
    cycle_s = given.samples_per_cycle / samples_s + gate_s if endless else rows / plies_s
    cycle_s = max(cycle_s, policy.new_rows / plies_s)
    new_rows = plies_s * cycle_s
    samples = min(given.samples_per_row * new_rows, float(given.samples_per_cycle))
    window = max(1, window_rows(int(plies_s * DAY_S * given.keep_days), policy))
    in_a_window = min(1.0, window / new_rows)
    draws = samples / min(window, new_rows)
    never = 1 - in_a_window * (1 - exp(-draws))
    return cycle_s, samples / given.samples_per_row / cycle_s, never


def _median_up(given: Assumptions) -> float:
    """The uplink in Mbit/s that half of the nodes have at least."""
    left = 0.5
    machines = sorted(given.machines, key=lambda machine: machine.up_mbit_s)
    for machine in machines:
        left -= machine.share
        if left <= 0:
            return machine.up_mbit_s
    return machines[-1].up_mbit_s
