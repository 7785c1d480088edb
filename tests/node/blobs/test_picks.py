"""Which chunk is asked of whom: rarest first, the only origin sparingly, late ones twice at most."""

from random import Random

import pytest
import trio
import trio.testing
from hypothesis import given, settings
from hypothesis import strategies as st

from node.blobs.picks import GUESS_S, LATE_S, MAX_REFUSALS, MAX_STRIKES, PATIENCE_S, USELESS_S, Picks, Source

KEYS = [bytes([number]) * 32 for number in range(6)]


def picks_with(count: int, *holds: set[int]) -> tuple[Picks, list[Source]]:
    """Picks with all chunks missing and a source for each set of chunks."""
    picks = Picks(count, set(range(count)), Random(1))
    sources = picks.admit(KEYS, len(holds))
    for source, held in zip(sources, holds, strict=True):
        picks.heard(source, frozenset(held))
    return picks, sources


async def test_rarest_first(mock_clock: trio.testing.MockClock) -> None:
    picks, (a, b, _) = picks_with(4, {0, 1, 2}, {1, 2}, {2})
    assert picks.pick(a) == 0
    picks.begin(a, 0, trio.CancelScope())
    assert picks.pick(a) == 1
    picks.begin(a, 1, trio.CancelScope())
    assert picks.pick(b) == 2


async def test_the_only_origin_chooses_among_what_no_other_has(mock_clock: trio.testing.MockClock) -> None:
    picks, (origin, fellow) = picks_with(4, {0, 1, 2, 3}, {1})
    assert picks.pick(origin) == frozenset({0, 2, 3})
    assert picks.pick(fellow) == 1
    picks.refused(origin, frozenset({0, 2, 3}))
    assert picks.pick(origin) is None, "fellows are waited for"
    mock_clock.jump(4 * GUESS_S + 0.01)
    picks.refused(origin, frozenset({0, 2, 3}))
    assert picks.pick(origin) in {0, 2, 3}
    picks.heard(fellow, frozenset({0, 1, 2, 3}))
    assert picks.pick(origin) is None, "all that is missing can be had of a fellow"


async def test_a_lonely_origin_is_asked_by_index_when_it_refuses(mock_clock: trio.testing.MockClock) -> None:
    picks, (origin,) = picks_with(2, {0, 1})
    picks.refused(origin, frozenset({0, 1}))
    assert picks.pick(origin) in {0, 1}


async def test_two_origins_are_asked_by_index(mock_clock: trio.testing.MockClock) -> None:
    picks, (a, b) = picks_with(3, {0, 1, 2}, {0, 1, 2})
    assert isinstance(picks.pick(a), int)
    picks.leave(b)
    assert picks.pick(a) == frozenset({0, 1, 2})


async def test_a_late_chunk_is_asked_of_one_more(mock_clock: trio.testing.MockClock) -> None:
    picks, (a, b, c) = picks_with(2, {0}, {0}, {0})
    first, second = trio.CancelScope(), trio.CancelScope()
    flight = picks.begin(a, 0, first)
    assert picks.pick(b) is None
    mock_clock.jump(LATE_S[0] + 0.01)
    assert picks.pick(a) is None
    assert picks.pick(b) == 0
    picks.begin(b, 0, second)
    assert picks.pick(c) is None
    a.gave_s = b.gave_s = trio.current_time() + 0.01  # they gave something before
    mock_clock.jump(LATE_S[1])
    assert picks.pick(c) is None
    a.gave_s = a.since_s
    assert picks.pick(c) == 0
    picks.missing.discard(0)
    picks.came(b, 0, 1.0)
    assert first.cancel_called
    assert not second.cancel_called
    picks.end(0, flight)


async def test_who_is_of_no_use_gives_way(mock_clock: trio.testing.MockClock) -> None:
    picks, (a, b) = picks_with(9, {0, 1}, {0, 1})
    picks.came(b, 5, 1.0)
    assert picks.admit([*KEYS[:3], *KEYS[:3]], 2) == []
    mock_clock.jump(USELESS_S)
    b.gave_s = trio.current_time()
    assert [each.peer for each in picks.admit([*KEYS[:3], *KEYS[:3]], 2)] == [KEYS[2]]
    assert a.is_left
    assert not b.is_left


async def test_who_fails_is_left_for_a_while(mock_clock: trio.testing.MockClock) -> None:
    picks, (a, b) = picks_with(9, {0, 1}, {0, 1})
    for _ in range(MAX_STRIKES):
        picks.failed(a)
    for _ in range(MAX_REFUSALS):
        picks.refused(b, 0)
    assert a.is_left
    assert b.is_left
    assert picks.live == []
    assert picks.admit(KEYS[:2], 9) == []
    mock_clock.jump(10.1)
    assert [source.peer for source in picks.admit(KEYS[:2], 9)] == KEYS[:2]
    assert len(picks.admit(KEYS, 3)) == 1


@settings(max_examples=60, deadline=None)
@given(
    count=st.integers(1, 40),
    holds=st.lists(st.sets(st.integers(0, 39)), min_size=1, max_size=6),
    seed=st.integers(0, 99),
)
def test_everything_that_somebody_has_comes_once(count: int, holds: list[set[int]], seed: int) -> None:
    """Whatever peers hold, all of it is picked, each chunk once while nobody is late."""
    held = [{index for index in each if index < count} for each in holds]

    async def run() -> None:
        picks, sources = picks_with(count, *held)
        rng = Random(seed)
        asked: list[int] = []
        for _ in range(20 * count + 200):
            source = rng.choice(sources)
            pick = picks.pick(source)
            clock.jump(0.01)
            if pick is None:
                continue
            index = pick if isinstance(pick, int) else rng.choice(sorted(pick))
            assert index in source.holds
            assert index in picks.missing
            asked.append(index)
            picks.missing.discard(index)
            picks.came(source, index, 0.01)
        assert len(asked) == len(set(asked))
        assert set(asked) == set().union(*held)

    clock = trio.testing.MockClock()
    trio.run(run, clock=clock)


@pytest.mark.parametrize("took_s", [0.01, 100.0])
async def test_patience_follows_the_line(took_s: float, mock_clock: trio.testing.MockClock) -> None:
    picks, (origin, fellow) = picks_with(9, set(range(9)), {1})
    picks.came(fellow, 1, took_s)
    assert origin.patience_s == PATIENCE_S[took_s > 1]
