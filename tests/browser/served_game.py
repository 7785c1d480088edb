"""The page of one made-up game, and a board to play on, served with the headers of `gonode web`. For tests."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from node.web.guard import HEADERS
from node.web.rendering import environment, render
from tests.browser.made_game import MadeGame, as_json
from tests.browser.programs import STATIC

TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".sgf": "application/x-go-sgf"}
HTML = "text/html; charset=utf-8"
TRIAL = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1"><title>Board</title>
<link rel="icon" href="/static/icon.svg">
<link rel="stylesheet" href="/static/page.css"><link rel="stylesheet" href="/static/vendor/shudan/goban.css">
<link rel="stylesheet" href="/static/board.css"><script type="module" src="/board_trial.js"></script></head>
<body><main><h1>Board</h1><div id="room"></div><p id="played">Played:</p></main></body></html>
"""


class ServedGame:
    """What is at which path; `game` may be changed."""

    def __init__(self, game: MadeGame) -> None:
        self.game = game
        self.url = ""

    @property
    def path(self) -> str:
        """Where the game's page is."""
        return f"/games/{self.game.hash.hex()}"

    def find(self, path: str) -> tuple[bytes, str] | None:
        """What a path gives, and of what type it is."""
        if path == self.path:
            return self._page().encode(), HTML
        if path == f"/api/v1{self.path}":
            return json.dumps({"seen": None, "answer": as_json(self.game)}).encode(), "application/json"
        if path == f"{self.path}.sgf":
            return b"(;FF[4])", TYPES[".sgf"]
        if path == "/board":
            return TRIAL.encode(), HTML
        file = Path(__file__).with_name("board_trial.js") if path == "/board_trial.js" else STATIC / path[8:]
        if file.is_file() and (path.startswith("/static/") or path == "/board_trial.js"):
            return file.read_bytes(), TYPES[file.suffix]
        return None

    def _page(self) -> str:
        values: dict[str, Any] = {
            "seen": None,
            "path": self.path,
            "query": {},
            "version": "0",
            "static": "/static",
            "page": self.game,
        }
        return render(environment(), "game.html", values)


@contextmanager
def served_game(game: MadeGame) -> Iterator[ServedGame]:
    """A server at a port of this machine while the block runs."""
    site = ServedGame(game)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = site.find(self.path.partition("?")[0])
            data, kind = found or (b"", "text/plain")
            self.send_response(200 if found else 404)
            for name, value in {**HEADERS, "Content-Type": kind, "Content-Length": str(len(data))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: object) -> None:
            """Says nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        site.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield site
        finally:
            server.shutdown()
            thread.join()
