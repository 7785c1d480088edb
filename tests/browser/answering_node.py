"""A socket that answers as a running node does, with one status, and nothing else of a node. For tests."""

import json
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from node.disk.home import Home
from node.status import Status


@contextmanager
def answering(home: Home, status: Status) -> Iterator[None]:
    """Whoever asks the node of this directory, while the block runs, hears `status`."""
    answer = json.dumps(status.to_json()).encode() + b"\n"

    class Answer(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            assert self.rfile.readline() == b"status\n"
            self.wfile.write(answer)

    home.control.unlink(missing_ok=True)
    with socketserver.ThreadingUnixStreamServer(str(home.control), Answer) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield
        finally:
            server.shutdown()
            thread.join()
            home.control.unlink(missing_ok=True)
