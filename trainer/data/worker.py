"""What a worker of `trainer.data.crew` runs: `python -m trainer.data.worker DESCRIPTOR`.

The descriptor is a socket: a pickled task comes first, then items, and each gets its result. It ends when the other side
closes, whatever ended that. Both sides are one program on one machine; nothing foreign is unpickled.
"""

from __future__ import annotations

import signal
import sys
from multiprocessing.connection import Connection


def serve(connection: Connection) -> None:
    """Does the task for items until the other side closes."""
    with connection:
        try:
            task = connection.recv()
            while True:
                connection.send(task(connection.recv()))
        except (EOFError, BrokenPipeError, ConnectionResetError):
            return


def main(descriptor: str) -> None:
    """Serves the socket with this number. Whoever started the trainer ends it, and it ends its workers."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    serve(Connection(int(descriptor)))


if __name__ == "__main__":
    main(sys.argv[1])
