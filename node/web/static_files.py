"""Styles, modules and icon, from memory: `Static`.

Page: docs/pages.md. Invariant: what is asked for by the digest of all files never changes, so that a browser keeps it;
without one it asks each time.
"""

import mimetypes
from hashlib import sha256
from importlib.resources import files
from typing import Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from node.web.answering import IMMUTABLE, SHOWN_ANEW
from node.web.site import files_below

DIGITS: Final = 12


class Static:
    """The files; `base` is the path that pages name them below."""

    def __init__(self) -> None:
        self._known = dict(files_below(files("node.web").joinpath("static")))
        whole = sha256()
        for path, data in sorted(self._known.items()):
            whole.update(path.encode() + bytes(1) + sha256(data).digest())
        self._digest = whole.hexdigest()[:DIGITS]
        self.base = f"/static/{self._digest}"

    def answer(self, request: Request) -> Response:
        """One file; raises HTTPException."""
        asked: str = request.path_params["path"]
        path = asked.removeprefix(f"{self._digest}/")
        if path not in self._known:
            raise HTTPException(404)
        kind = "text/javascript" if path.endswith(".js") else mimetypes.guess_type(path)[0]
        headers = {"Cache-Control": SHOWN_ANEW if path == asked else IMMUTABLE}
        return Response(self._known[path], 200, headers, kind or "application/octet-stream")
