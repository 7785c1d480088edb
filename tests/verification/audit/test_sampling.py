"""What an audit replays is drawn among what was not replayed, and how sure that makes is told honestly."""

from fractions import Fraction
from math import comb
from random import Random

import pytest

from native.network import Kernel
from tests.verification import edits
from tests.verification.memory_reader import MemoryReader
from tests.verification.world import World
from verification.audit.audit import AuditOptions, AuditReport, Progress, audit
from verification.audit.replays import replay_key
from verification.audit.sampling import confidence, draw, probability


class Kept:
    """A memory as a set."""

    def __init__(self) -> None:
        self.keys: set[bytes] = set()

    def knows(self, key: bytes) -> bool:
        return key in self.keys

    def keep(self, key: bytes) -> None:
        assert key not in self.keys, "a game was replayed that was known"
        self.keys.add(key)


def detail(report: AuditReport, name: str) -> str:
    assert report.ok
    return next(check.detail for check in report.checks if check.name == name)


@pytest.mark.parametrize("total", [1, 12, 99, 100, 1000])
def test_the_probability_is_that_of_drawing_without_replacement(total: int) -> None:
    wrong = -(-total // 100)
    for looked_at in {0, 1, total // 2, total - 1, total}:
        exact = 1 - Fraction(comb(total - wrong, looked_at), comb(total, looked_at))
        assert probability(total, looked_at, wrong) == pytest.approx(float(exact))


def test_confidence_never_says_more_than_is_so() -> None:
    assert confidence(12, 5) == " If one of them was wrong, this would have been found with probability 0.41."
    assert confidence(10_000, 100).endswith(
        "If 1 % of them were wrong, this would have been found with probability 0.63."
    )
    assert confidence(10_000, 9_000).endswith("0.99.")
    assert confidence(12, 12) == confidence(0, 0) == ""
    assert confidence(200, 0).endswith("0.00.")


def test_only_unknown_places_are_drawn() -> None:
    places = list(range(20))
    for seed in range(50):
        chosen, before = draw(places, lambda place: place % 2 == 0, 4, Random(seed))
        assert len(set(chosen)) == 4
        assert all(place % 2 for place in chosen)
        assert before == 10
    assert set(draw(places, lambda place: place < 18, 5, Random(1))[0]) == {18, 19}
    assert draw(places, lambda place: False, None, Random(1)) == (places, 0)


def test_later_audits_replay_other_games_until_all_are(grown: World) -> None:
    files, memory = grown.public(), Kept()
    options = AuditOptions(sample=2, memory=memory)
    first = audit(MemoryReader(files), options)
    assert "2 of 8 games replayed, bit for bit. If one of them was wrong" in detail(first, "games")
    assert "before" not in detail(first, "gate")
    seen = len(memory.keys)
    second = audit(MemoryReader(files), options)
    assert "2 of 8 games replayed and 2 before, bit for bit." in detail(second, "games")
    assert len(memory.keys) > seen
    rest = audit(MemoryReader(files), AuditOptions(full=True, memory=memory))
    assert "4 of 8 games replayed and 4 before, bit for bit." in detail(rest, "games")
    assert "probability" not in detail(rest, "games")
    seen = len(memory.keys)
    again = audit(MemoryReader(files), AuditOptions(full=True, memory=memory))
    assert "0 of 8 games replayed and 8 before" in detail(again, "games")
    assert "0 replayed and 4 before" in detail(again, "gate")
    assert len(memory.keys) == seen


def test_an_interrupted_audit_goes_on(grown: World) -> None:
    """Each replay is remembered as it ends, not at the end."""
    memory = Kept()

    def interrupt(progress: Progress) -> None:
        if progress.check == "games" and progress.done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        audit(MemoryReader(grown.public()), AuditOptions(full=True, memory=memory), tell=interrupt)
    rest = audit(MemoryReader(grown.public()), AuditOptions(full=True, memory=memory))
    assert "0 replayed and 4 before" in detail(rest, "gate")
    assert "5 of 8 games replayed and 3 before" in detail(rest, "games")


def test_what_is_wrong_is_never_remembered() -> None:
    """A game of the window that its verifier waved through fails each audit that draws it, also a later one."""
    world, memory = World(), Kept()
    batch = world.play(world.register("ada"), edit=edits.of_game(1, edits.value(6)))
    honest = World()
    _, found, _ = honest.examine(honest.play(honest.register("ada")))
    world.say(batch, found, None)
    world.admit()
    world.cycle()
    for _ in range(2):
        report = audit(MemoryReader(world.public()), AuditOptions(full=True, memory=memory))
        assert {check.name for check in report.checks if check.ok is False} == {"games"}
    assert replay_key(world.state, batch.index, 1, Kernel.BEST) not in memory.keys


def test_what_is_remembered_is_one_game_of_one_log_by_one_kernel(grown: World) -> None:
    state = grown.state
    index = state.batches.all[-1].index
    keys = {
        replay_key(state, index, 0, Kernel.SCALAR),
        replay_key(state, index, 1, Kernel.SCALAR),
        replay_key(state, state.batches.all[0].index, 0, Kernel.SCALAR),
        replay_key(state, index, 0, Kernel.best()),
    }
    assert len(keys) == (3 if Kernel.best() == Kernel.SCALAR else 4)
    assert replay_key(state, index, 0, Kernel.BEST) == replay_key(state, index, 0, Kernel.best())
    other = World(word="e")
    other.register("ada")
    first = other.play(other.peers["ada"])
    assert replay_key(other.state, first.index, 0, Kernel.SCALAR) != replay_key(state, first.index, 0, Kernel.SCALAR)


def test_how_far_an_audit_is_is_told(grown: World) -> None:
    heard: list[Progress] = []
    audit(MemoryReader(grown.public()), AuditOptions(full=True), tell=heard.append)
    kinds = {(each.check, each.kind) for each in heard}
    assert kinds >= {
        ("head", "entries"),
        ("files", "files"),
        ("gate", "games"),
        ("window", "batches"),
        ("games", "games"),
    }
    assert all(0 <= each.done <= each.total for each in heard)
    assert [each.done for each in heard if each.check == "games"] == list(range(9))
