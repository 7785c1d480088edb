"""From a node's folder to the numbers of its run: `gather`.

Page: docs/commands.md ("gonode report"). The log says all but the games themselves, which are sampled from the batches that
the folder has, and the times, which are those of the heads that witnesses cosigned. The node may run meanwhile.
"""

from bisect import bisect_right
from collections import Counter
from itertools import accumulate

from node.disk.blob_store import BlobStore
from node.disk.home import Home
from node.disk.store import Store
from node.matches.ratings import gate_ratings
from node.matches.stored_state import load_state
from node.reports.clock import Clock, read_clock
from node.reports.facts import Banned, Cycle, DataPoint, GivenUp, Losses, Rounding, RunFacts, Share, Verification
from node.reports.games import sample_games
from protocol.admission import ACCEPTED, LOST, REJECTED
from protocol.seeds import PPM
from protocol.window import LossReport, RoundingReport
from verification.standing import name_of, standings
from verification.state import LogState

MICRO = 1_000_000
DATA_POINTS = 120


class NothingToReport(ValueError):
    """One sentence about why there is no run to report on."""


def gather(home: Home, batches: int) -> RunFacts:
    """The numbers of the run in a node's directory, with the games of about so many batches.

    Raises NothingToReport, HomeError, StoreError or LogRefused.
    """
    state = load_state(home)
    if state.size < 2:
        raise NothingToReport(f"{home.directory}: this node has no log yet.")
    with Store(home.database) as store:
        clock = read_clock(store, state.run, state.roots)
    games = sample_games(state, BlobStore(home.public), batches)
    return RunFacts(
        run=state.run.hex(),
        name=state.manifest.name,
        log_size=state.size,
        first_unix_s=clock.first,
        last_unix_s=clock.last,
        releases=tuple(release.name for release in state.releases.all),
        cycles=_cycles(state, clock),
        given_up=tuple(
            GivenUp(each.record.cycle, each.index, clock.by(each.index + 1), each.record.reason, each.record.text)
            for each in state.given_up
        ),
        data=_data(state, clock),
        lengths=games.lengths,
        balance=games.balance,
        shares=_shares(state),
        verification=_verification(state),
        sample=games.sample,
    )


# ---- training and gates


def _cycles(state: LogState, clock: Clock) -> tuple[Cycle, ...]:
    windows = {window.index: window.record for window in state.windows}
    released = {release.train_record: release for release in state.releases.all[1:]}
    ratings = gate_ratings(state)
    found = []
    for training in state.trainings:
        record, window = training.record, windows[training.record.window]
        gate, release = state.gates.by_candidate(training.index), released.get(training.index)
        pairs = 0 if gate is None else gate.decision.pairs
        is_rated = pairs > 0 and training.index in ratings
        elo, error = ratings[training.index] if is_rated else (None, None)
        found.append(
            Cycle(
                cycle=record.cycle,
                entry=training.index,
                unix_s=clock.by(training.index + 1),
                steps=record.steps,
                samples=record.samples,
                shape=record.shape,
                device=record.device,
                processes=record.processes,
                window_batches=window.batches,
                window_games=window.games,
                window_rows=window.rows,
                total_rows=window.total_rows,
                losses=_losses(record.losses),
                held_out=_losses(record.held_out),
                rounding=_rounding(record.rounding),
                name="" if release is None else release.name,
                released=None if gate is None or gate.record is None else gate.record.passed,
                pairs=pairs,
                elo=elo,
                elo_error=error,
            )
        )
    return tuple(found)


def _losses(report: LossReport) -> Losses | None:
    if not report.rows:
        return None
    return Losses(
        rows=report.rows,
        policy=report.policy_micro / MICRO,
        opponent_policy=report.opponent_policy_micro / MICRO,
        value=report.value_micro / MICRO,
        score=report.score_micro / MICRO,
        ownership=report.ownership_micro / MICRO,
    )


def _rounding(report: RoundingReport) -> Rounding | None:
    if not report.rows:
        return None
    return Rounding(
        rows=report.rows,
        policy_divergence=report.policy_divergence_micro / MICRO,
        value_error=report.value_error_micro / MICRO,
        same_move=report.same_move_ppm / PPM,
    )


# ---- data


def _data(state: LogState, clock: Clock) -> tuple[DataPoint, ...]:
    """The log's data at evenly spread sizes, the last one its size now."""
    headers = [(batch.index, batch.header.plies) for batch in state.batches.all]
    releases = sorted((batch.released_at, batch.header.plies) for batch in state.batches.released if batch.released_at)
    logged_at, released_at = [index for index, _ in headers], [index for index, _ in releases]
    plies = [0, *accumulate(count for _, count in headers)]
    rows = [0, *accumulate(count for _, count in releases)]
    points = min(DATA_POINTS, state.size)
    found = []
    for number in range(1, points + 1):
        size = state.size * number // points
        batches, released = bisect_right(logged_at, size - 1), bisect_right(released_at, size - 1)
        found.append(DataPoint(size, clock.by(size), batches, plies[batches], rows[released]))
    return tuple(found)


# ---- people


def _shares(state: LogState) -> tuple[Share, ...]:
    rows = standings(state)
    total = sum(row.credit_plies for row in rows)
    return tuple(
        Share(
            key=row.peer.hex(),
            name=row.name,
            standing=row.standing,
            games=row.games,
            plies=row.credit_plies,
            share=round(row.credit_plies / total, 4) if total else 0.0,
        )
        for row in rows
        if row.batches
    )


def _verification(state: LogState) -> Verification:
    batches, tally = state.batches.all, state.batches.total()
    outcomes = Counter(batch.decision.outcome for batch in batches if batch.decision is not None)
    looks = (look for batch in batches for look in batch.looks if look.verdict is not None)
    return Verification(
        batches=len(batches),
        accepted=outcomes[ACCEPTED],
        rejected=outcomes[REJECTED],
        lost=outcomes[LOST],
        pending=len(state.batches.open),
        games=tally.games,
        verified_games=tally.verified,
        rejected_games=tally.rejected,
        pending_games=tally.pending,
        replayed_games=sum(len(look.verdict.drawn) for look in looks if look.verdict is not None),
        pardons=len(state.convictions.pardons),
        bans=tuple(_banned(state, key) for key in state.convictions.banned),
    )


def _banned(state: LogState, key: bytes) -> Banned:
    is_contributor = state.convictions.proved_at(key) is not None
    role = "contributor" if is_contributor else "verifier"
    return Banned(key.hex(), name_of(state, key) if is_contributor else "", role, state.convictions.banned_at(key))
