"""Plain lines: what they hold, which are printed, the summary, and what the program's loggers say."""

import io
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from node.screen.level import _LEVELS, Level, level_of
from node.screen.lines import SUMMARY_EVERY_S, LogLines, PlainLines
from node.screen.screen import Output, open_screen
from node.status import Status
from tests.node.screen.closed import Closed
from tests.node.screen.statuses import contributor

NOON = 1_800_014_400.0
STAMP = "2027-01-15 12:00:00Z"


@pytest.fixture
def handlers() -> Iterator[logging.Logger]:
    """The program's logger, as before afterwards."""
    logger = logging.getLogger("gonode")
    before, level = list(logger.handlers), logger.level
    yield logger
    logger.handlers[:] = before
    logger.setLevel(level)


def printed(level: Level, *events: tuple[str, str]) -> list[str]:
    stream = io.StringIO()
    lines = PlainLines("contributor", level, stream, lambda: NOON)
    for event, text in events:
        lines(event, text)
    return stream.getvalue().splitlines()


def test_a_line_an_event_with_its_level() -> None:
    events = [("game", "Game 3 finished."), ("waiting", "Nobody\r\nis \x1b[31mthere."), ("fault", "Bad.")]
    assert printed(Level.INFO, *events) == [
        f"{STAMP} info    contributor Game 3 finished.",
        f"{STAMP} warning contributor Nobody is [31mthere.",
        f"{STAMP} error   contributor Bad.",
    ]
    assert len(printed(Level.WARNING, *events)) == 2
    assert len(printed(Level.ERROR, *events)) == 1
    assert printed(Level.INFO, ("mirrored", "Keeps a batch.")) == []
    assert len(printed(Level.DEBUG, ("mirrored", "Keeps a batch."))) == 1


def test_a_terminal_that_is_gone_ends_no_node() -> None:
    stream = Closed()
    lines = PlainLines("contributor", Level.INFO, stream, lambda: NOON)
    lines("game", "Game 3 finished.")
    stream.is_gone = False
    lines("game", "Game 4 finished.")
    assert stream.getvalue() == f"{STAMP} info    contributor Game 4 finished.\n"


def test_levels_by_name() -> None:
    assert level_of("never heard of") == Level.INFO
    assert [Level["DEBUG"].word, level_of("waiting").word] == ["debug", "warning"]


def test_levels_are_of_events_that_there_are() -> None:
    sources = "".join(
        path.read_text(encoding="utf-8")
        for folder in ("node", "protocol")
        for path in Path(folder).rglob("*.py")
        if path.name != "level.py"
    )
    for events in _LEVELS.values():
        for event in events:
            assert f'"{event}"' in sources, event


async def test_a_summary_every_two_minutes_also_when_nothing_happens(autojump_clock: MockClock) -> None:
    stream = io.StringIO()
    lines = PlainLines("contributor", Level.INFO, stream, lambda: NOON)
    with trio.move_on_after(3 * SUMMARY_EVERY_S + 1):
        await lines.run(contributor, {})
    said = stream.getvalue().splitlines()
    assert len(said) == 3
    assert said[0] == (
        f"{STAMP} info    contributor playing 16 games; today 41 games, 1,204 plies; "
        "credit 1,102 games verified (24,310 plies), 102 pending, 0 rejected; "
        "peers 9, log 812,051 (in sync), batches waiting 0."
    )


async def test_a_status_that_fails_ends_nothing(autojump_clock: MockClock) -> None:
    def fails() -> Status:
        raise ValueError("It is broken.")

    stream = io.StringIO()
    with trio.move_on_after(SUMMARY_EVERY_S + 1):
        await PlainLines("relay", Level.INFO, stream, lambda: NOON).run(fails, {})
    assert "It is broken." in stream.getvalue()


def test_loggers_speak_in_lines(handlers: logging.Logger) -> None:
    said: list[tuple[Level, str]] = []
    handlers.addHandler(LogLines(lambda level, text: said.append((level, text)), Level.INFO))
    logging.getLogger("gonode.net").info("a detail")
    logging.getLogger("gonode.net").warning("a %s", "worry")
    logging.getLogger("gonode.net").critical("the end")
    assert said == [(Level.WARNING, "a worry"), (Level.ERROR, "the end")]


def test_debug_shows_what_loggers_say(handlers: logging.Logger, capsys: pytest.CaptureFixture[str]) -> None:
    open_screen("relay", Output(level=Level.DEBUG))
    logging.getLogger("gonode.net").info("a detail")
    assert capsys.readouterr().out.endswith("Z debug   relay       a detail\n")


def test_a_stream_of_few_letters_is_no_error(handlers: logging.Logger, monkeypatch: pytest.MonkeyPatch) -> None:
    data = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(data, encoding="ascii"))
    open_screen("relay", Output())("listening", "Listening at ·.")
    assert b"Listening at \\xb7." in data.getvalue()
