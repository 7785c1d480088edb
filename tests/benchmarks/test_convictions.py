"""No honest ply convicts its player, whichever kernel replays it; and the count of those that would can fail."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks._honest import Games, Subject, Tally, judge, large, play, small
from benchmarks.convictions import FULL, Tallies, count, directions, table
from native.network import Kernel
from protocol.game_block import GameBlock
from tests.verification import edits

TWO_KERNELS = pytest.mark.skipif(len(Kernel.available()) < 2, reason="this machine has one kernel only")
TWO_FAST_KERNELS = pytest.mark.skipif(
    len(Kernel.available()) < 3, reason="the scalar kernel takes a second a ply of b6c96, and there is one other only"
)


def one_way(subject: Subject, plies: int) -> tuple[Tally, Tally]:
    """What is found in each direction."""
    tallies = Tallies()
    count(subject, plies, tallies)
    first, second = directions()
    return tallies.of(subject, first), tallies.of(subject, second)


@TWO_KERNELS
def test_six_thousand_plies_between_two_kernels() -> None:
    found = one_way(small(), 6_000)
    assert [tally.faults for tally in found] == [(), ()]
    assert sum(tally.plies for tally in found) >= 6_000
    assert min(tally.games for tally in found) >= 70


@TWO_FAST_KERNELS
def test_a_game_of_b6c96_between_three_kernels() -> None:
    (player, replayer), _ = directions()
    tally = judge(play(large(scalar_every=40), 0, player), replayer)
    assert tally.faults == ()
    assert tally.plies >= 60
    assert tally.scalar >= 2


@pytest.mark.soak
@TWO_FAST_KERNELS
def test_the_whole_count() -> None:
    for subject, plies, scalar in ((small(), FULL["b1c16"], 0), (large(), FULL["b6c96"], 100)):
        found = one_way(subject, plies)
        assert [tally.faults for tally in found] == [(), ()]
        assert sum(tally.plies for tally in found) >= plies
        assert min(tally.plies for tally in found) > plies * 0.45
        assert sum(tally.scalar for tally in found) >= scalar


# ---- it can fail


@pytest.fixture(scope="module")
def few() -> Games:
    """Three games, whose third ply the scalar kernel repeats, and every fifth after it."""
    return play(replace(small(), games=3, scalar_every=5), 0, Kernel.BEST)


def edited(games: Games, game: int, change: Callable[[GameBlock], bytes]) -> Games:
    """The games with one of them changed after it was played."""
    blocks = list(games.blocks)
    blocks[game] = GameBlock.parse(change(blocks[game]))
    return replace(games, blocks=tuple(blocks))


def test_honest_games_have_no_fault(few: Games) -> None:
    tally = judge(few, Kernel.SCALAR, 2)
    plies = sum(len(block.plies) for block in few.blocks)
    assert tally == Tally(1, 3, plies, len(range(3, plies, 5)), ())


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (edits.value(3), "another value"),
        (edits.trace(3), "trace"),
        (edits.header(komi_half=3), "komi"),
        (edits.move(3), "illegal"),
    ],
)
def test_what_differs_is_counted(few: Games, change: Callable[[GameBlock], bytes], why: str) -> None:
    tally = judge(edited(few, 1, change), Kernel.SCALAR)
    assert why in tally.faults[0]
    assert "ame 1" in tally.faults[0]


def test_the_scalar_kernel_finds_a_ply_by_itself(few: Games) -> None:
    """Ply 3 of the first game is due when 2 plies were counted before."""
    wrong = edited(few, 0, edits.value(3))
    ply = wrong.blocks[0].plies[3]
    fault = f"Ply {ply} of game 0 has another value."
    assert any(each.endswith(fault) for each in judge(wrong, Kernel.BEST, 2).faults)
    assert not any(each.endswith(fault) for each in judge(wrong, Kernel.BEST, 3).faults)


def test_other_trace_digests_are_a_fault(few: Games) -> None:
    first, *others = few.digests
    wrong = replace(few, digests=((bytes(32), *first[1:]), *others))
    (fault,) = judge(wrong, Kernel.BEST).faults
    assert "Game 0 has other trace digests" in fault


# ---- stopped and resumed


@TWO_KERNELS
def test_a_count_goes_on_where_it_was_stopped(tmp_path: Path) -> None:
    subject = replace(small(), games=5, scalar_every=50)
    path = tmp_path / "state"

    def stop(tally: Tally) -> None:
        if tally.plies >= 300:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        count(subject, 1000, Tallies(path), stop)
    assert 300 <= Tallies(path).both(subject).plies < 1000
    resumed, whole = Tallies(path), Tallies()
    assert count(subject, 1000, resumed) == count(subject, 1000, whole)
    assert list(table(subject, resumed)) == list(table(subject, whole)) == list(table(subject, Tallies(path)))
    rounds: list[Tally] = []
    count(subject, 1000, Tallies(path), rounds.append)
    assert rounds == []


@pytest.mark.parametrize(
    "text", ["", "[]", '{"semantics": "x"}', '{"semantics": "x", "tallies": {}}', '{"tallies": 3}']
)
def test_a_strange_state_ends_in_one_sentence(tmp_path: Path, text: str) -> None:
    path = tmp_path / "state"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SystemExit, match=r"state.*\.$"):
        Tallies(path)
