"""Sockets between the processes of a group on one machine, for the many small messages of a step: `Lines`.

A norm tells a few hundred numbers each way. Over gloo that wakes four threads and takes longer than the norm; over a
socket of one's own it takes a fifth of that. The sockets lie in a folder that is private to the group. Messages of one
process to another arrive in order, and all call `exchange` in the same order.
"""

from __future__ import annotations

import socket
from collections.abc import Sequence
from pathlib import Path
from typing import Final

MOST_BYTES: Final = 1 << 16
"""A message that a socket takes whole before the other side reads."""
_PATH_MOST: Final = 100


class Lines:
    """One socket to each other process."""

    def __init__(self, rank: int, sockets: Sequence[socket.socket | None]) -> None:
        """`sockets` by rank, None at one's own."""
        self._rank, self._sockets = rank, sockets

    @classmethod
    def is_possible(cls, folder: Path, size: int) -> bool:
        """Whether sockets may have names in `folder`: systems limit their length."""
        return len(str(cls._place(folder, size))) <= _PATH_MOST

    @staticmethod
    def _place(folder: Path, rank: int) -> Path:
        return folder / f"line-{rank}"

    @classmethod
    def listen(cls, folder: Path, rank: int) -> socket.socket:
        """What the others connect to; every process has to before any connects."""
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(cls._place(folder, rank)))
        listener.listen()
        return listener

    @classmethod
    def connect(cls, folder: Path, rank: int, size: int, listener: socket.socket, timeout_s: float) -> Lines:
        """Lines to the lower ranks, then from the higher ones; raises OSError."""
        sockets: list[socket.socket | None] = [None] * size
        for lower in range(rank):
            line = sockets[lower] = socket.socket(socket.AF_UNIX)
            line.settimeout(timeout_s)
            line.connect(str(cls._place(folder, lower)))
            line.sendall(rank.to_bytes(2, "little"))
        listener.settimeout(timeout_s)
        for _ in range(rank + 1, size):
            line, _ = listener.accept()
            line.settimeout(timeout_s)
            sockets[int.from_bytes(_receive(line, 2), "little")] = line
        listener.close()
        for line in filter(None, sockets):
            line.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 * MOST_BYTES)
        return cls(rank, sockets)

    def exchange(self, mine: bytes) -> list[bytes]:
        """Every process' message, all of one length, at most MOST_BYTES, by rank; raises OSError or EOFError."""
        for line in filter(None, self._sockets):
            line.sendall(mine)
        return [mine if line is None else _receive(line, len(mine)) for line in self._sockets]

    def close(self) -> None:
        """Ends all lines."""
        for line in filter(None, self._sockets):
            line.close()


def _receive(line: socket.socket, length: int) -> bytes:
    content = bytearray(length)
    rest = memoryview(content)
    while rest:
        count = line.recv_into(rest)
        if not count:
            raise EOFError("the other process closed its line")
        rest = rest[count:]
    return bytes(content)
