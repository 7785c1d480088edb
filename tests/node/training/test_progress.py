"""How far training is: what the trainer says, in words, as few events as people want to read."""

from typing import Any

import pytest
from trio.testing import MockClock

from node.training.events import Exporting, Note, Progress, Skipped
from node.training.progress import TOLD_EVERY_S, TrainingProgress
from node.training.words import training_words


class Heard:
    """Keeps events."""

    def __init__(self) -> None:
        self.events: list[tuple[str, str, dict[str, Any]]] = []

    def __call__(self, event: str, text: str, **values: Any) -> None:
        self.events.append((event, text, values))


def progress(step: int, seconds_left: float = 0.0) -> Progress:
    return Progress(step, 1200, 2.314, 1.5, 0.5, 1204, 0.25, seconds_left)


@pytest.mark.parametrize(
    ("seconds_left", "words"), [(0, "0:00"), (9.7, "0:09"), (200.4, "3:20"), (3599, "59:59"), (3723, "1:02:03")]
)
def test_words(seconds_left: float, words: str) -> None:
    said = training_words(progress(450, seconds_left))
    assert said == f"37 %, loss 2.31, 1,204 samples/s, {words} left"


async def test_an_event_a_minute_and_the_newest_for_the_status(autojump_clock: MockClock) -> None:
    heard = Heard()
    training = TrainingProgress(heard)
    for step in range(1, 400):
        await training.hear(progress(step))
        autojump_clock.jump(1)
    assert training.now == progress(399)
    assert [values["step"] for _, _, values in heard.events] == [1 + TOLD_EVERY_S * k for k in range(7)]
    assert {event for event, _, _ in heard.events} == {"training"}
    training.begin()
    assert training.now is None
    await training.hear(progress(1))
    assert heard.events[-1][2] == {"step": 1, "steps": 1200}


async def test_what_is_skipped_is_said_each_time_and_a_note_once(autojump_clock: MockClock) -> None:
    heard = Heard()
    training = TrainingProgress(heard)
    for _ in range(2):
        await training.hear(Skipped("ab", "It is damaged."))
        await training.hear(Note("No event files."))
        await training.hear(Exporting())
    assert [text for _, text, _ in heard.events] == [
        "Batch ab was skipped: It is damaged.",
        "No event files.",
        "Batch ab was skipped: It is damaged.",
    ]
