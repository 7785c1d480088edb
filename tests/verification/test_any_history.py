"""Histories of everything at once, at random: what the state refuses changes nothing, and what it takes keeps its promises.

No game is played: headers have made-up roots, and proofs the form alone, which is all that the state looks at. Whoever acts
may be honest or not; then everybody who is left is honest, and the run has to come to rest with nothing left to decide.
"""

from itertools import pairwise

import pytest

from protocol.admission import Admission
from protocol.types import ZERO
from tests.verification.history import History
from tests.verification.test_state import snapshot
from verification.identities import Tally
from verification.state import LogState

SEEDS = range(16)
STEPS = 500


def require_sound(state: LogState) -> None:
    """What is true of every log, whoever wrote it."""
    batches, policy = state.batches, state.manifest.admission
    looking = set(batches.looking)
    for batch in batches.released:
        identity = batches.identity(batch.header.peer)
        assert identity is not None
        assert batch.is_accepted_batch
        assert not batch.dropped
        assert not identity.accusing
        assert not state.is_banned(batch.header.peer)
        assert state.registry.successor(identity.peer) is None
        assert state.ringers.find(batch.header.peer) is None
        assert batch.released_at is not None
    assert state.released_rows == sum(batch.header.plies for batch in batches.released)
    assert [batch.index for batch in batches.released] == sorted(batch.index for batch in batches.released)
    for check in looking:
        assert check.decision is None
        assert not check.batch.dropped or check.is_accusing
        assert check in check.batch.rechecks
    keys = [check.key for batch in batches.all for check in batch.rechecks]
    assert len(keys) == len(set(keys))
    for batch in batches.all:
        assert (batch in batches.open) == batch.is_open
        for check in batch.rechecks:
            is_needed = check.decision is None and not batch.dropped
            if is_needed and not state.batches.is_out(batch.header.peer):
                assert check in looking
    for identity in batches.identities:
        tally = identity.tally
        assert all(getattr(tally, name) >= 0 for name in Tally.__dataclass_fields__), tally
        assert tally.games == tally.verified + tally.pending + tally.rejected
        assert tally.pending == sum(batch.games for batch in identity.batches if batch.is_open) or not tally.games
        assert identity.credit == (0, 0) or identity.out_at is None
        if state.is_banned(identity.peer):
            assert identity.credit == (0, 0)
        assert all(not batch.dropped and batch.released_at is None for batch in identity.held)
        for accusation in identity.accusing:
            assert accusation.is_accusing
            assert any(accusation is each for each in batches.undecided()), "an accusation that nothing decides"
        assert identity.accepted >= 0
        assert identity.accepted_at == sorted(set(identity.accepted_at))
    for fill in state.fills.open:
        assert fill in batches.series(fill.owner, fill.release).fills
        if fill.header_index is not None:
            found = state.batch(fill.header_index)
            assert found is not None
            assert found.is_open
    assert policy.probation_batches > 0
    require_sound_cycles(state)


def require_sound_cycles(state: LogState) -> None:
    """Train states chain but to grown networks; what rounding spoiled has no pairs, and is no release."""
    records = [training.record for training in state.trainings]
    for before, record in pairwise(records):
        is_grown = record.parent_state == ZERO
        assert is_grown == (record.shape != before.shape)
        assert is_grown or record.parent_state == before.state
    ended = {record.window for record in records} | {each.record.window for each in state.given_up}
    assert len(ended) == len(records) + len(state.given_up)
    assert [window.index for window in state.windows if window.index not in ended] == (
        [] if state.untrained_window is None else [state.windows[-1].index]
    )
    released = {release.index for release in state.releases.all[1:]}
    stated = [info.record.release for info in state.statements.all]
    assert sorted([*stated, *(about.index for about in state.statements.missing)]) == sorted(released)
    trained = {release.train_record: release.shape for release in state.releases.all[1:]}
    for gate in state.gates.all:
        assert trained.get(gate.index, gate.train.shape) == gate.train.shape
        if gate.is_refused_unplayed:
            assert gate.slots == []
            assert gate.index not in trained
            assert gate.record is None or (gate.record.passed, gate.record.pairs) == (False, 0)


def require_due(history: History) -> None:
    """Each decision that is due may be logged, and all of them together."""
    due = history.state.due_decisions()
    if due:
        record = Admission(history.world.run, tuple(each.decision for each in due))
        history.state.check(record.seal(history.coordinator).encode())


def require_fair_releases(state: LogState, index: int) -> None:
    """What the entry at `index` released was due: everything before it decided, K passed, W later ones, nothing open."""
    policy = state.manifest.admission
    for identity in state.batches.identities:
        released = [batch for batch in identity.batches if batch.released_at == index]
        if not released:
            continue
        assert identity.first_passed(policy)
        for batch in released:
            assert all(not each.is_open for each in identity.batches if each.index < batch.index)
            assert batch.leaving or identity.later(batch) >= policy.hold_back_batches
            assert not batch.is_blocked


@pytest.fixture(autouse=True)
def cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every nonce is a stamp."""
    monkeypatch.setattr("protocol.stamp.stamp_number", lambda message, nonce: 0)


@pytest.mark.parametrize("seed", SEEDS)
def test_any_history(seed: int) -> None:
    history = History(seed)
    state = history.state
    for _ in range(STEPS):
        size = state.size
        history.step()
        require_sound(state)
        for index in range(size, state.size):
            require_fair_releases(state, index)
        require_due(history)
    again = LogState(history.world.run)
    for entry in history.world.entries:
        again.apply(entry)
    assert snapshot(again) == snapshot(state)
    history.settle()
    require_sound(state)
    left = [check for check in state.batches.undecided() if not state.batches.is_out(check.header.peer)]
    assert left == []
    assert [peer for peer in history.keys if state.batches.is_suspended(peer)] == []
