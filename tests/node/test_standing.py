"""The table of contributors: no line too long, every number short, nothing of a stranger's name breaks it."""

import pytest

from node.standing import WIDTH, contributors_of, short_number, table_of
from protocol.orders import Scrutiny
from tests.verification import edits
from tests.verification.replaced import register, replace_key
from tests.verification.verdicts import accepted
from tests.verification.world import World
from verification.state import LogState


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0"),
        (9999, "9999"),
        (10_000, "10.0k"),
        (99_949, "99.9k"),
        (99_950, "100k"),
        (999_499, "999k"),
        (999_500, "1.00M"),
        (123_456_789, "123M"),
        (4_560_000_000, "4.56G"),
        (10**15, "1000T"),
    ],
)
def test_short_numbers(number: int, text: str) -> None:
    assert short_number(number) == text


def test_every_number_is_short() -> None:
    assert all(len(short_number(k * 10**n + d)) <= 5 for n in range(15) for k in (1, 5, 9) for d in (-1, 0, 1))


def test_a_table_of_all_kinds() -> None:
    world = World()
    for name in ("ada", "bob", "carol", "n" * 64):
        register(world, name)
    for name in ("ada", "bob"):
        accepted(world, name)
    bad = world.play(world.peers["carol"], edit=edits.of_game(0, edits.value(0)))
    world.judge(bad)
    world.admit()
    peer = replace_key(world, "bob").public
    world.log(Scrutiny(world.run, peer, 10**6, world.state.size + 9, True, "odd " * 45 + "end"), world.coordinator)
    answer = contributors_of(world.state)
    lines = table_of(answer)
    assert all(len(line) <= WIDTH for line in lines)
    text = "\n".join(lines)
    for part in (
        "good",
        f"now {peer.hex()[:8]}",
        "banned #",
        "probation 0/1",
        "total                   4 contributors",
    ):
        assert part in text, text
    assert lines[-2].startswith(f"bob {peer.hex()[:8]} scrutiny: odd odd")
    assert lines[-1].startswith(f"carol {world.key('carol').public.hex()[:8]} banned: batch at entry {bad.index}: ")
    assert answer["total"]["contributors"] == 4


def test_before_there_is_a_log() -> None:
    answer = contributors_of(LogState(bytes(32)))
    assert answer["contributors"] == []
    assert len(table_of(answer)) == 2
