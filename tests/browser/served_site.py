"""The audit page served from memory, so that a test can change its folder, and see what was asked for. For tests."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import PurePosixPath

from node.web.site import FOLDER, Site
from protocol.layout import BLOBS

TYPES = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}


class ServedSite:
    """The page, and below `public/` whatever `public` holds now; `asked` are the paths of all requests."""

    def __init__(self, url: str, run: bytes | None) -> None:
        self.url = url
        self.pages = Site(run=run).files()
        self.public: dict[str, bytes] = {}
        self.asked: list[str] = []

    def show(self, public: Mapping[str, bytes]) -> None:
        """Serves this public folder, but for its blobs, from now on."""
        self.public = {path: data for path, data in public.items() if not path.startswith(f"{BLOBS}/")}

    def find(self, path: str) -> bytes | None:
        """The file at a path of the URL."""
        self.asked.append(path)
        path = path.partition("?")[0].removeprefix("/") or "index.html"
        return self.public.get(path.removeprefix(FOLDER)) if path.startswith(FOLDER) else self.pages.get(path)


@contextmanager
def served(run: bytes | None = None) -> Iterator[ServedSite]:
    """A site at a port of this machine while the block runs."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            data = site.find(self.path)
            self.send_response(404 if data is None else 200)
            suffix = PurePosixPath(self.path.partition("?")[0]).suffix or (
                ".html" if self.path[:2] in ("/", "/?") else ""
            )
            self.send_header("Content-Type", TYPES.get(suffix, "application/octet-stream"))
            self.send_header("Content-Length", str(len(data or b"")))
            self.end_headers()
            self.wfile.write(data or b"")

        def log_message(self, format: str, *args: object) -> None:
            """Says nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        site = ServedSite(f"http://127.0.0.1:{server.server_port}/", run)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield site
        finally:
            server.shutdown()
            thread.join()
