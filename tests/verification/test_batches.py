"""Batches in the log: counters, liveness, verdicts, decisions, probation, hold-back, gaps."""

from dataclasses import replace

import pytest

from protocol.admission import ACCEPTED, LOST, Admission, Decision
from protocol.epoch import EpochReveal
from protocol.manifest import Manifest
from protocol.seeds import PPM
from protocol.types import ZERO
from protocol.verdict import ACCEPT, REJECT, TraceOpening, Verdict
from tests.verification.manifests import digest_of, small_manifest
from tests.verification.test_state import refused
from tests.verification.world import World
from verification.faults import Rejected
from verification.identities import BatchInfo
from verification.replay import Replayed


def policy(**changes: object) -> Manifest:
    manifest = small_manifest()
    return replace(manifest, admission=replace(manifest.admission, **changes))  # type: ignore[arg-type]


def verdict(world: World, batch: BatchInfo, **changes: object) -> Verdict:
    """An accepting verdict on a batch under probation."""
    made = Verdict(
        run=world.run,
        subject=batch.digest,
        index=batch.index,
        epoch=0,
        verifier=world.verifiers[0].public,
        semantics=batch.semantics,
        drawn=tuple(range(batch.games)),
        outcome=ACCEPT,
        evidence="",
        game=0,
        ply=0,
        reason="",
        work=digest_of("work"),
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def accept(world: World, batch: BatchInfo) -> None:
    """A verdict that nobody replayed for, its opening and the decision: the state cannot tell."""
    drawn = tuple(range(batch.games)) if batch.q_ppm == PPM else ()
    world.say(batch, Replayed(drawn, (digest_of("d"),) * batch.header.plies, None), None)
    world.admit()


# ---- headers


def test_headers_that_do_not_fit(world: World) -> None:
    ada = world.peers["ada"]
    good = world.header(ada, world.games(ada, 2))
    assert "next counter is 0" in refused(world, replace(good, first_counter=1), ada)
    assert "another manifest" in refused(world, replace(good, manifest=digest_of("x")), ada)
    assert "another search config" in refused(world, replace(good, config=digest_of("x")), ada)
    assert "semantics" in refused(world, replace(good, semantics="gonode/search/2"), ada)
    assert "does not have" in refused(world, replace(good, release=digest_of("x")), ada)
    assert "registered at entry" in refused(world, replace(good, registration=1), ada)
    assert "not signed by the peer" in refused(world, good, world.coordinator)
    assert "is not registered" in refused(world, replace(good, fill_for=world.coordinator.public), ada)
    assert "has 2 games" in refused(world, replace(good, games=1), ada)
    assert "has 2 games" in refused(world, replace(good, games=3, final=True), ada)
    assert "larger than" in refused(world, replace(good, blob_len=2**22 + 1), ada)
    assert "larger than" in refused(world, replace(good, raw_len=2**23 + 1), ada)
    assert "plies do not fit" in refused(world, replace(good, plies=1), ada)
    stranger = world.key("stranger")
    assert "not registered" in refused(world, replace(good, peer=stranger.public), stranger)
    world.log(good, ada)
    assert "next counter is 2" in refused(world, good, ada)
    assert world.state.next_counter(ada.public, good.release) == 2


def test_a_final_batch_ends_the_series(world: World) -> None:
    ada = world.peers["ada"]
    batch = world.play(ada, games=1, final=True)
    assert batch.games == 1
    assert world.state.batches.series(ada.public, world.state.release.id).closed
    header = world.header(ada, world.games(ada, 2))
    assert "is ended" in refused(world, header, ada)


def test_an_empty_final_batch_goes_through(world: World) -> None:
    batch = world.play(world.peers["ada"], games=0, final=True)
    assert world.judge(batch) is None
    world.admit()
    assert batch.is_accepted_batch
    assert world.state.batches.tally(world.peers["ada"].public).games == 0


def test_the_release_before_the_newest_is_live_for_a_while() -> None:
    world = World(policy(final_entries=30))
    ada = world.register("ada")
    old = world.state.release
    world.cycle()
    assert world.state.previous_release == old
    first = world.state.next_counter(ada.public, old.id)
    world.play(ada, release=old)
    assert world.state.next_counter(ada.public, old.id) == first + 2
    while world.state.size <= world.state.release.index + 30:
        world.ticks(1)
    header = world.header(ada, world.games(ada, 2, old), release=old)
    assert "no longer played" in refused(world, header, ada)
    world.play(ada)


# ---- verdicts


def test_verdicts_that_do_not_fit(world: World) -> None:
    ada, verifier = world.peers["ada"], world.verifiers[0]
    batch = world.play(ada)
    assert batch.assigned == verifier.public
    assert world.state.batches_awaiting_verdict(verifier.public) == [batch]
    assert "not signed by the verifier" in refused(world, verdict(world, batch), ada)
    assert "not logged" in refused(world, verdict(world, batch, subject=digest_of("x")), verifier)
    assert "not logged" in refused(world, verdict(world, batch, index=1), verifier)
    assert "epoch" in refused(world, verdict(world, batch, epoch=1), verifier)
    assert "semantics" in refused(world, verdict(world, batch, semantics="other"), verifier)
    assert "does not have" in refused(world, verdict(world, batch, drawn=(0, 1, 2)), verifier)
    assert "drawn games" in refused(world, verdict(world, batch, drawn=(0,)), verifier)
    false = verdict(world, batch, drawn=(1,), outcome=REJECT, evidence="ply", game=1, ply=3, reason="visits")
    assert "drawn games" in refused(world, false, verifier)
    world.log(verdict(world, batch), verifier)
    assert "its verdict already" in refused(world, verdict(world, batch), verifier)
    assert world.state.batches_awaiting_verdict(verifier.public) == []


def test_no_verdict_before_the_beacon(world: World) -> None:
    ada, verifier = world.peers["ada"], world.verifiers[0]
    index = world.log(world.header(ada, world.games(ada, 2)), ada)
    batch = world.state.batch(index)
    assert batch is not None
    assert world.state.batches_awaiting_verdict(verifier.public) == []
    assert "no beacon yet" in refused(world, verdict(world, batch), verifier)


def test_openings_that_do_not_fit(world: World) -> None:
    ada, verifier = world.peers["ada"], world.verifiers[0]
    batch = world.play(ada)
    plies = batch.header.plies
    opening = TraceOpening(world.run, verifier.public, batch.digest, batch.index, digest_of("blob"), plies)
    assert "no verdict" in refused(world, opening, verifier)
    world.log(verdict(world, batch), verifier)
    assert "plies were drawn" in refused(world, replace(opening, plies=plies - 1), verifier)
    assert "not signed by the verifier" in refused(world, opening, ada)
    world.log(opening, verifier)
    assert "opened already" in refused(world, opening, verifier)


def test_another_verifier_may_take_over_after_the_timeout() -> None:
    world = World(verifiers=3)
    batch = world.play(world.register("ada"))
    other = next(key for key in world.verifiers if key.public != batch.assigned)
    theirs = verdict(world, batch, verifier=other.public)
    assert world.state.batches_awaiting_verdict(other.public) == []
    assert "another verifier's" in refused(world, theirs, other)
    world.ticks(21)
    assert world.state.batches_awaiting_verdict(other.public) == [batch]
    world.log(theirs, other)


# ---- decisions


def test_decisions_are_the_verdicts(world: World) -> None:
    ada, verifier = world.peers["ada"], world.verifiers[0]
    batch = world.play(ada)

    def admission(**changes: object) -> Admission:
        made = Decision(batch.index, batch.index, ACCEPTED, verifier.public, PPM, "")
        return Admission(world.run, (replace(made, **changes),))  # type: ignore[arg-type]

    assert "No decision is due" in refused(world, admission(), world.coordinator)
    world.log(verdict(world, batch), verifier)
    assert "No decision is due" in refused(world, admission(), world.coordinator)
    opening = TraceOpening(world.run, verifier.public, batch.digest, batch.index, digest_of("b"), batch.header.plies)
    world.log(opening, verifier)
    assert [due.batch for due in world.state.due_decisions()] == [batch]
    for change in ({"outcome": "rejected"}, {"q_ppm": 5}, {"verifier": ada.public}, {"reason": "x"}, {"outcome": LOST}):
        assert "not what its verdict says" in refused(world, admission(**change), world.coordinator)
    assert "No batch is logged" in refused(world, admission(index=0), world.coordinator)
    twice = Admission(world.run, admission().decisions * 2)
    assert "each once" in refused(world, twice, world.coordinator)
    assert "one batch or more" in refused(world, Admission(world.run, ()), world.coordinator)
    world.log(admission(), world.coordinator)
    assert batch.is_accepted_batch
    assert "No decision is due" in refused(world, admission(), world.coordinator)


def test_hold_back_counts_later_accepted_batches() -> None:
    world = World(policy(hold_back_batches=2, probation_batches=1))
    ada = world.register("ada")
    batches = [world.play(ada) for _ in range(5)]
    for batch in batches[1:]:
        accept(world, batch)
    assert world.state.batches.released == ()  # the first one is not accepted yet
    accept(world, batches[0])
    assert world.state.batches.released == tuple(batches[:3])
    assert {batch.released_at for batch in batches[:3]} == {world.state.size - 1}
    assert world.state.released_rows == sum(batch.header.plies for batch in batches[:3])


def test_probation_replays_everything_then_q_falls() -> None:
    world = World(policy(probation_batches=2, q_min_ppm=50_000))
    ada = world.register("ada")
    shares = []
    for _ in range(7):
        batch = world.play(ada)
        shares.append(batch.q_ppm)
        accept(world, batch)
    assert shares == [PPM, PPM, PPM, 666_667, 500_000, 400_000, 333_334]


def test_empty_batches_earn_nothing() -> None:
    world = World(policy(probation_batches=1, hold_back_batches=1))
    ada = world.register("ada")
    batch = world.play(ada)
    accept(world, batch)
    accept(world, world.play(ada, games=0, final=True))
    assert world.state.batches.released == ()


def reject(world: World, batch: BatchInfo) -> None:
    world.say(batch, Replayed((), (), None), Rejected("visits sum", "Ply 3 of game 0 has 4 visits, not 11.", 0, 3))
    world.admit()


def test_nothing_of_a_rejected_identity_is_released_any_more() -> None:
    world = World(policy(hold_back_batches=1))
    ada, bob = world.register("ada"), world.register("bob")
    batches = [world.play(ada) for _ in range(4)]
    waiting = world.play(ada)
    accept(world, batches[0])
    accept(world, batches[1])
    assert world.state.batches.released == (batches[0],)
    reject(world, batches[2])
    assert batches[1].dropped
    assert batches[3].dropped
    assert batches[0].released_at is not None
    assert world.state.batches.released == ()  # the ban purges what was released before
    assert waiting not in world.state.batches_awaiting_verdict(world.verifiers[0].public)
    header = world.header(ada, world.games(ada, 2))
    assert "is banned" in refused(world, header, ada)
    tally = world.state.batches.tally(ada.public)
    assert (tally.games, tally.verified, tally.pending, tally.rejected) == (10, 4, 0, 6)
    accept(world, world.play(bob))
    assert world.state.batches.total().verified == 6
    world.begin_epoch(world.verifiers[0])
    world.reveal(world.verifiers[0], 0)


def test_a_batch_that_never_came_is_lost_and_in_the_end_ends_its_series() -> None:
    world = World(policy(hold_back_batches=1))
    ada = world.register("ada")
    first = world.play(ada)
    accept(world, first)
    lost, later = world.play(ada), world.play(ada)
    decision = Decision(lost.index, lost.index, LOST, ZERO, lost.q_ppm, "")
    assert "No decision is due" in refused(world, Admission(world.run, (decision,)), world.coordinator)
    accept(world, later)
    world.ticks(25)
    assert [due.decision for due in world.state.due_decisions()] == [decision]
    world.log(Admission(world.run, (decision,)), world.coordinator)
    assert first.released_at is not None
    assert later.released_at is None
    assert not later.dropped
    world.ticks(25)
    assert later.dropped
    assert world.state.batches.series(ada.public, lost.header.release).closed
    assert not world.state.batches.is_out(ada.public)
    late = verdict(world, lost, drawn=())
    assert "any more" in refused(world, late, world.verifiers[0])


def test_a_lost_first_batch_does_not_block_an_identity_for_ever() -> None:
    world = World(policy(hold_back_batches=0, final_entries=1000))
    ada = world.register("ada")
    lost = world.play(ada)
    world.ticks(25)
    due = world.state.batches.due_of(lost, world.state.size)
    assert due is not None
    world.log(Admission(world.run, (due.decision,)), world.coordinator)
    bob = world.register("bob")
    for _ in range(5):
        world.batch(bob)
    world.train()
    world.gate()
    batch = world.batch(ada)
    assert batch.q_ppm == PPM
    assert batch.released_at is not None


def test_a_reveal_shows_draws_that_its_secret_contradicts() -> None:
    world = World(policy(q_min_ppm=500_000))
    ada, verifier = world.register("ada"), world.verifiers[0]
    for _ in range(4):
        accept(world, world.play(ada))
    lazy = []
    for _ in range(6):
        batch = world.play(ada)
        assert batch.q_ppm < PPM
        world.say(batch, Replayed((), (), None), None)
        if batch.draw(world.secret(verifier, 0)):
            lazy.append(batch.index)
        world.admit()
    assert lazy
    world.begin_epoch(verifier)
    world.log(EpochReveal(world.run, verifier.public, 0, world.secret(verifier, 0)), verifier)
    told = [fault.reason for fault in world.state.faults]
    assert all(any(f"entry {index} " in reason for reason in told) for index in lazy)


@pytest.mark.parametrize("games", [1, 2])
def test_tallies(games: int) -> None:
    world = World(policy(games_per_batch=games))
    ada = world.register("ada")
    batch = world.play(ada)
    tally = world.state.batches.tally(ada.public)
    assert (tally.batches, tally.games, tally.plies, tally.pending) == (1, games, batch.header.plies, games)
    accept(world, batch)
    tally = world.state.batches.tally(ada.public)
    assert (tally.verified, tally.pending, tally.rejected) == (games, 0, 0)
