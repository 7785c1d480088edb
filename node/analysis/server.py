"""The server: queries in, answers out, in whatever order they are done: `serve`, `Server`.

Spec: KataGo's docs/Analysis_Engine.md; docs/analysis.md says what is different. Invariants: every line is answered, by an
error or by exactly one last answer a position; lines are written whole; no input ends the server but the end of the
input, and a reader that is gone.
"""

import threading
from collections.abc import Callable
from importlib.metadata import version as version_of
from typing import Any, Final, TextIO

from native.netfile import VERSION
from node.analysis.desk import Desk
from node.analysis.errors import LineError, QueryError
from node.analysis.inbox import Inbox
from node.analysis.line import Table, encode_line, parse_line
from node.analysis.query_reader import QueryReader
from node.analysis.task import Task
from node.analysis.values import integers_of
from node.play.searcher import Searcher

ACTIONS: Final = (
    "'action' field must be 'query_version' or 'query_models' or 'clear_cache' or 'terminate' or 'terminate_all'"
)
GIT_HASH: Final = "<omitted>"
"""What KataGo says of a program that was not built in its repository."""


class Writer:
    """Lines out, from any thread; `on_gone` hears when nobody reads them any more."""

    def __init__(self, out: TextIO, on_gone: Callable[[OSError], None]) -> None:
        self._out = out
        self._on_gone = on_gone
        self._lock = threading.Lock()
        self._is_closed = False

    def write(self, table: Table) -> None:
        """One line."""
        text = encode_line(table)
        with self._lock:
            if self._is_closed:
                return
            try:
                self._out.write(text)
                self._out.flush()
            except OSError as error:
                self._is_closed = True
                self._on_gone(error)

    def close(self) -> None:
        """Nothing more is written."""
        with self._lock:
            self._is_closed = True


class Server:
    """Answers lines for one player; see `serve`."""

    def __init__(self, searcher: Searcher, reader: QueryReader, desk: Desk, writer: Writer) -> None:
        self._searcher = searcher
        self._reader = reader
        self._desk = desk
        self._writer = writer

    def answer(self, line: bytes) -> None:
        """Answers a line, or puts what it asks for on the desk."""
        try:
            table = parse_line(line)
        except LineError as error:
            self._writer.write({"error": str(error)})
            return
        if table is None:
            return
        name = table.get("id")
        if not isinstance(name, str):
            self._writer.write({"error": 'Request must have a string "id" field'})
            return
        try:
            if isinstance(table.get("action"), str):
                self._act(table)
            else:
                self._queue(name, table)
        except QueryError as error:
            self._writer.write({"error": str(error), "field": error.field, "id": name})

    def _queue(self, name: str, table: Table) -> None:
        def warn(field: str, sentence: str) -> None:
            self._writer.write({"warning": sentence, "field": field, "id": name})

        query = self._reader.read(name, table, warn)
        tasks = [
            (priority, Task(query, turn, self._writer.write))
            for turn, priority in zip(query.turns, query.priorities, strict=True)
        ]
        self._desk.add(tasks)

    def _act(self, table: Table) -> None:
        match table["action"]:
            case "query_version":
                table = {**table, "version": version_of("gonode"), "git_hash": GIT_HASH}
            case "query_models":
                table = {**table, "models": [self._model()]}
            case "clear_cache":
                pass  # nothing passes from search to search
            case "terminate" | "terminate_all":
                self._terminate(table)
            case _:
                table = {"error": ACTIONS}
        self._writer.write(table)

    def _terminate(self, table: Table) -> None:
        wanted: Any = None
        if table["action"] == "terminate":
            wanted = table.get("terminateId")
            if not isinstance(wanted, str):
                sentence = 'Requests for a terminate action must have a string "terminateId" field'
                raise QueryError("terminateId", sentence)
        turns: set[int] | None = None
        if "turnNumbers" in table:
            sentence = "If provided, must be an array of integers indicating turns to terminate"
            turns = set(integers_of(table["turnNumbers"], "turnNumbers", sentence))
        self._desk.end(
            lambda task: (wanted is None or task.query.id == wanted) and (turns is None or task.turn in turns)
        )

    def _model(self) -> Table:
        """The network; integers evaluate it, one position after the other."""
        return {
            "name": self._searcher.name,
            "internalName": self._searcher.digest.hex(),
            "maxBatchSize": 1,
            "usesHumanSLProfile": False,
            "version": VERSION,
            "usingFP16": "false",
        }


def serve(searcher: Searcher, reader: QueryReader, threads: int, inbox: Inbox, out: TextIO, *, waits: bool) -> None:
    """Answers every line of `inbox`; at its end it `waits` for what is on the desk, or leaves it.

    Raises OSError when nobody reads `out` any more.
    """

    def halt(fault: BaseException) -> None:
        inbox.stop(fault)
        desk.close(waits=False)

    writer, desk = Writer(out, halt), Desk(searcher, threads, halt)
    server = Server(searcher, reader, desk, writer)
    try:
        while (line := inbox.take()) is not None:
            server.answer(line)
        desk.close(waits=waits)
        inbox.verify()
    finally:
        desk.close(waits=False)
        writer.close()
