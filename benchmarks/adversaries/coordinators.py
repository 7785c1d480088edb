"""Coordinators that fork, decide against the verdicts, grind beacons, or leave batches out."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations
from math import sqrt
from statistics import NormalDist, mean, pstdev

from benchmarks.adversaries import theory
from benchmarks.adversaries.identities import refusal, refused
from benchmarks.adversaries.laws import agrees, chance
from benchmarks.adversaries.oracle import Oracle, policy_of
from benchmarks.adversaries.outcome import BOUNDED, NOTICED, SIGMAS, Effort, Row, Run, percent, summary
from node.following.fork import ForkProof
from protocol import checkpoint as notes
from protocol.admission import ACCEPTED, Admission, Decision
from protocol.checkpoint import Checkpoint
from protocol.ed25519 import SecretKey
from protocol.epoch import Share, ShareSet
from protocol.proof import Ban
from protocol.ringer import RingerReveal
from protocol.seeds import beacon, first_u64, gate_seed, log_origin
from tests.verification import edits
from tests.verification.manifests import digest_of, small_manifest
from tests.verification.world import World
from verification.draws import assigned_verifier
from verification.faults import LogFault
from verification.setup import gate_series
from verification.state import LogState
from verification.witness import verify_head, witness_name

KIND = "coordinator"
VERIFIERS, THRESHOLD, FRIENDS = 3, 2, 1


def signed(world: World, witnesses: list[SecretKey]) -> bytes:
    """The log's head as it is, with these cosignatures."""
    head = Checkpoint(log_origin(world.run), world.state.size, world.state.tree.root())
    lines = [notes.cosign(head.body(), key, witness_name(key.public), 1_700_000_000) for key in witnesses]
    return head.sign(world.coordinator).with_signatures(lines).encode()


def equivocation(effort: Effort) -> Iterator[Row]:
    """Two histories, each shown to some: whoever sees both heads has a proof that anybody checks by one key."""
    runs, alone = [], []
    for seed in range(effort.real):
        left, right = (World(verifiers=VERIFIERS, word=f"fork {seed}") for _ in range(2))
        left.register("ada")
        right.register("bob")
        older = signed(left, left.verifiers[:1])
        right.ticks(4)
        newer = signed(right, right.verifiers[:2])
        size = left.state.size
        path = tuple(right.state.tree.consistency_proof(size, right.state.size))
        proof = ForkProof(older, newer, right.state.tree.root(size), path)
        before, after = ForkProof.parse(proof.encode()).verify(left.run, left.coordinator.public)
        assert (before.size, after.size) == (size, right.state.size)
        runs.append(Run(1, 0, 0, "fork proof"))
        try:
            verify_head(notes.SignedNote.parse(older), left.run, left.state.roots)
        except ValueError as error:
            alone.append(str(error))
    yield summary("equivocating coordinator", KIND, "real log", NOTICED, runs, 0.0)
    yield refused("head without enough witnesses", "cosigned by 1 verifier; 2 have to", *alone)


def against_the_rules(effort: Effort) -> Iterator[Row]:
    """Decisions that no verdict gives, bans without the banned one's word, a ringer afterwards, orders that are not due."""
    decided, other, ban, ringer = [], [], [], []
    for seed in range(effort.real):
        world = World(word=f"rules {seed}")
        ada = world.register("ada")
        batch = world.play(ada, edit=edits.of_game(0, edits.value(0)))
        early = Admission(
            world.run, (Decision(batch.index, batch.index, ACCEPTED, world.verifiers[0].public, batch.q_ppm, ""),)
        )
        decided.append(refusal(world.state, early, world.coordinator))
        world.judge(batch)
        proof = world.accusation(batch)
        world.convict()
        other.append(refusal(world.state, early, world.coordinator))
        eve = world.register("eve")
        ban.append(refusal(world.state, Ban(world.run, eve.public, proof), world.coordinator))
        reveal = RingerReveal(world.run, batch.index, 0, 0, digest_of("salt"))
        ringer.append(refusal(world.state, reveal, world.coordinator))
    yield refused("decision without a verdict", "No decision is due", *decided)
    yield refused("decision against the verdict", "is not what its verdict says", *other)
    yield refused("ban without the banned one's word", "is against somebody else", *ban)
    yield refused("batch called a ringer afterwards", "No commitment from before", *ringer)


def beacons_of(world: World, size: int) -> list[bytes]:
    """Every beacon that the coordinator and a friend can make of the tree of `size`, the honest shares being in."""
    honest, friends = world.verifiers[FRIENDS:], world.verifiers[:FRIENDS]
    root, covered = world.state.tree.root(size), world.state.beacons.covered
    found = []
    for count in range(FRIENDS + 1):
        for some in combinations(friends, count):
            keys = sorted([*honest, *some], key=lambda key: key.public)
            envelopes = [world.share(key, size) for key in keys]
            record = ShareSet(world.run, size, root, covered, tuple(each.encode() for each in envelopes))
            if len(keys) >= THRESHOLD and not refusal(world.state, record, world.coordinator):
                shares = {share.verifier: share.share for share in map(Share.open, envelopes)}
                found.append(beacon(world.run, size, root, shares))
    return found


def beacon_grinding(effort: Effort) -> Iterator[Row]:
    """With one of three verifiers it gives or withholds that one's share: to have the friend assigned, or for gate seeds."""
    world, runs = Oracle(policy_of(), VERIFIERS, "grinding"), []
    ada, friend = world.register("ada"), world.verifiers[0].public
    keys = [key.public for key in world.verifiers]
    hits: list[bool] = []
    best: list[float] = []
    expected = theory.beacon_choices(VERIFIERS, THRESHOLD, FRIENDS)
    for _ in range(max(50, effort.runs)):
        batch = world.submit(ada)
        values = beacons_of(world, world.state.size)
        assert len(set(values)) == expected
        hits.append(any(assigned_verifier(value, batch.digest, keys) == friend for value in values))
        seeds = [gate_seed(world.run, batch.digest, batch.digest, value, 0) for value in values]
        best.append(max(NormalDist().inv_cdf((first_u64(seed) + 0.5) / 2**64) for seed in seeds))
        runs.append(Run(None))
        world.settle()
    law = chance(theory.chosen(FRIENDS / VERIFIERS, expected))
    text = f"{expected} beacons a tree; friend assigned in {percent(mean(hits))}, theory {percent(law.mean)}"
    row = summary("coordinator that grinds beacons", KIND, text, BOUNDED, runs, 0.0)
    yield replace(row, agrees=agrees(mean(hits), law, len(hits)))
    among = theory.best_of(expected)
    text = f"best of {expected} seeds: {mean(best):.2f} sd, theory {among:.2f}"
    row = summary("coordinator that grinds gate seeds", KIND, text, BOUNDED, runs, 0.0)
    yield replace(row, agrees=abs(mean(best) - among) <= SIGMAS * pstdev(best) / sqrt(len(best)))


def gate_seeds(effort: Effort) -> Iterator[Row]:
    """Alone: gate seeds contain the beacon of the candidate's own entry, so nothing of them is known before."""
    found = []
    for seed in range(min(3, effort.real)):
        world = World(small_manifest(), word=f"gate {seed}")
        world.register("ada")
        while world.state.due_window() is None:
            world.batch(world.peers["ada"])
        world.train()
        candidate, then = world.state.trainings[-1].index, LogState(world.run)
        for entry in world.entries[: candidate + 1]:
            then.apply(entry)
        try:
            gate_series(then, candidate)
        except LogFault as fault:
            found.append(fault.reason)
    yield refused("gate seeds before the candidate", "has no beacon yet", *found)


ADVERSARIES = (equivocation, against_the_rules, beacon_grinding, gate_seeds)
