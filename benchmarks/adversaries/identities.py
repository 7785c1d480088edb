"""Identities: many of one owner, seeds that are ground, counters out of turn, runs and releases that are others'."""

from collections.abc import Iterator
from dataclasses import replace
from math import sqrt
from statistics import NormalDist, mean, pstdev

import numpy as np

from benchmarks.adversaries import theory
from benchmarks.adversaries.laws import agrees, chance
from benchmarks.adversaries.oracle import Oracle, policy_of
from benchmarks.adversaries.outcome import BOUNDED, REFUSED, SIGMAS, Effort, Row, Run, percent, summary
from protocol.ed25519 import SecretKey
from protocol.record import Record
from protocol.registration import Registration
from protocol.seeds import first_u64, game_seed
from protocol.slots import SlotList
from tests.verification import crowd
from tests.verification.manifests import digest_of, small_manifest
from tests.verification.world import World
from verification.faults import LogFault
from verification.state import LogState
from verification.statistics.profile import Profile
from verification.statistics.tails import tail_z

KIND = "identity"
CHOICES = 10
FLOOD, HONEST, SLOTS = 200, 56, 32
TIMEOUT = 5
BATCH, TYPICAL = 32, 2
"""Games of a batch, and by how many of them black usually wins more."""


def refusal(state: LogState, record: Record, *signers: SecretKey) -> str:
    """Why an entry may not be logged next; empty if it may."""
    try:
        state.check(record.seal(*signers).encode())
    except LogFault as fault:
        return fault.reason
    return ""


def seed_grinding(effort: Effort) -> Iterator[Row]:
    """Ten identities, of which the one with the best first seed goes on; nothing of a seed is known before it registers."""
    best, runs = [], []
    for number in range(max(50, effort.runs // 5)):
        if number % 50 == 0:
            world = Oracle(policy_of(), 1, f"grinding {number}")
        drawn = []
        for choice in range(CHOICES):
            name = f"seed-{number}-{choice}"
            unknown = world.key(name).public
            assert world.state.join_nonce(unknown) is None
            peer = world.register(name)
            nonce = world.state.join_nonce(peer.public)
            assert nonce is not None
            config = world.manifest.selfplay.digest()
            seed = game_seed(world.run, world.state.release.id, config, peer.public, nonce, 0)
            drawn.append(NormalDist().inv_cdf((first_u64(seed) + 0.5) / 2**64))
        best.append(max(drawn))
        runs.append(Run(None))
    found, expected = mean(best), theory.best_of(CHOICES)
    fits = abs(found - expected) <= SIGMAS * pstdev(best) / sqrt(len(best))
    text = f"best of {CHOICES}: {found:.2f} sd, theory {expected:.2f}"
    yield replace(summary("seed grinding with many identities", KIND, text, BOUNDED, runs, 0.0), agrees=fits)


def sybil_flood(effort: Effort) -> Iterator[Row]:
    """200 keys of one owner and 56 of others on each slot list: as many slots as their share of the list."""
    policy = policy_of(registration="stamp", probation_slots=SLOTS, timeout_entries=TIMEOUT, probation_batches=10)
    world, won, runs = Oracle(policy, 1, "flood"), [], []
    for number in range(max(50, effort.runs // 3)):
        listed = [digest_of(f"{who} {number}") for who in range(FLOOD + HONEST)]
        flood = set(listed[:FLOOD])
        world.log(SlotList(world.run, tuple(sorted(listed))), world.coordinator)
        world.share_set()
        draw = world.state.slots.draw
        assert draw is not None
        assert draw.winners is not None
        assert len(draw.winners) == SLOTS
        won.append(len(draw.winners & flood))
        runs.append(Run(None))
        world.ticks(TIMEOUT + 1)
    stranger = world.key("stranger")
    size = world.state.size
    record = Registration(world.run, stranger.public, "stranger", b"", size, world.state.tree.root(), b"", 0)
    assert refusal(world.state, record, stranger) == "The registration waits for a probation slot."
    found, expected = mean(won), theory.slots_won(FLOOD, HONEST, SLOTS)
    fits = abs(found - expected) <= SIGMAS * pstdev(won) / sqrt(len(won))
    text = f"{found:.1f} of {SLOTS} slots a list, theory {expected:.1f}"
    yield replace(summary("Sybil flood", KIND, text, BOUNDED, runs, 0.0), agrees=fits)


def refused(name: str, reason: str, *found: str) -> Row:
    """The row of an attempt that the log's state refuses with these words each time; AssertionError if it takes it."""
    for text in found:
        assert reason in text, f"{name}: {text or 'taken'}"
    return summary(
        name, "what the log or a reader refuses", "real log", REFUSED, [Run(1, 0, 0, reason)] * len(found), 0.0
    )


def counters(effort: Effort) -> Iterator[Row]:
    """A batch twice, another for the same counters, counters left out, and a batch past the end of its series."""
    twice, duplicate, skipped, chosen = [], [], [], []
    for seed in range(effort.real):
        world = World(word=f"counters {seed}")
        ada = world.register("ada")
        first = world.batch(ada)
        twice.append(refusal(world.state, first.header, ada))
        other = replace(first.header, batch_root=digest_of("other"), blob_digest=digest_of("other"))
        duplicate.append(refusal(world.state, other, ada))
        header = world.header(ada, world.games(ada, 2))
        skipped.append(refusal(world.state, replace(header, first_counter=header.first_counter + 2), ada))
        world.play(ada, games=1, final=True)
        late = replace(header, first_counter=3)
        chosen.append(refusal(world.state, late, ada))
    yield refused("replayed batch", "The peer's next counter is 2, not 0.", *twice)
    yield refused("duplicate counters", "The peer's next counter is 2, not 0.", *duplicate)
    yield refused("skipped counters", "The peer's next counter is 2, not 4.", *skipped)
    yield refused("batch after the final one", "is ended", *chosen)


def stale_release(effort: Effort) -> Iterator[Row]:
    """Games of a release that is played no more, and of one that never was."""
    stale, unknown = [], []
    for seed in range(min(3, effort.real)):
        world = World(word=f"stale {seed}")
        ada = world.register("ada")
        old = world.state.release
        world.cycle()
        world.ticks(world.manifest.admission.final_entries + 1)
        world.share_set()
        header = world.header(ada, world.games(ada, 2, old), release=old)
        stale.append(refusal(world.state, header, ada))
        unknown.append(refusal(world.state, replace(header, release=digest_of("mine")), ada))
    yield refused("stale release", "is no longer played", *stale)
    yield refused("release of one's own", "names a release that this log does not have", *unknown)


def cloned_run(effort: Effort) -> Iterator[Row]:
    """Somebody founds a run with the same manifest: its batches, its log and its id are its own."""
    foreign, claimed = [], []
    for seed in range(effort.real):
        world, clone = World(word=f"run {seed}"), World(word=f"clone {seed}")
        world.register("ada")
        ada = clone.register("ada")
        batch = clone.play(ada)
        foreign.append(refusal(world.state, batch.header, ada))
        state = LogState(world.run)
        try:
            state.apply(clone.entries[0])
            state.apply(clone.entries[1])
        except LogFault as fault:
            claimed.append(fault.reason)
    yield refused("batches of a cloned run", "is for another run", *foreign)
    yield refused("cloned run id", "make another run id", *claimed)


def unsigned(effort: Effort) -> Iterator[Row]:
    """A batch in another's name, a batch that nobody registered for, a registration of a key with a role."""
    named, nobody, member = [], [], []
    for seed in range(effort.real):
        world = World(small_manifest(), word=f"names {seed}")
        ada, eve = world.register("ada"), world.key("eve")
        header = world.header(ada, world.games(ada, 2))
        named.append(refusal(world.state, header, eve))
        nobody.append(refusal(world.state, replace(header, peer=eve.public), eve))
        verifier = world.verifiers[0]
        size = world.state.size
        record = Registration(
            world.run, verifier.public, "v", b"", size, world.state.tree.root(), world.invite("verifier"), 0
        )
        member.append(refusal(world.state, record, verifier))
    yield refused("batch in another's name", "not signed by the peer that it names", *named)
    yield refused("batch of an unregistered key", "is not registered", *nobody)
    yield refused("verifier that contributes", "A key with a role cannot register", *member)


def chosen_tails(effort: Effort) -> Iterator[Row]:
    """Plays the first batch of each release and submits it only if black won more; a tenth of what it leaves is filled."""
    share, tail = 0.5, 0.1
    effect = theory.selection_effect(share)
    series = round(theory.tail_series(share, tail, effect))
    dice = np.random.default_rng(5)
    others = Profile.merge(crowd.play(dice, 320, release=release) for release in range(series))
    runs = []
    for _ in range(max(20, effort.runs // 10)):
        submitted: list[Profile] = []
        filled: list[Profile] = []
        for release in range(series):
            batch = crowd.play(dice, BATCH, release=release)
            is_liked = black_of(batch) > TYPICAL
            if is_liked:
                submitted.append(batch)
            if dice.random() < tail:
                filled.append(crowd.play(dice, BATCH, release=release) if is_liked else batch)
        found = tail_z(Profile.merge(submitted), Profile.merge(filled), others)
        runs.append(Run(len(submitted) if found.restarts else None, 0, 0, "probation anew" if found.restarts else ""))
    law = chance(theory.tail_found(series, share, tail, effect))
    caught = mean(run.batches is not None for run in runs)
    text = f"{series} releases, tails 10 %: found in {percent(caught)}, theory {percent(law.mean)}"
    yield replace(
        summary("chosen tails", KIND, text, BOUNDED, runs, 0.0),
        agrees=agrees(caught, law, len(runs)),
    )


def black_of(batch: Profile) -> int:
    """Games that black won, less those that white won."""
    return sum(counts.black_result.total for counts in batch.strata.values())


ADVERSARIES = (seed_grinding, sybil_flood, chosen_tails, counters, stale_release, cloned_run, unsigned)
