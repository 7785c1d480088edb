"""Fewer system calls a byte in py-libp2p 0.8.1, which asks the kernel for two bytes of length, and then for a message.

Spec: docs/spec/swarm.md ("Hardening"). Nothing here changes what travels. It touches private names, as
`node.peering.libp2p.mends.hardening` does, which calls it. Windows and frames: `node.peering.libp2p.mends.yamux`.
"""

import socket
from contextlib import suppress
from typing import Any, Final

RECEIVE_BYTES: Final = 256 << 10
"""What is taken from the kernel at once."""

PATIENT_BYTES: Final = 4 << 10
"""A reader that needs at least so many is woken when they are there."""

MAX_NOISE_BYTES: Final = 65_535
_LENGTH_BYTES: Final = 2


def quicken() -> None:
    """Mends the library, once a process."""
    _read_ahead()
    _write_at_once()


def _read_ahead() -> None:
    """A TCP stream takes all there is from the kernel, gives it away in pieces, and waits for as much as is needed.

    Over a slow line a message of 64 KiB comes in some forty segments; its reader needs it whole.
    """
    from libp2p.io.trio import TrioTCPStream

    receive = TrioTCPStream.read

    async def read(self: Any, n: int | None = None) -> bytes:
        ahead: memoryview = getattr(self, "_ahead", memoryview(b""))
        if not ahead and n != 0:
            _wake_at(self, n if n is not None and n >= PATIENT_BYTES else 1)
            ahead = memoryview(await receive(self, max(n or 0, RECEIVE_BYTES)))
        size = len(ahead) if n is None else n
        self._ahead = ahead[size:]
        return bytes(ahead[:size])

    vars_of: Any = TrioTCPStream
    vars_of.read = read


def _wake_at(stream: Any, size: int) -> None:
    """Has the kernel tell of bytes on a stream once there are so many, or its end."""
    if getattr(stream, "_wakes_at", 1) != size:
        stream._wakes_at = size
        with suppress(OSError):
            stream.stream.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, min(size, MAX_NOISE_BYTES))


def _write_at_once() -> None:
    """The Noise messages of one write go to the kernel together."""
    from libp2p.security.noise.io import MAX_PLAINTEXT_LENGTH, NoiseTransportReadWriter

    async def write_msg(self: Any, msg: bytes, prefix_encoded: bool = False) -> None:
        parts = []
        for at in range(0, len(msg), MAX_PLAINTEXT_LENGTH):
            sealed = self.encrypt(msg[at : at + MAX_PLAINTEXT_LENGTH])
            if prefix_encoded and at == 0:
                sealed = self.prefix + sealed
            parts += [len(sealed).to_bytes(_LENGTH_BYTES, "big"), sealed]
        await self.read_writer.read_write_closer.write(b"".join(parts))

    writer: Any = NoiseTransportReadWriter
    writer.write_msg = write_msg
