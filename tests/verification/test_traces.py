"""Trace openings against verdicts and batches."""

from dataclasses import replace

from tests.verification import edits
from tests.verification.world import World
from verification.traces import is_backed


def test_an_opening_backs_its_verdict(world: World) -> None:
    batch = world.play(world.peers["ada"])
    content, found, _ = world.examine(batch)
    world.judge(batch)
    assert content is not None
    assert batch.verdict is not None
    data = b"".join(found.digests)
    assert is_backed(batch.verdict, data)
    assert is_backed(batch.verdict, data, content)
    assert not is_backed(batch.verdict, data[:-1])
    assert not is_backed(batch.verdict, data[:-32])
    assert not is_backed(batch.verdict, b"")
    shorter = replace(batch.verdict, drawn=(0,))
    assert is_backed(shorter, data)
    assert not is_backed(shorter, data, content)


def test_up_to_a_mismatch_the_traces_are_the_batchs(world: World) -> None:
    batch = world.play(world.peers["ada"], edit=edits.of_game(1, edits.trace(6)))
    content, found, rejected = world.examine(batch)
    assert rejected is not None
    world.say(batch, found, rejected)
    assert content is not None
    assert batch.verdict is not None
    assert len(found.digests) == content.games[0].header.plies + 7
    assert is_backed(batch.verdict, b"".join(found.digests), content)
