"""Play pauses while many batches wait, and says so once, also when they are logged as fast as new ones come."""

from types import SimpleNamespace
from typing import Any

import trio
from trio.testing import MockClock

from node.contributor.contributor import MOST_WAITING, Contributor
from tests.node.keys import secret


async def test_a_pause_is_told_once_and_its_end_once(autojump_clock: MockClock) -> None:
    counts = iter([255, 256, 255, 256, 255, 200, 193, 192, 191, 192, 255, 256, 255, 100])
    said: list[str] = []

    async def change_within(seconds: float) -> None:
        pass

    def say(event: str, text: str, **values: Any) -> None:
        assert event == "waiting"
        said.append(text)

    member: Any = SimpleNamespace(
        store=SimpleNamespace(waiting_count=lambda kind: next(counts)),
        events=say,
        change_within=change_within,
    )
    role = Contributor(member, secret(1), None, "scalar", 1, b"", "ada")  # type: ignore[arg-type]
    paused, goes_on = f"Play is paused: {MOST_WAITING} batches wait to be logged. Nothing is lost.", "Play goes on."
    await role._pause(lambda: True)
    assert said == []
    await role._pause(iter([True, True, False]).__next__)  # another release is there: the pause goes on
    assert (said, role.paused_since) == ([paused], trio.current_time())
    await role._pause(lambda: True)
    assert (said, role.paused_since) == ([paused, goes_on], None)
    for _ in range(2):
        await role._pause(lambda: True)
    assert said == [paused, goes_on]
    await role._pause(lambda: True)
    assert said == [paused, goes_on] * 2
