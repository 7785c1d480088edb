"""The running node's local socket: `gonode status`, `stop`, `drain`, `pause` and `resume` talk to it.

One JSON object a line each way. Only the directory's owner can reach it (the socket lies in the node's directory, mode
0600).
"""

import json
import os
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import trio

from node.json_record import JsonFault
from node.status import Status

Command = Callable[[], Awaitable[dict[str, Any]]]

STATUS = "status"
MAX_LINE_BYTES = 65536
MAX_ANSWER_BYTES = 1 << 26
MAX_PATH_BYTES = 103
"""What a socket's address holds on every system."""

WAITING = 128
ANSWER_WITHIN_S = 10
ACCEPT_AGAIN_S = 0.2


class ControlError(Exception):
    """One sentence about a node that does not answer."""


class OtherVersion(ControlError):
    """One sentence about a node whose answer is not understood here."""


async def serve_control(path: Path, commands: dict[str, Command]) -> None:
    """Answers commands at `path` until cancelled; a socket left by a killed node is replaced. Raises ControlError."""
    _check_length(path)
    path.unlink(missing_ok=True)
    listener = trio.socket.from_stdlib_socket(_listening(path))
    try:
        async with trio.open_nursery() as nursery:
            while True:
                try:
                    connection, _ = await listener.accept()
                except OSError:  # a caller that is gone already, or no file number is free
                    await trio.sleep(ACCEPT_AGAIN_S)
                    continue
                nursery.start_soon(_answer, trio.SocketStream(connection), commands)
    finally:
        listener.close()
        path.unlink(missing_ok=True)


def _listening(path: Path) -> socket.socket:
    """A socket that listens at `path`; who sees the file can connect to it."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listener.bind(str(path))
        os.chmod(path, 0o600)
        listener.listen(WAITING)
    except OSError:
        listener.close()
        raise
    return listener


async def _answer(stream: trio.SocketStream, commands: dict[str, Command]) -> None:
    with trio.move_on_after(ANSWER_WITHIN_S):
        try:
            async with stream:
                line = bytearray()
                while not line.endswith(b"\n") and len(line) < MAX_LINE_BYTES:
                    part = await stream.receive_some(4096)
                    if not part:
                        return
                    line += part
                command = commands.get(line.decode("utf-8", "replace").strip())
                answer = await _run(command) if command else {"error": "This node does not know that command."}
                await stream.send_all(json.dumps(answer).encode() + b"\n")
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            return


async def _run(command: Command) -> dict[str, Any]:
    """What a command answers; one that fails is an answer too, and no end of the node."""
    try:
        return await command()
    except Exception as error:
        return {"error": f"The node cannot answer: {error or type(error).__name__}"}


def _check_length(path: Path) -> None:
    if len(os.fsencode(path)) > MAX_PATH_BYTES:
        raise ControlError(f"{path}: this name is too long for a socket; use a directory with a shorter name.")


def ask_status(path: Path, within_s: float = ANSWER_WITHIN_S) -> Status:
    """How the node whose socket is at `path` stands; raises ControlError, and OtherVersion where it says no `Status`."""
    answer = ask(path, STATUS, within_s)
    try:
        return Status.parse(answer)
    except JsonFault as fault:
        raise OtherVersion(
            f"The node in {path.parent} is of another version of gonode, whose status is not understood here: {fault}. "
            "Ask it with its own version, or start it again with this one."
        ) from None


def ask(path: Path, command: str, within_s: float = ANSWER_WITHIN_S) -> dict[str, Any]:
    """Sends one command to the node whose socket is at `path`; raises ControlError when none answers in time."""
    _check_length(path)
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(within_s)
            connection.connect(str(path))
            connection.sendall(command.encode() + b"\n")
            answer = json.loads(connection.makefile("rb").readline(MAX_ANSWER_BYTES) or b"null")
    except (OSError, ValueError, RecursionError):
        raise ControlError(f"No running node answers in {path.parent}.") from None
    if not isinstance(answer, dict):
        raise ControlError(f"The node in {path.parent} gave no answer.")
    if isinstance(answer.get("error"), str):
        raise ControlError(answer["error"])
    return answer
