"""The pages' file says what the state of the log says, in whatever parts the log comes.

Histories are those of `tests.verification.history`: everybody acts at once, honestly or not.
"""

import random
from pathlib import Path

import pytest

from tests.node.reports.small_run import small_run
from tests.node.web.model.dumps import dump, projected, require_totals
from tests.verification.history import History
from tests.verification.world import World

STEPS = 250


@pytest.fixture
def cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every nonce is a stamp."""
    monkeypatch.setattr("protocol.stamp.stamp_number", lambda message, nonce: 0)


@pytest.fixture(scope="module")
def world() -> World:
    """A run with releases, a refused candidate and a ban; look only."""
    return small_run()


@pytest.mark.usefixtures("cheap")
@pytest.mark.parametrize("seed", range(4))
def test_any_history_in_any_parts(seed: int, tmp_path: Path) -> None:
    history = History(seed)
    for _ in range(STEPS):
        history.step()
    entries, rng = history.world.entries, random.Random(seed)
    whole, state = projected(tmp_path / "whole", history.world.run, entries, None)
    parts, _ = projected(tmp_path / "parts", history.world.run, entries, rng)
    assert dump(parts) == dump(whole)
    require_totals(whole, state)
    whole.close()
    parts.close()


def test_a_run_in_any_parts(world: World, tmp_path: Path) -> None:
    whole, state = projected(tmp_path / "whole", world.run, world.entries, None)
    for seed in range(3):
        parts, _ = projected(tmp_path / f"parts{seed}", world.run, world.entries, random.Random(seed))
        assert dump(parts) == dump(whole)
        parts.close()
    require_totals(whole, state)
    whole.close()


def test_what_the_rows_say(world: World, tmp_path: Path) -> None:
    db, state = projected(tmp_path / "whole", world.run, world.entries, None)
    rows = dump(db)
    assert [row[2] for row in sorted(rows["releases"])] == [release.name for release in state.releases.all]
    assert {row[15] for row in rows["gates"]} == {"passed", "refused"}
    assert len(rows["gates"]) == len(state.gates.all)
    convictions = state.convictions
    assert [row[0] for row in rows["convictions"]] == [convictions.banned_at(key) for key in convictions.banned]
    standings = {row[2]: row[3] for row in rows["contributors"]}
    assert standings["eve"] == "banned"
    fates = {row[0]: row[7] for row in rows["batches"]}
    assert fates == {
        batch.index: "pending" if batch.is_open else "verified" if batch.is_accepted_batch else "rejected"
        for batch in state.batches.all
    }
    assert set(fates.values()) == {"verified", "pending", "rejected"}
    assert sum(row[4] for row in rows["verdicts"]) == sum(
        len(look.verdict.drawn) for batch in state.batches.all for look in batch.looks if look.verdict
    ) + sum(len(result.verdict.drawn) for result in state.gates.results if result.verdict)
    db.close()
