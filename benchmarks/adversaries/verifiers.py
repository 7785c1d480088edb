"""Verifiers that do not do their work, draw as they like, or use their word against the honest."""

from collections.abc import Iterator
from dataclasses import replace
from statistics import mean

from benchmarks.adversaries import theory
from benchmarks.adversaries.laws import agrees
from benchmarks.adversaries.oracle import Oracle, blind, policy_of
from benchmarks.adversaries.outcome import CAUGHT, REFUSED, Effort, Row, Run, summary
from native.network import Kernel
from protocol.admission import REJECTED
from protocol.proof import Ban
from protocol.ringer import RingerHash, RingerReveal
from protocol.seeds import first_u64, ringer_commitment
from protocol.types import ZERO
from protocol.verdict import ACCEPT, TraceOpening, Verdict
from tests.verification.manifests import digest_of, small_manifest
from tests.verification.world import World
from verification.faults import Rejected
from verification.identities import VOID
from verification.proof import check_proof
from verification.replay import Replayed
from verification.subjects import BatchSubject
from verification.traces import is_backed

KIND = "verifier"
SKIPPED = 0.3
RINGER_BATCHES = 5
BIG = 32


def lazy_without_traces(effort: Effort) -> Iterator[Row]:
    """Accepts without a replay: the D that it opens are not those that the batch records, so no decision follows."""
    runs = []
    for seed in range(effort.real):
        world = World(word=f"lazy {seed}")
        batch = world.play(world.register("ada"))
        verifier = world.verifier_key(batch.assigned)
        drawn = batch.draw(world.secret(verifier, 0))
        made_up = Replayed(drawn, (digest_of("made up"),) * batch.header.plies, None)
        world.say(batch, made_up, None)
        assert batch.verdict is not None
        assert batch.opening is not None
        opened, content = world.blobs[batch.opening.blob_digest], world.content(batch)
        assert not is_backed(batch.verdict, opened, content)
        _, honest, _ = world.examine(batch)
        said = replace(batch.verdict, work=ZERO)
        assert not is_backed(said, b"".join(honest.digests), content)
        runs.append(Run(1, 0, 0, "traces not backed"))
    yield summary("lazy verifier", KIND, "real games", REFUSED, runs, 0.0)


def lazy_with_traces(effort: Effort) -> Iterator[Row]:
    """Skips three replays in ten, because contributors tell it their D: ringers with a wrong game convict it."""
    runs, ringers = [], []
    for seed in range(max(30, effort.runs // 10)):
        world = Oracle(policy_of(), 1, f"ringers {seed}")
        lazy = world.verifiers[0]

        def conduct(check: BatchSubject, drawn: tuple[int, ...], wrong: frozenset[int]) -> int | None:
            skips = first_u64(digest_of(f"skips {check.key.hex()}")) < SKIPPED * 2**64
            return None if skips else next((game for game in drawn if game in wrong), None)

        world.conduct[lazy.public] = conduct
        ada, batches, sent = world.register("ada"), 0, 0
        while not world.state.is_banned(lazy.public):
            for _ in range(RINGER_BATCHES - 1):
                world.submit(ada)
            sent, batches = sent + 1, batches + RINGER_BATCHES
            send_ringer(world, sent)
            for missed in world.state.ringers.missed():
                proof = world.accusation(missed, against_verifier=True)
                world.log(Ban(world.run, lazy.public, proof), world.coordinator)
        runs.append(Run(batches, 0, sent, "ban of the verifier"))
        ringers.append(sent)
    until, law = mean(ringers), theory.lazy_law(SKIPPED)
    text = f"one ringer in {RINGER_BATCHES}: {until:.2f} ringers until, theory {law.mean:.2f}"
    row = summary("lazy verifier that is told all D", KIND, text, CAUGHT, runs, 0.0)
    yield replace(row, agrees=bool(row.agrees) and agrees(until, law, len(ringers)))


def send_ringer(world: Oracle, number: int) -> None:
    """Commits to, submits and, once it is judged, reveals a ringer; all that waits is judged with it."""
    key, salt = world.register(f"ringer-{number}"), digest_of(f"salt {number}")
    header = world.synthetic(key)
    game = first_u64(salt) % header.games
    commitment = ringer_commitment(world.run, header.seal(key).digest, game, 2, salt)
    hashed = world.log(RingerHash(world.run, commitment), world.coordinator)
    index = world.log(header, key)
    assert hashed < index
    world.wrong[index] = frozenset((game,))
    world.share_set()
    world.judge_all()
    world.log(RingerReveal(world.run, index, game, 2, salt), world.coordinator)
    world.admit()


def framing(effort: Effort) -> Iterator[Row]:
    """Calls a right ply wrong: nobody is rejected, its own verdict convicts it, and the batch is judged by another."""
    runs = []
    for seed in range(effort.real):
        world = World(small_manifest(), 3, f"framing {seed}")
        ada = world.register("ada")
        batch = world.play(ada)
        liar = world.verifier_key(batch.assigned)
        ply = world.content(batch).games[0].plies[0]
        world.say(batch, Replayed((0,), (digest_of("d"),), None), Rejected("value", "It is another.", 0, ply))
        assert world.state.batches.is_suspended(ada.public)
        assert not [due for due in world.state.due_decisions() if due.decision.outcome == REJECTED]
        check = batch
        assert not holds(world, check, against_verifier=False)
        finding = holds(world, check, against_verifier=True)
        assert finding
        assert check.verdict is not None
        world.log(Ban(world.run, liar.public, world.accusation(check, against_verifier=True)), world.coordinator)
        assert not world.state.batches.is_suspended(ada.public)
        world.share_set()
        while waiting := [each for each in world.state.batches.undecided() if each.verdict is None]:
            world.judge(waiting[0])
        world.admit()
        assert batch.is_accepted_batch
        assert batch.assigned != liar.public
        runs.append(Run(1, 0, len(batch.verdict.drawn) if batch.verdict else 0, "ban of the verifier"))
    yield summary("framing verifier", KIND, "real games, evidence ply", CAUGHT, runs, 0.0)


def holds(world: World, check: BatchSubject, against_verifier: bool) -> bool:
    """Whether the proof that a verdict points to holds."""
    try:
        proof = world.accusation(check, against_verifier)
        check_proof(proof, world.run, world.networks.get, Kernel.SCALAR)
    except ValueError:
        return False
    return True


def other_draws(effort: Effort) -> Iterator[Row]:
    """Names other games than its secret draws: the reveal shows it, a named fault, and all of it is judged anew."""
    runs = []
    for seed in range(effort.real):
        world = Oracle(policy_of(hold_back_batches=0, games_per_batch=BIG), 2, f"draws {seed}")
        ada = world.register("ada")
        for _ in range(4):
            world.submit(ada)
            world.settle()
        batch = world.submit(ada, (0,))
        world.share_set()
        verifier = world.verifier_key(batch.assigned)
        key, epoch = verifier.public, batch.candidates[verifier.public]
        drawn = batch.draw(world.secret(verifier, epoch))
        said = tuple(game for game in drawn if game) if 0 in drawn else drawn[1:]
        place = world.run, batch.digest, batch.index
        world.log(Verdict(*place, epoch, key, batch.semantics, said, ACCEPT, "", 0, 0, "", ZERO), verifier)
        if said:
            world.log(TraceOpening(world.run, key, batch.digest, batch.index, ZERO, len(said)), verifier)
        world.conduct[key] = blind
        world.settle()
        world.rotate(verifier)
        assert world.state.faults[-1].verifier == key
        assert "other games" in world.state.faults[-1].reason
        assert not batch.is_accepted_batch or any(each.purpose == VOID for each in batch.rechecks)
        assert key not in world.state.subjects.candidates(world.state.size)
        runs.append(Run(1, 0, 0, "named fault"))
    yield summary("verifier that draws other games", KIND, "q = 25 %", CAUGHT, runs, 0.0)


ADVERSARIES = (lazy_without_traces, lazy_with_traces, framing, other_draws)
