"""A web server on loopback that shows files from memory, and does what a test tells it to for some of them."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

Answer = Callable[["Handler"], None]


class Server(ThreadingHTTPServer):
    """`files` by path; `answers` come before them, by path; `asked` are the paths of requests, in order."""

    daemon_threads = True

    def __init__(self, files: dict[str, bytes]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.files = files
        self.answers: dict[str, Answer] = {}
        self.asked: list[str] = []
        self.connections = 0

    @property
    def url(self) -> str:
        """Where its files are."""
        return f"http://127.0.0.1:{self.server_port}/"

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that went away."""


class Handler(BaseHTTPRequestHandler):
    """Answers requests of one connection."""

    protocol_version = "HTTP/1.1"
    server: Server

    def setup(self) -> None:
        super().setup()
        self.server.connections += 1

    def do_GET(self) -> None:
        path = self.path.removeprefix("/")
        self.server.asked.append(path)
        answer = self.server.answers.get(path)
        if answer is not None:
            answer(self)
        elif path in self.server.files:
            self.give(200, self.server.files[path])
        else:
            self.give(404, b"<h1>Not here</h1>")

    def give(self, status: int, body: bytes, **headers: str) -> None:
        """A whole answer."""
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Silent."""


def says(status: int, body: bytes = b"", **headers: str) -> Answer:
    """An answer that is always the same."""
    return lambda handler: handler.give(status, body, **headers)


@contextmanager
def web_server(files: dict[str, bytes]) -> Iterator[Server]:
    """A server that runs while the block does."""
    with Server(files) as server:
        thread = threading.Thread(target=server.serve_forever, args=[0.01])
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
