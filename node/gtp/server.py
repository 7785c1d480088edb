"""The server: requests in, answers out, one after the other, until `quit` or the end of the input.

Spec: the Go Text Protocol, version 2, draft 2; docs/gtp.md lists the commands. Invariants: every request is answered
once, in order; nothing but answers is written; no input ends the server but `quit`, the end of the input, and a reader
that is gone.
"""

import re
from collections.abc import Callable
from importlib.metadata import version as version_of
from typing import Final, TextIO, TypeVar

from native.errors import EngineError
from node.gtp import (
    analysis_commands,
    board_commands,
    network_commands,
    play_commands,
    record_commands,
    rule_commands,
    time_commands,
)
from node.gtp.command import Answer, Command, Stream
from node.gtp.errors import UNKNOWN, Failure
from node.gtp.feed import Feed
from node.gtp.line import Request, begin_answer, clean, encode_answer, parse_line
from node.gtp.session import Session
from node.gtp.values import argument

NAME: Final = "gonode"
VERSION: Final = version_of("gonode")
"""Read once: a session goes on while its package is being installed anew."""
PROTOCOL: Final = "2"
_PARTS: Final = re.compile("[0-9]+")

Given = TypeVar("Given")


def protocol_version(session: Session, request: Request) -> str:
    """The version of the protocol."""
    return PROTOCOL


def name(session: Session, request: Request) -> str:
    """The program."""
    return NAME


def version(session: Session, request: Request) -> str:
    """The program's version, and who plays.

    Lizzie takes the number after the first point for Leela Zero's, and below 15 it stands still behind a message that
    cannot be closed. So the version comes first as one such number, two digits a part: 0.10203 is 1.2.3.
    """
    return f"0.{_number(VERSION)} (gonode {VERSION}) {session.player.name}"


def _number(version: str) -> int:
    parts = [int(part) for part in _PARTS.findall(version)[:3]]
    major, minor, patch = [*parts, 0, 0, 0][:3]
    return 10_000 * major + 100 * minor + patch


def known_command(session: Session, request: Request) -> str:
    """`known_command NAME`."""
    return str(argument(request.arguments, 0, "the name of a command") in COMMANDS).lower()


def list_commands(session: Session, request: Request) -> str:
    """Every command, a line each."""
    return "\n".join(COMMANDS)


def leave(session: Session, request: Request) -> str:
    """Ends the server after its answer."""
    return ""


def echo_nothing(session: Session, request: Request) -> str:
    """A word of the controller's that nothing follows from."""
    return ""


def gogui_commands(session: Session, request: Request) -> str:
    """What GoGui's menus offer."""
    return "\n".join(
        (
            "dboard/Ownership/gonode-ownership",
            "dboard/Policy/gonode-policy",
            "var/Best Line/gonode-best_line",
            "plist/Dead Stones/final_status_list dead",
            "string/Final Score/final_score",
            "string/Rules/kata-get-rules",
            "string/Show Board/showboard",
            "string/Genmove Debug/genmove_debug %c",
        )
    )


COMMANDS: Final[dict[str, Command]] = {
    "protocol_version": protocol_version,
    "name": name,
    "version": version,
    "known_command": known_command,
    "list_commands": list_commands,
    "quit": leave,
    **board_commands.COMMANDS,
    **play_commands.COMMANDS,
    **time_commands.COMMANDS,
    **record_commands.COMMANDS,
    **rule_commands.COMMANDS,
    **analysis_commands.COMMANDS,
    **network_commands.COMMANDS,
    "kgs-game_over": echo_nothing,
    "gogui-analyze_commands": gogui_commands,
}


def serve(session: Session, feed: Feed, out: TextIO) -> None:
    """Answers every request of `feed`. Raises OSError when nobody reads `out` any more."""
    while (line := feed.take()) is not None:
        try:
            request = parse_line(line)
        except Failure as failure:
            _write(out, encode_answer(False, None, str(failure)))
            continue
        if request is None:
            continue
        _answer(session, request, feed, out)
        if request.name == "quit":
            return


def _answer(session: Session, request: Request, feed: Feed, out: TextIO) -> None:
    answer = _attempt(lambda: _call(session, request))
    if isinstance(answer, Failure):
        _write(out, encode_answer(False, request.id, str(answer)))
    elif isinstance(answer, str):
        _write(out, encode_answer(True, request.id, answer))
    else:
        _stream(answer, request, feed, out)


def _call(session: Session, request: Request) -> Answer:
    command = COMMANDS.get(request.name)
    if command is None:
        raise Failure(UNKNOWN)
    return command(session, request)


def _stream(stream: Stream, request: Request, feed: Feed, out: TextIO) -> None:
    """A whole answer, its first line before anything is known: what fails after it ends the answer early."""
    _write(out, begin_answer(True, request.id) + "\n")
    while True:
        line = _attempt(lambda: next(stream.lines, None))
        if line is None or isinstance(line, Failure):
            break
        if line:
            _write(out, clean(line) + "\n")
        if stream.until_input and feed.waits(0):
            break
    if stream.until_input:
        feed.waits(None)
    _write(out, "\n")


def _attempt(call: Callable[[], Given]) -> Given | Failure:
    """What the call gives, or the Failure that it ends in; the engine's refusals are failures too."""
    try:
        return call()
    except Failure as failure:
        return failure
    except EngineError as error:
        return Failure(str(error))


def _write(out: TextIO, text: str) -> None:
    out.write(text)
    out.flush()
