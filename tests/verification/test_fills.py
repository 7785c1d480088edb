"""Fills in the log: which series are drawn, who is asked, what lapses; gaps, filled and not."""

from dataclasses import replace

from native.network import Kernel
from protocol.admission import LOST, Admission, Decision
from protocol.ed25519 import SecretKey
from protocol.fills import FillAssignment
from protocol.header import BatchHeader
from protocol.seeds import PPM, fill_rank, is_picked
from protocol.types import ZERO
from tests.verification import edits
from tests.verification.manifests import digest_of
from tests.verification.test_batches import accept, policy, reject
from tests.verification.test_state import refused
from tests.verification.world import World
from verification.identities import BatchInfo
from verification.proof import check_proof
from verification.series import Fill
from verification.setup import selfplay_job
from verification.state import LogState

TIMEOUT = 20


def crowd(names: str, **changes: object) -> World:
    """A run that draws every tail, whose contributors have all sent a batch that is accepted."""
    world = World(policy(**{"tail_ppm": PPM, "hold_back_batches": 0, "timeout_entries": TIMEOUT, **changes}))
    for name in names.split():
        accept(world, world.play(world.register(name)))
    return world


def end(world: World, name: str) -> Fill:
    """A contributor ends its series with an empty final batch, and the beacon draws it."""
    world.play(world.peers[name], games=0, final=True)
    (fill,) = (fill for fill in world.state.fills.open if fill.owner == world.peers[name].public)
    return fill


def lose(world: World, batch: BatchInfo) -> Fill:
    """A batch's bytes never come; the gap, with its beacon. Everybody goes on meanwhile."""
    world.ticks(batch.index + world.manifest.admission.timeout_entries + 1 - world.state.size)
    world.log(
        Admission(world.run, (Decision(batch.index, batch.index, LOST, ZERO, batch.q_ppm, ""),)), world.coordinator
    )
    world.share_set()
    fill = batch.series.fill_at(batch.header.first_counter)
    assert fill is not None
    return fill


def peer(world: World, key: bytes) -> SecretKey:
    return next(each for each in world.peers.values() if each.public == key)


def opened(world: World) -> list[Fill]:
    """What is to be filled in."""
    return list(world.state.fills.open)


def filling(world: World, player: SecretKey, fill: Fill) -> BatchHeader:
    """The header of a batch that fills games in."""
    release = world.state.release_by_id(fill.release)
    assert release is not None
    counters = range(fill.first_counter, fill.first_counter + fill.games)
    jobs = [selfplay_job(world.state, release, fill.owner, each, world.player(release)) for each in counters]
    header = world.header(player, world.play_blocks(jobs), fill.is_final, release)
    return replace(header, first_counter=fill.first_counter, fill_for=fill.owner)


def ask(world: World) -> SecretKey:
    """Logs the assignment that is due; who is asked."""
    assignment = world.state.fills.next_assignment(world.state.size)
    assert assignment is not None
    world.log(assignment, world.coordinator)
    return peer(world, assignment.player)


def fill_in(world: World, player: SecretKey, fill: Fill) -> BatchInfo:
    index = world.log(filling(world, player, fill), player)
    world.share_set()
    batch = world.state.batch(index)
    assert batch is not None
    return batch


# ---- draws


def test_a_share_of_ended_series_is_drawn() -> None:
    count = 20_000
    drawn = sum(is_picked("tail", digest_of("beacon"), digest_of(f"{n}") * 2, PPM // 10) for n in range(count))
    assert abs(drawn - count / 10) < 4 * (count * 0.1 * 0.9) ** 0.5


def test_the_beacon_of_its_end_draws_a_series() -> None:
    world = crowd("ada", tail_ppm=PPM // 2, timeout_entries=500)
    release = world.state.release.id
    ends = {}
    for number in range(24):
        name = f"p{number}"
        batch = world.play(world.register(name), games=0, final=True)
        ends[world.peers[name].public] = batch.index
    expected = []
    for owner, index in ends.items():
        beacon = world.state.beacon(index)
        assert beacon is not None
        expected += [owner] * is_picked("tail", beacon, owner + release, PPM // 2)
    assert [fill.owner for fill in world.state.fills.open] == expected
    assert world.state.fills.drawn == len(expected)
    assert 4 < len(expected) < 20


def test_nothing_is_drawn_before_the_beacon_nor_twice() -> None:
    world = crowd("ada bob", final_entries=10)
    ada = world.peers["ada"]
    world.log(world.header(ada, [], final=True), ada)
    assert opened(world) == []
    world.share_set()
    (fill,) = world.state.fills.open
    assert (fill.first_counter, fill.games, fill.is_final, fill.is_gap) == (2, 2, False, False)
    release(world)
    over(world)
    assert [each for each in world.state.fills.open if each.owner == ada.public and each.release == fill.release] == [
        fill
    ]


def test_a_release_that_is_over_ends_all_series_and_empty_ones_of_the_active() -> None:
    world = crowd("ada bob cyd", final_entries=10, exit_entries=400, timeout_entries=200)
    first = world.state.release
    reject(world, world.play(world.peers["cyd"]))
    release(world)
    second = world.state.release
    late = world.register("late")
    accept(world, world.play(late))  # it came when release 0 was past
    dan = world.register("dan")
    over(world)
    mine = [(fill.owner, fill.release, fill.first_counter) for fill in world.state.fills.open]
    assert (world.peers["ada"].public, first.id, world.state.next_counter(world.peers["ada"].public, first.id)) in mine
    assert {owner for owner, _, _ in mine} == {world.peers["ada"].public, world.peers["bob"].public}
    # In the second release only `late` has played; the others could have, and `dan` never sent anything.
    release(world, "late")
    over(world)
    drawn = {(fill.owner, fill.first_counter) for fill in world.state.fills.open if fill.release == second.id}
    assert {owner for owner, _ in drawn} == {world.peers[name].public for name in ("ada", "bob", "late")}
    assert {(world.peers["ada"].public, 0), (world.peers["bob"].public, 0)} < drawn
    assert dan.public not in {owner for owner, _ in drawn}


def release(world: World, *names: str) -> None:
    """Plays, by these or by all in good standing, until there is another release."""
    number = world.state.release.number
    while world.state.release.number == number:
        while world.state.due_window() is None:
            for key in [world.peers[name] for name in names] or list(world.peers.values()):
                if not world.state.batches.is_out(key.public) and world.state.batches.last_index(key.public):
                    accept(world, world.play(key))
        world.train()
        world.gate()


def over(world: World) -> None:
    """Lets the release before the newest be over, and its series be drawn."""
    world.ticks(world.manifest.admission.final_entries + 1)
    world.share_set()


# ---- tails


def test_others_fill_a_tail_in() -> None:
    world = crowd("ada bob cyd", timeout_entries=200)
    ada = world.peers["ada"]
    fill = end(world, "ada")
    beacon = world.state.beacon(fill.index)
    assert beacon is not None
    others = [world.peers[name].public for name in ("bob", "cyd")]
    place = fill.owner, fill.release, fill.first_counter
    ranked = sorted(others, key=lambda player: fill_rank(beacon, *place, player))
    assert fill.players == tuple(ranked)

    # The coordinator asks who is first by the beacon, nobody else, for exactly these games.
    due = world.state.fills.next_assignment(world.state.size)
    assert due == FillAssignment(world.run, fill.owner, fill.release, 2, 2, ranked[0])
    assert "is to be asked" in refused(world, replace(due, player=ranked[1]), world.coordinator)
    assert "is to be asked" in refused(world, replace(due, player=ada.public), world.coordinator)
    assert "not to be filled in" in refused(world, replace(due, first_counter=4), world.coordinator)
    assert "not to be filled in" in refused(world, replace(due, games=1), world.coordinator)
    assert "coordinator" in refused(world, due, ada)
    early = peer(world, ranked[0])
    assert "not asked" in refused(world, filling(world, early, fill), early)
    player = ask(world)
    other = peer(world, ranked[1])
    assert world.state.fills.next_assignment(world.state.size) is None
    assert "Nobody is to be asked" in refused(world, replace(due, player=other.public), world.coordinator)
    assert world.state.fills.assignments(player.public) == [fill]
    assert world.state.fills.assignments(other.public) == world.state.fills.assignments(ada.public) == []

    # Only the player may send them, whole, and once.
    good = filling(world, player, fill)
    assert "not asked" in refused(world, filling(world, other, fill), other)
    assert "not asked" in refused(world, filling(world, ada, fill), ada)
    assert "is ended" in refused(world, replace(filling(world, ada, fill), fill_for=b""), ada)
    assert "batch of 2 games, not a final one" in refused(world, replace(good, games=1), player)
    assert "batch of 2 games, not a final one" in refused(world, replace(good, final=True), player)
    assert "Nobody is asked" in refused(world, replace(good, first_counter=4), player)
    assert "Nobody is asked" in refused(world, replace(good, fill_for=player.public), player)
    assert "not registered" in refused(world, replace(good, fill_for=world.coordinator.public), player)
    batch = fill_in(world, player, fill)
    assert "filled in already" in refused(world, replace(good, build="other"), player)
    assert "filled in already" in refused(world, due, world.coordinator)

    # It is the player's batch in all that counts, and is replayed with the owner's seeds.
    before = world.state.batches.tally(ada.public)
    assert world.judge(batch) is None
    world.admit()
    assert batch.is_accepted_batch
    assert batch.released_at is not None
    assert world.state.batches.tally(ada.public) == before
    assert world.state.batches.tally(player.public).verified == 4
    assert opened(world) == []
    assert world.state.fills.filled(ada.public) == (batch,)
    assert (world.state.fills.drawn, world.state.fills.filled_count, world.state.fills.lapsed) == (1, 1, 0)
    assert world.state.next_counter(ada.public, fill.release) == 4


def test_wrong_games_of_a_fill_are_found_and_proved() -> None:
    world = crowd("ada bob cyd", timeout_entries=200)
    fill = end(world, "ada")
    player = ask(world)
    release = world.state.release
    good = world.play_blocks(
        [selfplay_job(world.state, release, fill.owner, counter, world.player(release)) for counter in (2, 3)]
    )
    header = world.header(player, edits.of_game(0, edits.value(0))(good), release=release)
    index = world.log(replace(header, first_counter=2, fill_for=fill.owner), player)
    world.share_set()
    batch = world.state.batch(index)
    assert batch is not None
    rejected = world.judge(batch)
    assert rejected is not None
    assert rejected.label == "value"
    finding = check_proof(world.accusation(batch), world.run, world.networks.get, Kernel.SCALAR)
    assert finding.subject == player.public
    world.admit()
    assert world.state.is_banned(player.public)
    assert not world.state.is_banned(fill.owner)


def test_own_games_in_place_of_the_owners_are_found() -> None:
    world = crowd("ada bob", timeout_entries=200)
    fill = end(world, "ada")
    bob = ask(world)
    own = world.header(bob, world.games(bob, 2))
    index = world.log(replace(own, first_counter=fill.first_counter, fill_for=fill.owner), bob)
    world.share_set()
    batch = world.state.batch(index)
    assert batch is not None
    rejected = world.judge(batch)
    assert rejected is not None
    assert rejected.label in ("setup", "search", "counter", "move", "visits")


def test_who_does_not_answer_is_followed_by_the_next_until_the_tail_lapses() -> None:
    world = crowd("ada bob cyd dan eva", timeout_entries=50)
    fill = end(world, "ada")
    drawn_at = world.state.size - 1
    assert fill.players is not None
    assert len(fill.players) == 4
    asked = []
    while fill in world.state.fills.open:
        if world.state.fills.next_assignment(world.state.size) is not None:
            asked.append(ask(world).public)
        else:
            world.ticks(1)
    assert asked == list(fill.players[:3])
    assert world.state.size - 1 == drawn_at + 1 + 3 * 50
    assert world.state.fills.lapsed == 1
    late = peer(world, asked[-1])
    assert "Nobody is asked" in refused(world, filling(world, late, fill), late)
    assert world.state.fills.assignments(late.public) == []


def test_who_was_asked_before_may_still_answer() -> None:
    world = crowd("ada bob cyd")
    fill = end(world, "ada")
    first = ask(world)
    world.ticks(TIMEOUT + 1)
    ask(world)
    accept(world, fill_in(world, first, fill))
    assert world.state.fills.filled_count == 1


def test_a_tail_without_anybody_else_lapses() -> None:
    world = crowd("ada")
    end(world, "ada")
    assert world.state.fills.next_assignment(world.state.size) is None
    world.ticks(3 * TIMEOUT + 1)
    assert opened(world) == []
    assert world.state.fills.lapsed == 1


def test_bans_of_owner_and_player() -> None:
    world = crowd("ada bob cyd", timeout_entries=200)
    held = world.play(world.peers["ada"])
    fill = end(world, "ada")
    player = ask(world)
    cheat = fill_in(world, player, fill)
    assert world.state.fills.next_assignment(world.state.size) is None
    reject(world, cheat)  # the player is out: the next one is asked
    assert world.state.is_banned(player.public)
    assert opened(world) == [fill]
    other = ask(world)
    assert other is not player
    reject(world, held)  # the owner is out: what was drawn of it falls away
    assert opened(world) == []
    assert world.state.fills.lapsed == 0
    assert "Nobody is asked" in refused(world, filling(world, other, fill), other)


def test_a_player_that_is_banned_for_another_batch_makes_room() -> None:
    world = crowd("ada bob cyd", timeout_entries=200)
    fill = end(world, "ada")
    player = ask(world)
    bad = world.play(player)
    waiting = fill_in(world, player, fill)
    reject(world, bad)
    assert waiting.dropped
    assert fill.header_index is None
    assert ask(world) is not player


# ---- gaps


def series_with_a_gap(names: str = "ada bob") -> tuple[World, Fill, list[BatchInfo]]:
    """ada's second batch is lost; two that follow it are accepted."""
    world = crowd(names, tail_ppm=0, timeout_entries=60)
    ada = world.peers["ada"]
    lost = world.play(ada)
    later = [world.play(ada) for _ in range(2)]
    for batch in later:
        accept(world, batch)
    world.ticks(61)
    for name in names.split()[1:]:
        accept(world, world.play(world.peers[name]))
    decision = Decision(lost.index, lost.index, LOST, ZERO, lost.q_ppm, "")
    world.log(Admission(world.run, (decision,)), world.coordinator)
    (gap,) = world.state.fills.open
    assert (gap.owner, gap.first_counter, gap.games, gap.is_gap) == (ada.public, 2, 2, True)
    return world, gap, later


def test_the_owner_fills_its_gap() -> None:
    world, gap, later = series_with_a_gap("ada")
    ada = world.peers["ada"]
    assert [batch.released_at for batch in later] == [None, None]
    assert world.state.fills.assignments(ada.public) == [gap]
    assert "next counter is 8" not in refused(world, replace(filling(world, ada, gap), games=1), ada)
    assert "next counter is 8" in refused(world, replace(filling(world, ada, gap), fill_for=b""), ada)
    batch = fill_in(world, ada, gap)
    after = world.play(ada)  # the series goes on
    assert after.header.first_counter == 8
    assert not any(each.released_at for each in later)
    assert world.judge(batch) is None
    world.admit()
    assert all(each.released_at == world.state.size - 1 for each in later)
    assert batch.released_at is not None
    assert world.state.fills.filled(ada.public) == (batch,)
    accept(world, after)
    assert after.released_at is not None
    assert not batch.series.closed


def test_another_fills_a_gap() -> None:
    world, gap, later = series_with_a_gap()
    bob = world.peers["bob"]
    assert world.state.fills.next_assignment(world.state.size) is None  # the beacon says who
    world.share_set()
    assert ask(world) is bob
    batch = fill_in(world, bob, gap)
    assert "filled in already" in refused(world, filling(world, world.peers["ada"], gap), world.peers["ada"])
    accept(world, batch)
    assert all(each.released_at for each in later)
    assert world.state.batches.tally(bob.public).verified == 6
    accept(world, world.play(world.peers["ada"]))


def test_a_gap_that_nobody_fills_ends_the_series_and_drops_what_followed() -> None:
    world, gap, later = series_with_a_gap()
    lost_at = world.state.size - 1
    world.share_set()
    ask(world)
    waiting = world.play(world.peers["ada"])
    world.ticks(lost_at + 60 - world.state.size)
    assert opened(world) == [gap]
    assert not later[0].dropped
    world.ticks(1)
    assert opened(world) == []
    assert world.state.fills.lapsed == 1
    assert all(each.dropped for each in (*later, waiting))
    assert not world.state.batches.is_out(gap.owner)
    ada = world.peers["ada"]
    assert "is ended" in refused(world, world.header(ada, world.games(ada, 2)), ada)
    assert "any more" not in refused(world, filling(world, ada, gap), ada)
    tally = world.state.batches.tally(ada.public)
    assert (tally.verified, tally.pending, tally.rejected) == (6, 0, 4)


def test_a_fill_of_a_gap_that_is_lost_too_is_for_others() -> None:
    world, gap, later = series_with_a_gap()
    again = fill_in(world, world.peers["ada"], gap)
    world.ticks(60)
    for _ in range(2):
        accept(world, world.play(world.peers["bob"]))
    assert lose(world, again) is gap
    assert world.state.fills.assignments(gap.owner) == []
    assert "not asked" in refused(world, filling(world, world.peers["ada"], gap), world.peers["ada"])
    accept(world, fill_in(world, ask(world), gap))
    assert all(each.released_at for each in later)


def test_two_gaps_and_an_end() -> None:
    """The first gap lapses: the second one, and the tail, are nobody's business any more."""
    world = crowd("ada bob", timeout_entries=60)
    ada = world.peers["ada"]
    lost = [world.play(ada) for _ in range(2)]
    world.play(ada, games=1, final=True)
    accept(world, world.play(world.peers["bob"]))
    assert [fill.is_gap for fill in world.state.fills.open] == [False]
    world.ticks(61)
    for batch in lost:
        decision = Decision(batch.index, batch.index, LOST, ZERO, batch.q_ppm, "")
        world.log(Admission(world.run, (decision,)), world.coordinator)
    assert [fill.first_counter for fill in world.state.fills.open] == [7, 2, 4]
    bob = ask(world)
    kept = world.state.fills.open[0]
    batch = fill_in(world, bob, kept)
    world.ticks(62)
    assert opened(world) == [kept]
    assert world.state.fills.lapsed == 1
    accept(world, batch)  # the player's work is not lost
    assert batch.released_at is not None


def test_whoever_reads_the_log_sees_the_same() -> None:
    world = crowd("ada bob cyd", tail_ppm=PPM // 2)
    for name in ("ada", "bob"):
        world.play(world.peers[name], games=0, final=True)
    for _ in range(4 * TIMEOUT):
        if world.state.fills.next_assignment(world.state.size):
            ask(world)
        world.ticks(1)
    copy = LogState(world.run)
    for entry in world.entries:
        copy.apply(entry)
    seen = [(fills.drawn, fills.lapsed, fills.filled_count) for fills in (world.state.fills, copy.fills)]
    assert seen[0] == seen[1]


def test_no_share_draws_nothing() -> None:
    world = crowd("ada bob", tail_ppm=0)
    world.play(world.peers["ada"], games=0, final=True)
    assert opened(world) == []
    assert world.state.fills.drawn == 0
