"""The control socket: commands and answers, what is no command, and sockets that killed nodes left."""

import json
import socket
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
import trio

from node.control import MAX_LINE_BYTES, ControlError, OtherVersion, ask, ask_status, serve_control
from tests.node.screen.statuses import contributor


@asynccontextmanager
async def serving(path: Path, answer: dict[str, Any] | None = None) -> AsyncIterator[list[str]]:
    """A node that answers at `path`; the list is what it was told."""
    heard: list[str] = []

    def command(name: str) -> Any:
        async def run() -> dict[str, Any]:
            heard.append(name)
            return answer or {"ok": True}

        return run

    async with trio.open_nursery() as nursery:
        nursery.start_soon(serve_control, path, {name: command(name) for name in ("status", "drain", "stop")})
        with trio.fail_after(5):
            while not path.exists():
                await trio.sleep(0.01)
        yield heard
        nursery.cancel_scope.cancel()


async def asked(path: Path, command: str) -> dict[str, Any]:
    return await trio.to_thread.run_sync(ask, path, command)


async def said(path: Path, data: bytes, is_ended: bool = False) -> bytes:
    """What comes back for these bytes."""
    stream = await trio.open_unix_socket(path)
    async with stream:
        await stream.send_all(data)
        if is_ended:
            await stream.send_eof()
        answer = b""
        with trio.move_on_after(5):
            async for part in stream:
                answer += part
    return answer


async def test_commands_are_answered(tmp_path: Path) -> None:
    path = tmp_path / "control.sock"
    async with serving(path, {"role": "contributor"}) as heard:
        for command in ("status", "drain", "stop", "status"):
            assert await asked(path, command) == {"role": "contributor"}
        assert heard == ["status", "drain", "stop", "status"]
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert not path.exists()


async def test_what_is_no_command(tmp_path: Path) -> None:
    path = tmp_path / "control.sock"
    async with serving(path) as heard:
        for unknown in ("reboot", "sta\ud7fftus"):
            with pytest.raises(ControlError, match="does not know"):
                await asked(path, unknown)
        assert b"does not know" in await said(path, b"\xff\xfe\x00\n")
        assert b"does not know" in await said(path, b"\n")
        assert await said(path, b"", is_ended=True) == b""
        assert await said(path, b"stat", is_ended=True) == b""
        assert heard == []
        assert json.loads(await said(path, b"  status \n")) == {"ok": True}


async def test_a_huge_line_is_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "control.sock"
    async with serving(path) as heard:
        assert b"does not know" in await said(path, b"x" * MAX_LINE_BYTES)
        with suppress(trio.BrokenResourceError):  # it may hang up
            await said(path, b"x" * (20 * MAX_LINE_BYTES))
        assert heard == []
        assert await asked(path, "status") == {"ok": True}


async def test_many_at_once_and_one_that_says_nothing(tmp_path: Path) -> None:
    path = tmp_path / "control.sock"
    async with serving(path) as heard, await trio.open_unix_socket(path):
        async with trio.open_nursery() as nursery:
            for _ in range(20):
                nursery.start_soon(asked, path, "status")
        assert len(heard) == 20


async def test_a_socket_that_a_killed_node_left(tmp_path: Path) -> None:
    path = tmp_path / "control.sock"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as left:
        left.bind(str(path))
    with pytest.raises(ControlError, match="No running node answers"):
        ask(path, "status")
    async with serving(path):
        with trio.fail_after(5):
            while True:
                try:
                    assert await asked(path, "status") == {"ok": True}
                    break
                except ControlError:
                    await trio.sleep(0.01)


ANSWERS = [b"", b"\n", b"null\n", b"[1]\n", b"not json\n", b"\xff\n", b'"text"\n', b"{", b"[" * 100_000 + b"\n"]


@pytest.mark.parametrize("reply", ANSWERS, ids=range(len(ANSWERS)))
async def test_answers_that_are_none(reply: bytes, tmp_path: Path) -> None:
    path = tmp_path / "control.sock"
    listener = trio.socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    with listener:
        await listener.bind(str(path))
        listener.listen(1)

        async def answer() -> None:
            connection, _ = await listener.accept()
            async with trio.SocketStream(connection) as stream:
                await stream.receive_some()
                await stream.send_all(reply)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(answer)
            with pytest.raises(ControlError):
                await asked(path, "status")


async def test_a_status_is_parsed_or_a_sentence(tmp_path: Path) -> None:
    path, found = tmp_path / "control.sock", contributor()
    async with serving(path, found.to_json()):
        assert await trio.to_thread.run_sync(ask_status, path) == found
    async with serving(path, {**found.to_json(), "peers": None}):
        with pytest.raises(OtherVersion, match=r"another version of gonode, .* not understood here: peers is None\."):
            await trio.to_thread.run_sync(ask_status, path)
    async with serving(path, {"error": "It is broken."}):
        with pytest.raises(ControlError, match=r"^It is broken\.$"):
            await trio.to_thread.run_sync(ask_status, path)


def test_nobody_there(tmp_path: Path) -> None:
    with pytest.raises(ControlError, match="No running node answers"):
        ask(tmp_path / "control.sock", "status")
    (tmp_path / "control.sock").write_text("a file")
    with pytest.raises(ControlError, match="No running node answers"):
        ask(tmp_path / "control.sock", "status")


async def test_a_directory_whose_name_is_too_long_for_a_socket(tmp_path: Path) -> None:
    path = tmp_path / ("x" * 100) / "control.sock"
    path.parent.mkdir()
    with pytest.raises(ControlError, match="too long"):
        ask(path, "status")
    with pytest.raises(ControlError, match="too long"):
        await serve_control(path, {})
