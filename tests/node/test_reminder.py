"""What waits is said at once, and then every five minutes; with the next try."""

import trio
from trio.testing import MockClock

from node.reminder import AGAIN_S, Reminder


async def test_it_is_said_at_once_and_now_and_then(autojump_clock: MockClock) -> None:
    said: list[str] = []
    reminder = Reminder(lambda event, text, **values: said.append(f"{event}: {text}"))
    for _ in range(100):
        reminder.say("No peer has it.", 5.0)
        await trio.sleep(5.0)
    assert said == ["waiting: No peer has it. Next try in 5 s."] * 2
    reminder.forget()
    reminder.say("No peer has it.", 0.2)
    assert said[2:] == ["waiting: No peer has it. Next try in 1 s."]
    await trio.sleep(AGAIN_S - 1)
    reminder.say("No peer has it.", 0.2)
    assert len(said) == 3
