"""What pages offer as files: games, whole days of them, proofs, and which files of a release are here.

Page: docs/pages.md.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from sqlite3 import Connection
from typing import Any, Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, Response

from node.disk.home import Home
from node.web.answering import IMMUTABLE, SHOWN_ANEW
from node.web.game_sgf import SGF_TYPE, game_sgf
from node.web.games.days import END, DayFiles, day_of
from node.web.queries.bans import proof_bytes
from node.web.queries.game import game
from node.web.queries.releases import ReleaseAnswer

DAY_TYPE: Final = "application/zstd"


def sgf_file(public: Path) -> Callable[[Connection, bytes, Request], tuple[bytes, Mapping[str, str]]]:
    """A game's file."""

    def found(db: Connection, name: bytes, request: Request) -> tuple[bytes, Mapping[str, str]]:
        headers = {"Content-Type": SGF_TYPE, "Content-Disposition": f'attachment; filename="{name.hex()[:16]}.sgf"'}
        return game_sgf(game(db, public, name)), headers

    return found


def day_file(days: DayFiles) -> Callable[[Request], Response]:
    """A whole day's games, if they were put together."""

    def answer(request: Request) -> Response:
        name = request.path_params["name"]
        day = day_of(name.removesuffix(END)) if name.endswith(END) else None
        found = None if day is None else days.find(day)
        if day is None or found is None or not found.is_kept:
            raise HTTPException(404, "This day's games are in no file here; /dumps says which are.")
        headers = {"Cache-Control": SHOWN_ANEW, "ETag": f'"{found.sha256}"'}
        if found.sha256 in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        return FileResponse(days.path(day), headers=headers, media_type=DAY_TYPE, filename=name)

    return answer


def proof_file(db: Connection, name: bytes, request: Request) -> tuple[bytes, Mapping[str, str]]:
    """A proof, as whoever checks it takes it."""
    headers = {"Cache-Control": IMMUTABLE, "Content-Disposition": f'attachment; filename="{name.hex()[:16]}.proof"'}
    return proof_bytes(db, name), {**headers, "Content-Type": "application/octet-stream"}


def release_files(home: Home) -> Callable[[ReleaseAnswer, Request], Mapping[str, Any]]:
    """Which of a release's files are in the public folder, and how long each is."""

    def found(answer: ReleaseAnswer, request: Request) -> Mapping[str, Any]:
        here = {}
        for path in answer.files:
            with suppress(OSError):
                here[path] = (home.public / path).stat().st_size
        return {"here": here}

    return found
