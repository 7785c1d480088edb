"""From a question to an answer: one look at the pages' file, then HTML or JSON, or a sentence about why not.

Page: docs/pages.md. HTML at `/x`, JSON at `/api/v1/x`, same path and query. Invariants: an answer says which head of the log
it speaks for, and its tag is that log's size and root, the node, and which games are here; a tag that the asker has already
costs no query; a file that cannot be read is no mistake of the server's, but a thing to wait for.
"""

import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response

from node.disk.store import StoreError
from node.web.faults import Faults
from node.web.games import schema as games
from node.web.guard import FILES
from node.web.model.schema import reading
from node.web.queries.records import BadQuestion, NotFound, to_json
from node.web.queries.seen import Seen, seen
from node.web.rendering import environment, render

API: Final = "/api/v1"
SHOWN_ANEW: Final = "no-cache"
IMMUTABLE: Final = "public, max-age=31536000, immutable"
UNREADABLE: Final = (sqlite3.Error, StoreError)
"""What asking ends in where `pages.db`, `games.db` or `node.db` is damaged, or just then made anew."""
_AGAIN_S: Final = 5

Ask = Callable[[sqlite3.Connection, Request], Any]
"""What a page asks of `pages.db`, beside which the games are `here`; gives a frozen record, or a `Moved`."""


@dataclass(frozen=True, slots=True)
class Moved:
    """What was asked for has its whole name elsewhere, below the site's first path."""

    path: str


FileAsk = Callable[[sqlite3.Connection, Request], tuple[bytes, Mapping[str, str]] | Moved]
"""What a file is made of; gives its bytes and headers, or a `Moved`."""


class Desk:
    """Answers from the file at `path`, for the node with `node` as its key; styles and modules are below `static`."""

    def __init__(self, path: Path, node: bytes, version: str, static: str, faults: Faults) -> None:
        self._path = path
        self._faults = faults
        self._node = node
        self._version = version
        self._static = static
        self._templates = environment()

    def page(self, template: str, ask: Ask, more: Callable[[Any, Request], Mapping[str, Any]] | None = None) -> Any:
        """The endpoint of a page: `more` are values that its template alone needs."""

        def answer(request: Request) -> Response:
            is_json = request.url.path.startswith(API)
            if not self._path.is_file():
                return self._nothing_yet(request, is_json)
            with self._looking() as db:
                head = seen(db, self._node)
                if head is None:
                    return self._nothing_yet(request, is_json)
                tag = self._tag(db, head)
                headers = {"ETag": f"W/{tag}", "Cache-Control": SHOWN_ANEW}
                if tag in request.headers.get("if-none-match", ""):
                    return Response(status_code=304, headers=headers)
                found = _asked(ask, db, request)
            if isinstance(found, Moved):
                query = f"?{request.url.query}" if request.url.query else ""
                return RedirectResponse((API if is_json else "") + found.path + query, 302)
            if is_json:
                return JSONResponse({"seen": to_json(head), "answer": to_json(found)}, headers=headers)
            values = {} if more is None else more(found, request)
            return self._html(template, request, head, 200, headers, page=found, **values)

        return answer

    def live_page(
        self, template: str, ask: Ask, more: Callable[[Any, Request], Mapping[str, Any]] | None = None
    ) -> Any:
        """The endpoint of a page that changes without the log: it has no tag."""
        answer = self.page(template, ask, more)

        def untagged(request: Request) -> Response:
            response: Response = answer(request)
            if "etag" in response.headers:
                del response.headers["ETag"]
                response.headers["Cache-Control"] = "no-store"
            return response

        return untagged

    def refused(self, request: Request, error: Exception) -> Response:
        """A page about an error, or its JSON; a file that cannot be read is told of."""
        status = _status(error)
        sentence = _sentence(status, error)
        headers = {"Cache-Control": "no-store"}
        if isinstance(error, UNREADABLE):
            self._faults.note(f"A page waits for its file: {error}.")
            headers["Retry-After"] = str(_AGAIN_S)
        if request.url.path.startswith(API):
            return JSONResponse({"error": sentence}, status, headers)
        if request.url.path.startswith(FILES):
            return PlainTextResponse(f"{sentence}\n", status, headers)  # no database for what counts for nothing
        try:
            with self._looking() as db:
                head = seen(db, self._node)
        except sqlite3.Error:
            head = None  # the file is being made anew
        return self._html("fault.html", request, head, status, headers, sentence=sentence, status=status)

    def file(self, ask: FileAsk) -> Any:
        """The endpoint of a file that is made of what the log and the games here say: `ask` gives its bytes and headers."""

        def answer(request: Request) -> Response:
            if not self._path.is_file():
                return self._nothing_yet(request, False)
            with self._looking() as db:
                head = seen(db, self._node)
                if head is None:
                    return self._nothing_yet(request, False)
                headers = {"ETag": f"W/{self._tag(db, head)}", "Cache-Control": SHOWN_ANEW}
                if headers["ETag"] in request.headers.get("if-none-match", ""):
                    return Response(status_code=304, headers=headers)
                found = _asked(ask, db, request)
            if isinstance(found, Moved):
                return RedirectResponse(found.path, 302)
            data, more = found
            return Response(data, 200, {**headers, **more})

        return answer

    @contextmanager
    def _looking(self) -> Iterator[sqlite3.Connection]:
        with reading(self._path) as db:
            games.put_beside(db, self._path.with_name(games.NAME))
            yield db

    def _tag(self, db: sqlite3.Connection, head: Seen) -> str:
        (generation,) = db.execute(f"SELECT coalesce(max(generation), 0) FROM {games.BESIDE}.run").fetchone()
        return f'"{head.log_size}-{head.log_root.hex()[:16]}-{self._node.hex()[:16]}-{generation}-{self._version}"'

    def _nothing_yet(self, request: Request, is_json: bool) -> Response:
        sentence = (
            "Nothing can be shown yet: the log is being read, or enough witnesses have not cosigned any of it so far. "
            "Look again in a few seconds."
        )
        headers = {"Retry-After": str(_AGAIN_S), "Cache-Control": "no-store"}
        if is_json:
            return JSONResponse({"error": sentence}, 503, headers)
        return self._html("fault.html", request, None, 503, headers, sentence=sentence, status=503)

    def _html(
        self, template: str, request: Request, head: Seen | None, code: int, headers: Mapping[str, str], **values: Any
    ) -> Response:
        found = {"seen": head, "path": request.url.path, "query": dict(request.query_params), "version": self._version}
        found["static"] = self._static
        text = render(self._templates, template, {**found, **values})
        return Response(text, code, dict(headers), "text/html; charset=utf-8")


def _asked(ask: Ask, db: sqlite3.Connection, request: Request) -> Any:
    try:
        return ask(db, request)
    except NotFound as error:
        raise HTTPException(404, str(error)) from error
    except BadQuestion as error:
        raise HTTPException(400, str(error)) from error
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode == sqlite3.SQLITE_INTERRUPT:
            raise HTTPException(503, "This answer takes too long to find; ask for less.") from error
        raise


def _status(error: Exception) -> int:
    if isinstance(error, UNREADABLE):
        return 503
    return error.status_code if isinstance(error, HTTPException) else 500


def _sentence(status: int, error: Exception) -> str:
    if isinstance(error, UNREADABLE):
        return "What this page is made of is damaged, or being made anew. Look again in a few seconds."
    if status == 404 and getattr(error, "detail", "") == "Not Found":
        return "There is no such page."
    if status == 405:
        return "Pages are only read here: GET and HEAD."
    return str(error.detail) if isinstance(error, HTTPException) else "This server made a mistake; its log says which."
