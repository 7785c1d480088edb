"""How a node's process ends: drained, stopped, interrupted, or because its supervisor is gone.

The first Ctrl-C drains, the second ends the process at once, which loses nothing that is finished, since that is on disk.
SIGTERM, a terminal that is closed (SIGHUP, unless it is ignored) and `gonode stop` put down what is under way, for a moment
at most, and end without sending anything. So does a node that `gonode local` started when that process is gone.
"""

import os
import signal
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import trio

from node.control import STATUS, Command, serve_control
from node.disk.home import Home
from node.events import Events
from node.status import Status

Beside = Callable[[Callable[[], Status], Mapping[str, Command]], Awaitable[None]]
"""What runs beside a role until that ends: it is given the status, and the commands that the control socket takes."""

SUPERVISOR_VARIABLE = "GONODE_SUPERVISOR"
PUT_DOWN_WITHIN_S = 5.0
DONE = 0
INTERRUPTED = 130


class Lifetime:
    """Runs a role until it returns or is told to end.

    `draining` is what the role says when it is told to drain; `interrupt` (by default `drain`) answers the first Ctrl-C.
    `commands` are those of the role alone; `put_down` keeps what is under way when the node is stopped.
    """

    def __init__(
        self,
        home: Home,
        events: Events,
        drain: Callable[[], None],
        draining: str,
        status: Callable[[], Status],
        contributors: Callable[[], dict[str, Any]],
        interrupt: Callable[[], None] | None = None,
        beside: Sequence[Beside] = (),
        commands: Mapping[str, Command] | None = None,
        put_down: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self._home = home
        self._events = events
        self._drain = drain
        self._draining = draining
        self._status = status
        self._contributors = contributors
        self._interrupt = interrupt or drain
        self._beside = beside
        self._more_commands = commands or {}
        self._put_down = put_down
        self._is_stopping = trio.Event()
        self._exit = DONE
        self._scope = trio.CancelScope()

    async def run(self, role: Callable[[], Awaitable[None]]) -> int:
        """The exit status: 0 when `role` returned or was stopped, 130 when it was interrupted."""
        with self._scope:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._watch_signals)
                nursery.start_soon(self._watch_supervisor)
                nursery.start_soon(self._stop_when_told)
                commands = self._commands()
                nursery.start_soon(serve_control, self._home.control, commands)
                for beside in self._beside:
                    nursery.start_soon(beside, self._status, commands)
                await role()
                nursery.cancel_scope.cancel()
        return self._exit

    def _commands(self) -> dict[str, Command]:
        async def status() -> dict[str, Any]:
            return self._status().to_json()

        async def contributors() -> dict[str, Any]:
            return self._contributors()

        async def drain() -> dict[str, Any]:
            self._events("draining", self._draining)
            self._drain()
            return {"ok": True}

        async def stop() -> dict[str, Any]:
            self._events("stopping", "Stopping now; everything finished is kept.")
            self._is_stopping.set()
            return {"ok": True}

        async def cannot_rest() -> dict[str, Any]:
            return {"error": "This node does not play games of its own, so there is nothing to pause."}

        named = {STATUS: status, "contributors": contributors, "drain": drain, "stop": stop}
        return {**named, "pause": cannot_rest, "resume": cannot_rest, **self._more_commands}

    async def _watch_signals(self) -> None:
        interrupts = 0
        stops = {signal.SIGTERM}
        if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:  # as nohup has it
            stops.add(signal.SIGHUP)
        with trio.open_signal_receiver(signal.SIGINT, *stops) as received:
            async for number in received:
                if number in stops:
                    self._is_stopping.set()
                    continue
                interrupts += 1
                if interrupts == 1 and not self._is_stopping.is_set():
                    self._events("draining", "Ending; press Ctrl-C again to stop at once (nothing finished is lost).")
                    self._interrupt()
                else:
                    self._exit = INTERRUPTED
                    self._scope.cancel()
                    return

    async def _stop_when_told(self) -> None:
        await self._is_stopping.wait()
        if self._put_down is not None:
            with trio.move_on_after(PUT_DOWN_WITHIN_S):
                await self._put_down()
        self._scope.cancel()

    async def _watch_supervisor(self) -> None:
        supervisor = os.environ.get(SUPERVISOR_VARIABLE)
        if supervisor is None:
            return
        while str(os.getppid()) == supervisor:
            await trio.sleep(1)
        self._is_stopping.set()
