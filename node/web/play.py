"""A game against a release in a browser: `Play`, the page and the one question that costs a search.

Page: docs/pages.md. No game is kept here: each question carries the whole of it, and nothing of it is written or becomes
training data. Invariants: a body has a bounded length and time; searches run in threads of their own, one an address and a
few in all; every refusal is one sentence with its status.
"""

import os
import sqlite3
import threading
from collections import OrderedDict
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path
from typing import Final

import trio
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from node.disk.home import Home
from node.play.errors import CannotPlay, IllegalGame, NotHere
from node.play.limits import rules_for
from node.play.position import reach
from node.play.reply import reply
from node.play.shelf import Shelf
from node.web.answering import Moved
from node.web.guard import ASKER
from node.web.model.schema import reading
from node.web.play_answer import Answer, answer_of
from node.web.queries.play import Known, PlayPage, known_release, play_page, release_called
from node.web.queries.records import BadQuestion, NotFound, to_json
from node.web.queries.seen import Seen, seen
from node.web.question import MOST_BYTES, Question
from node.web.searches import Busy, Searches, searches_here

KNOWN: Final = 64
BODY_WITHIN_S: Final = 10.0
RULES_AT_ONCE: Final = 2
"""Threads beyond those that search, for questions about rules and refusals."""
_SEED_BYTES: Final = 32
_TOO_LONG: Final = f"The question has more than {MOST_BYTES} bytes."
_AGAIN_S: Final = 1


class Refused(Exception):
    """One sentence about a question that gets no answer, and its status."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


class Play:
    """Games against the releases in a node's directory, whose pages' file is at `path`; `node` is its key.

    `draw` gives so many random bytes; `searches` have their places.
    """

    def __init__(
        self,
        home: Home,
        path: Path,
        node: bytes,
        searches: Searches | None = None,
        draw: Callable[[int], bytes] = os.urandom,
    ) -> None:
        self._home = home
        self._path = path
        self._node = node
        self._run = home.load_ticket().run
        self._searches = searches or Searches(searches_here())
        self._draw = draw
        self._shelf = Shelf(home.public)
        self._threads = trio.CapacityLimiter(self._searches.most + RULES_AT_ONCE)
        self._lock = threading.Lock()
        self._known: OrderedDict[bytes, Known] = OrderedDict()

    def page(self, db: sqlite3.Connection, request: Request) -> PlayPage | Moved:
        """What the page of a release shows; raises NotFound, StoreError."""
        text = request.path_params["name"]
        name = release_called(db, text)
        if text != name.hex():
            return Moved(f"/play/{name.hex()}")
        return play_page(self._find(db, name), self._shelf)

    async def answer(self, request: Request) -> Response:
        """The answer to a question."""
        try:
            question = Question.parse(await _body(request))
            head, found = await trio.to_thread.run_sync(
                self._answer,
                request.path_params["name"],
                question,
                getattr(request.state, ASKER, ""),
                abandon_on_cancel=True,
                limiter=self._threads,
            )
        except (Refused, Busy) as error:
            return _refusal(error.status, error)
        except (BadQuestion, CannotPlay, IllegalGame, NotFound) as error:
            return _refusal(_status(error), error)
        return JSONResponse({"seen": to_json(head), "answer": to_json(found)}, headers={"Cache-Control": "no-store"})

    def _answer(self, text: str, question: Question, asker: str) -> tuple[Seen, Answer]:
        try:
            with reading(self._path) as db:
                head = seen(db, self._node)
                if head is None:
                    raise Refused(503, "Nothing can be played yet: the log is being read.")
                known = self._find(db, release_called(db, text))
        except sqlite3.Error as error:
            raise Refused(503, "The pages' file cannot be read just now; ask again in a second.") from error
        reached = reach(rules_for(known.manifest.rules, question.size, question.komi_half), question.moves)
        if question.visits == 0 or reached.game.end:
            return head, answer_of(reached)
        with self._searches.place(asker):
            found = reply(known.partner(self._shelf), reached, question.visits, self._draw(_SEED_BYTES))
        return head, answer_of(found.reached, found, question.analysis)

    def _find(self, db: sqlite3.Connection, name: bytes) -> Known:
        """A release by its id; the last ones are remembered, for a release never changes."""
        with self._lock:
            known = self._known.get(name)
        if known is None:
            known = known_release(db, self._home, self._run, name)
        with self._lock:
            self._known[name] = known
            self._known.move_to_end(name)
            while len(self._known) > KNOWN:
                self._known.popitem(last=False)
        return known


async def _body(request: Request) -> bytes:
    """What was sent; raises Refused where it is no JSON, too long, or too slow."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise Refused(415, "The question has to be JSON, with Content-Type: application/json.")
    length = request.headers.get("content-length", "")
    if length.isdecimal() and int(length[:10]) > MOST_BYTES:
        raise Refused(413, _TOO_LONG)
    data = bytearray()
    with trio.move_on_after(BODY_WITHIN_S) as waiting:
        try:
            async with aclosing(request.stream()) as pieces:
                async for piece in pieces:
                    data += piece
                    if len(data) > MOST_BYTES:
                        raise Refused(413, _TOO_LONG)
        except ClientDisconnect:
            raise Refused(400, "The question came in part only.") from None
    if waiting.cancelled_caught:
        raise Refused(408, f"The question did not come within {BODY_WITHIN_S:.0f} seconds.")
    return bytes(data)


def _refusal(status: int, error: Exception) -> Response:
    headers = {"Cache-Control": "no-store"}
    if status in (429, 503):
        headers["Retry-After"] = str(_AGAIN_S)
    return JSONResponse({"error": str(error)}, status, headers)


def _status(error: ValueError | NotFound) -> int:
    if isinstance(error, NotFound | NotHere):
        return 404
    return 422 if isinstance(error, IllegalGame) else 400
