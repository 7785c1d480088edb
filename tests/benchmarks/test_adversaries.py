"""The adversary harness: its rows are what it says they are, and it can find that a rule is missing."""

import json
import subprocess
import sys
from collections.abc import Callable
from unittest.mock import patch

import pytest

from benchmarks.adversaries import contributors, edited, identities, overhead, theory, verifiers
from benchmarks.adversaries.__main__ import adversaries, chosen, page
from benchmarks.adversaries.laws import Law
from benchmarks.adversaries.lives import Life, fields_of, lives_of
from benchmarks.adversaries.oracle import Oracle, policy_of
from benchmarks.adversaries.outcome import BOUNDED, CAUGHT, HEADINGS, Effort, Run, summary
from verification.faults import Rejected
from verification.identities import Identity
from verification.state import LogState

FEW = Effort(20, 1, True)
KEYS = {"name", "runs", "caught", "batches_until", "poisoned_games", "bound", "within_bound"}


def test_newcomers_put_nothing_into_training() -> None:
    (row,) = contributors.on_probation(FEW)
    assert (row.caught, row.batches_until, row.poisoned_games, row.bound) == (1.0, 1, 0, 0)
    assert row.agrees
    assert row.verifier_games > 0


def test_the_worst_strategy_is_bounded() -> None:
    rows = list(contributors.in_every_batch(FEW))
    assert [f"{row.bound:.2f}" for row in rows] == ["1.46", "0.11"]
    assert all(row.agrees and row.caught == 1 for row in rows)
    assert all(0 < (row.batches_until or 0) < 40 for row in rows)


@pytest.mark.parametrize("name", ["edited value", "wrong rules", "foreign game records re-signed"])
def test_edits_are_caught_by_name_and_their_proofs_hold(name: str) -> None:
    (adversary,) = chosen([name]).values()
    newcomer, late = adversary(FEW)
    assert (newcomer.caught, newcomer.poisoned_games, newcomer.batches_until) == (1.0, 0, 1)
    assert late.within_bound
    assert newcomer.reason in next(cheat for cheat in edited.CHEATS if cheat.name == name).reasons


def test_counters_are_refused() -> None:
    rows = {row.name: row for row in identities.counters(FEW)}
    assert set(rows) == {"replayed batch", "duplicate counters", "skipped counters", "batch after the final one"}


def test_a_framing_verifier_is_convicted() -> None:
    (row,) = verifiers.framing(FEW)
    assert row.reason == "ban of the verifier"


# ---- it can fail


def lives(runs: int, w: int = 4) -> list[Run]:
    """Cheats that make one game of each batch wrong."""
    return lives_of(fields_of("sound", policy_of(hold_back_batches=w), contributors.every(1), runs))


def test_a_hold_back_that_is_too_short_shows() -> None:
    law = theory.continuous_law(0.05, 100)
    assert not summary("short", "test", "", BOUNDED, lives(30), law).within_bound
    assert summary("right", "test", "", BOUNDED, lives(30), theory.continuous_law(0.05, 4)).agrees


def test_a_release_without_hold_back_shows() -> None:
    """If accepted batches were released at once, the harness would say so."""

    def at_once(identity: Identity, batch: object) -> int:
        return 10**6

    with patch.object(Identity, "later", at_once):
        (row, _) = contributors.in_every_batch(FEW)
    assert not row.within_bound
    assert row.agrees is False


def test_wrong_games_in_a_window_of_the_banned_show() -> None:
    with patch("verification.batches.Batches._purge", lambda self, batches: None), pytest.raises(AssertionError):
        lives(10, w=0)


def test_an_honest_game_that_is_rejected_ends_the_harness() -> None:
    def reject(*_: object) -> None:
        raise Rejected("setup", "It is another one.", 0)

    cheat = edited.Cheat("nothing", lambda world, peer, counter, raw: raw, ("setup",))
    trial = edited.Trial("honest")
    with patch("tests.verification.judged_run.check_batch", reject), pytest.raises(AssertionError, match="honest game"):
        trial.life(cheat, is_late=False)


def test_an_entry_that_the_state_takes_ends_the_harness() -> None:
    with patch.object(LogState, "check", lambda self, data: None), pytest.raises(AssertionError, match="taken"):
        list(identities.counters(FEW))


# ---- rows and costs


def test_a_row_says_what_its_runs_amount_to() -> None:
    runs = [Run(3, 2, 10, "ban"), Run(5, 0, 20, "ban"), Run(None, 1, 0)]
    row = summary("x", "kind", "policy", BOUNDED, runs, 1.0)
    assert (row.caught, row.batches_until, row.poisoned_games, row.verifier_games) == (2 / 3, 4, 1.0, 10)
    assert row.agrees
    assert len(row.cells()) == len(HEADINGS)
    assert set(row.json()) >= KEYS
    json.dumps(row.json())
    nothing = summary("x", "kind", "policy", CAUGHT, [Run(1)], Law((1.0,)))
    assert "| x | policy | caught | 1 | 100 % | 1 | 0.00 | 0.00 | yes | 0 |" in page([nothing], [], FEW, "Measured.")
    above = summary("x", "kind", "policy", BOUNDED, [Run(None, 5)] * 30, Law((0.9, 0.1)), is_bound=True)
    assert not above.within_bound
    assert above.agrees is None
    assert above.cells()[8] == "NO"


def test_what_verification_costs() -> None:
    rows = list(overhead.measure(overhead.Size(2, 40, 0)))
    shares = {str(row["part"]): float(row["measured %"]) for row in rows}
    assert 2.5 < shares["first checks"] < 7.5
    assert shares["all of it, long-standing"] + 1e-9 >= sum(
        shares[name] for name in ("first checks", "second verifiers", "repeats after reveals")
    )
    assert overhead.within_goal([{"part": "all of it, long-standing", "measured %": 8.0}])
    assert not overhead.within_goal([{"part": "all of it, long-standing", "measured %": 8.01}])


def test_identities_of_one_log_are_drawn_apart() -> None:
    field = next(fields_of("apart", policy_of(), contributors.every(1), 8))
    field.play()
    until = [run.batches for run in field.runs()]
    assert len(set(until)) > 3
    again = next(fields_of("apart", policy_of(), contributors.every(1), 8))
    again.play()
    assert [run.batches for run in again.runs()] == until


def test_a_life_that_falls_silent_is_over_without_a_ban() -> None:
    def plan(life: Life) -> int | None:
        return 0 if life.tried < 2 else None

    (run,) = lives_of(fields_of("silent", policy_of(), plan, 1, trusted=False))
    assert (run.batches, run.poisoned, run.reason) == (None, 0, "")


def test_the_oracle_finds_what_is_drawn_and_wrong() -> None:
    world = Oracle(policy_of(hold_back_batches=0))
    ada, bob = world.register("ada"), world.register("bob")
    good, bad = world.submit(ada), world.submit(bob, (3,))
    world.settle()
    assert good.released_at is not None
    assert bad.released_at is None
    assert world.state.is_banned(bob.public)
    assert world.cost[bob.public] == 4


# ---- the command


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    """The command's end."""
    return subprocess.run(
        [sys.executable, "-m", "benchmarks.adversaries", *arguments], capture_output=True, text=True, check=False
    )


def test_the_command_prints_one_object() -> None:
    ended = command("--quick", "--json", "--runs", "10", "--only", "all games", "--only", "wrong komi")
    assert ended.returncode == 0, ended.stderr
    found = json.loads(ended.stdout)
    assert found["overhead"] == []
    assert {row["name"] for row in found["adversaries"]} == {"wrong komi", "all games of each batch wrong"}
    assert all(row.keys() >= KEYS for row in found["adversaries"])


@pytest.mark.parametrize(
    ("arguments", "sentence"), [(["--runs", "0"], "at least one run"), (["--only", "nobody"], "no adversary")]
)
def test_the_command_refuses_in_one_sentence(arguments: list[str], sentence: str) -> None:
    ended = command(*arguments)
    assert ended.returncode == 2
    assert sentence in ended.stderr
    assert "Traceback" not in ended.stderr


def test_every_adversary_has_a_name_of_its_own() -> None:
    found: dict[str, Callable[..., object]] = dict(adversaries())
    assert len(found) > 50
    assert len({name.lower() for name in found}) == len(found)
