"""What a trainer says line by line, as its own writer writes it, and lines that say nothing."""

import io
from pathlib import Path

import pytest

from node.json_record import parse_record
from node.training.events import Exporting, Failed, Note, Progress, Skipped, parse_event
from trainer.events import Events
from trainer.network.loss import PARTS

PROGRESS = b'{"step": 3, "steps": 9, "loss": 2, "policy_loss": 1.5, "value_loss": 0.5, "samples_per_s": 4, '


def test_what_a_trainer_writes() -> None:
    stream = io.StringIO()
    events = Events(stream)
    events.begin(0, 9, 64)
    events.progress(9, dict.fromkeys(PARTS, 1.25), 0.0)
    events.skipped("ab", "It is damaged.")
    events.note("No event files.")
    events.exporting()
    events.failed("It jumped.", "loss-spike")
    events.done(Path("out"), {"step": 9})
    progress, *others = (parse_event(line.encode()) for line in stream.getvalue().splitlines())
    assert isinstance(progress, Progress)
    assert (progress.step, progress.steps, progress.loss, progress.seconds_left) == (9, 9, 1.25, 0.0)
    assert parse_record(Progress, progress.to_json()) == progress
    assert others == [
        Skipped("ab", "It is damaged."),
        Note("No event files."),
        Exporting(),
        Failed("It jumped.", "loss-spike"),
        None,  # the result is read from its file
    ]


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"\xff",
        b"[]",
        b"{}",
        b'{"event": 1}',
        b'{"event": "progress", "step": 1}',
        b'{"event": "note", "text": null}',
        b"[" * 100_000,
    ],
    ids=lambda line: line[:40].decode("ascii", "replace"),
)
def test_what_is_no_event(line: bytes) -> None:
    assert parse_event(line) is None


def test_steps_beyond_the_end_are_none() -> None:
    whole = PROGRESS + b'"waiting_share": 0, "seconds_left": 1, "event": "progress"}'
    assert parse_event(whole) == Progress(3, 9, 2.0, 1.5, 0.5, 4, 0.0, 1.0)
    assert parse_event(whole.replace(b'"steps": 9', b'"steps": 2')) is None
    assert parse_event(whole.replace(b'"step": 3', b'"step": -1')) is None
