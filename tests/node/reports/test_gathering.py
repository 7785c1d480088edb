"""The numbers of a run: each against the log or the games it is taken from, with and without the batches' files."""

import json
import shutil
from itertools import pairwise
from pathlib import Path

import pytest

from node.disk.home import Home
from node.disk.store import Head
from node.matches.ratings import release_ratings
from node.reports.clock import Clock, cosigned_unix_s
from node.reports.facts import RunFacts
from node.reports.gathering import NothingToReport, gather
from protocol.checkpoint import Checkpoint, cosign
from protocol.game_block import BLACK_WINS, DRAW, GameHeader
from protocol.layout import BLOBS
from protocol.seeds import log_origin
from tests.node.homes import make_home
from tests.node.reports.small_run import ENTRIES_A_HEAD, FIRST_UNIX_S, SECONDS_AN_ENTRY
from tests.verification.test_witness import COORDINATOR_KEY, ROOTS, RUN, VERIFIER_KEYS
from tests.verification.world import World
from verification.standing import BANNED
from verification.witness import witness_name


@pytest.fixture(scope="module")
def facts(home: Home) -> RunFacts:
    return gather(home, 1000)


def test_the_run(facts: RunFacts, world: World) -> None:
    assert (facts.run, facts.name, facts.log_size) == (world.run.hex(), "world", world.state.size)
    assert facts.releases == tuple(release.name for release in world.state.releases.all)


def test_cycles_say_what_train_records_say(facts: RunFacts, world: World) -> None:
    assert len(facts.cycles) == len(world.state.trainings) == 4
    for cycle, training, window in zip(facts.cycles, world.state.trainings, world.state.windows[:4], strict=True):
        record = training.record
        assert (cycle.cycle, cycle.entry, cycle.steps, cycle.samples, cycle.shape) == (
            record.cycle,
            training.index,
            record.steps,
            record.samples,
            record.shape,
        )
        assert (cycle.window_rows, cycle.window_games, cycle.total_rows) == (
            window.record.rows,
            window.record.games,
            window.record.total_rows,
        )
        assert cycle.losses is not None
        assert cycle.losses.policy == record.losses.policy_micro / 1e6
        assert cycle.losses.ownership == record.losses.ownership_micro / 1e6
        assert cycle.held_out is None  # over no rows
        assert cycle.rounding is not None
        assert cycle.rounding.same_move == record.rounding.same_move_ppm / 1e6


def test_a_cycle_given_up_is_told(facts: RunFacts, world: World) -> None:
    (given_up,) = facts.given_up
    (info,) = world.state.given_up
    assert (given_up.cycle, given_up.entry, given_up.reason) == (5, info.index, "loss-spike")
    assert given_up.text == "It cannot be trained."
    assert given_up.unix_s is not None
    assert given_up.unix_s >= FIRST_UNIX_S + SECONDS_AN_ENTRY * info.index


def test_elo_is_that_of_the_ratings_and_refused_candidates_have_one(facts: RunFacts, home: Home, world: World) -> None:
    released = [cycle for cycle in facts.cycles if cycle.released]
    assert [{"name": c.name, "elo": c.elo, "elo_error": c.elo_error} for c in released] == release_ratings(home)
    refused = [cycle for cycle in facts.cycles if cycle.released is False]
    assert refused
    assert {cycle.name for cycle in refused} == {""}
    rated = {world.state.releases.all[0].id: 0.0}
    rated |= {
        release.id: next(c.elo or 0.0 for c in released if c.name == release.name)
        for release in world.state.releases.all[1:]
    }
    for cycle in refused:
        gate = world.state.gates.by_candidate(cycle.entry)
        assert gate is not None
        assert gate.record is not None
        assert cycle.elo is not None
        assert cycle.pairs == gate.record.pairs
        assert cycle.elo < rated[gate.base.id]  # it scored under one half
        assert 0 < (cycle.elo_error or 0) < 1000


def test_data_rises_to_what_is_there_now(facts: RunFacts, world: World) -> None:
    last = facts.data[-1]
    batches = world.state.batches
    assert (last.entry, last.batches) == (world.state.size, len(batches.all))
    assert last.plies == sum(batch.header.plies for batch in batches.all)
    assert last.released_rows == batches.released_rows > 0
    for before, after in pairwise(facts.data):
        assert before.entry < after.entry
        assert before.plies <= after.plies
        assert before.released_rows <= after.released_rows
    assert len(facts.data) <= 120
    for point in facts.data:
        assert point.batches == sum(batch.index < point.entry for batch in batches.all)


def test_times_are_those_of_the_next_head(facts: RunFacts, world: World) -> None:
    assert facts.first_unix_s == FIRST_UNIX_S + SECONDS_AN_ENTRY * ENTRIES_A_HEAD
    last = world.state.size // ENTRIES_A_HEAD * ENTRIES_A_HEAD
    for point in facts.data:
        if point.entry <= last:
            seen_at = -(-point.entry // ENTRIES_A_HEAD) * ENTRIES_A_HEAD
            assert point.unix_s == FIRST_UNIX_S + SECONDS_AN_ENTRY * seen_at


def test_a_clock() -> None:
    clock = Clock([(10, 100), (30, 250), (20, 90), (20, 95)])
    assert [clock.by(size) for size in (0, 10, 11, 20, 21, 30, 31)] == [100, 100, 100, 100, 250, 250, None]
    assert (clock.first, clock.last) == (100, 250)
    empty = Clock([])
    assert (empty.first, empty.last, empty.by(0)) == (None, None, None)


def test_one_witness_of_three_cannot_say_what_time_it_is() -> None:
    head = Checkpoint(log_origin(RUN), 9, bytes(32))
    for ones in (2**63 - 1, 0):
        times = (ones, FIRST_UNIX_S, FIRST_UNIX_S + 1)
        lines = [
            cosign(head.body(), key, witness_name(key.public), at) for key, at in zip(VERIFIER_KEYS, times, strict=True)
        ]
        note = head.sign(COORDINATOR_KEY)
        whole = Head(9, head.root_hash, note.with_signatures(lines).encode())
        assert (cosigned_unix_s(whole, RUN, ROOTS) or 0) - FIRST_UNIX_S in (0, 1)
        few = Head(9, head.root_hash, note.with_signatures(lines[:1]).encode())
        assert cosigned_unix_s(few, RUN, ROOTS) is None


def games_of(world: World) -> list[GameHeader]:
    return [
        block.header
        for batch in world.state.batches.all
        if batch.is_accepted_batch and not batch.dropped and batch.header.games
        for block in world.content(batch).games
    ]


def test_games_are_counted_by_who_won(facts: RunFacts, world: World) -> None:
    games = games_of(world)
    assert sum(point.games for point in facts.balance) == len(games) > 20
    for komi_half in (17, 19):
        points = [point for point in facts.balance if point.komi == komi_half / 2]
        some = [game for game in games if game.komi_half == komi_half]
        assert sum(point.games for point in points) == len(some) > 0
        assert sum(point.black_wins for point in points) == sum(game.result == BLACK_WINS for game in some)
        assert sum(point.draws for point in points) == sum(game.result == DRAW for game in some)
    assert {point.size for point in facts.balance} == {7}


def test_lengths(facts: RunFacts, world: World) -> None:
    games = games_of(world)
    assert [point.cycle for point in facts.lengths] == sorted({point.cycle for point in facts.lengths})
    assert sum(point.games for point in facts.lengths) == sum(point.sampled for point in facts.lengths) == len(games)
    plies = sum(point.games * point.mean_plies for point in facts.lengths)
    assert plies == pytest.approx(sum(game.plies for game in games), abs=0.05 * len(games))
    for point in facts.lengths:
        assert point.shortest is not None
        assert point.longest is not None
        assert 0 < point.shortest <= point.longest
    assert max(point.longest or 0 for point in facts.lengths) <= max(game.moves for game in games)


def test_games_belong_to_the_cycle_before_whose_window_they_came(facts: RunFacts, world: World) -> None:
    first = world.state.windows[0].index
    early = [b for b in world.state.batches.all if b.index < first and b.is_accepted_batch and not b.dropped]
    assert facts.lengths[0].cycle == 1
    assert facts.lengths[0].games == sum(batch.header.games for batch in early)


def test_shares_and_verification(facts: RunFacts, world: World) -> None:
    assert {share.name for share in facts.shares} == {"ada", "bob", "eve"}
    assert sum(share.share for share in facts.shares) == pytest.approx(1, abs=0.001)
    assert [share.plies for share in facts.shares] == sorted((share.plies for share in facts.shares), reverse=True)
    eve = world.peers["eve"].public.hex()
    (cheat,) = [share for share in facts.shares if share.key == eve]
    assert (cheat.standing, cheat.plies, cheat.share) == (BANNED, 0, 0.0)
    found = facts.verification
    (ban,) = found.bans
    assert (ban.key, ban.name, ban.role) == (eve, "eve", "contributor")
    assert ban.entry == world.state.convictions.banned_at(world.peers["eve"].public)
    assert (found.batches, found.rejected, found.pending) == (len(world.state.batches.all), 1, 1)
    assert found.accepted + found.rejected + found.lost + found.pending == found.batches
    assert found.verified_games + found.rejected_games + found.pending_games == found.games
    assert 0 < found.replayed_games <= 2 * found.games


def test_a_smaller_sample_says_so(home: Home, facts: RunFacts) -> None:
    few = gather(home, 4)
    assert few.sample.read == len(few.lengths) < few.sample.accepted == facts.sample.read
    assert {point.cycle for point in few.balance} == {point.cycle for point in facts.balance}
    assert [point.mean_plies for point in few.lengths] == [point.mean_plies for point in facts.lengths]
    none = gather(home, 0)
    assert (none.sample.read, none.sample.missing, none.balance) == (0, 0, ())


def test_batches_that_are_missing_or_damaged_are_counted(world: World, tmp_path: Path, facts: RunFacts) -> None:
    home = make_home(world, tmp_path / "coordinator")
    batches = [batch for batch in world.state.batches.all if batch.is_accepted_batch]
    for number, batch in enumerate(batches[:3]):
        path = home.public / BLOBS / batch.header.blob_digest.hex()[:2] / batch.header.blob_digest.hex()
        if number:
            path.unlink()
        else:
            path.write_bytes(b"damaged")
    some = gather(home, 1000)
    assert (some.sample.missing, some.sample.read) == (3, facts.sample.read - 3)
    shutil.rmtree(home.public)
    bare = gather(home, 1000)
    assert (bare.sample.read, bare.balance) == (0, ())
    assert [(point.cycle, point.games) for point in bare.lengths] == [
        (each.cycle, each.games) for each in facts.lengths
    ]
    assert bare.lengths[0].shortest is None


def test_json_has_no_infinity(facts: RunFacts) -> None:
    found = json.loads(json.dumps(facts.to_json(), allow_nan=False))
    assert found["cycles"][0]["losses"]["policy"] == facts.cycles[0].losses.policy  # type: ignore[union-attr]


def test_nothing_to_report(tmp_path: Path, world: World) -> None:
    home = Home(tmp_path)
    home.store_ticket(make_home(world, tmp_path / "other").load_ticket())
    with pytest.raises(NothingToReport, match="no log yet"):
        gather(home, 10)
