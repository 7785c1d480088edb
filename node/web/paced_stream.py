"""A connection whose other side has to read: `PacedStream`.

Page: docs/pages.md. Invariant: who takes no piece of an answer within PIECE_WITHIN_S is given up, and all that is done for
it with it.
"""

from typing import Final

import trio

PIECE_BYTES: Final = 1 << 16
PIECE_WITHIN_S: Final = 20.0


class PacedStream:
    """A stream as Hypercorn uses one; `scope` is cancelled once nobody is there to be answered."""

    def __init__(self, stream: trio.SocketStream, scope: trio.CancelScope) -> None:
        self._stream = stream
        self._scope = scope

    @property
    def socket(self) -> trio.socket.SocketType:
        """The socket, for its addresses."""
        return self._stream.socket

    async def receive_some(self, most_bytes: int) -> bytes | bytearray:
        """What came; nothing at its end."""
        return await self._stream.receive_some(most_bytes)

    async def send_all(self, data: bytes) -> None:
        """Sends in pieces; raises trio.BrokenResourceError or trio.ClosedResourceError."""
        try:
            for start in range(0, len(data), PIECE_BYTES):
                with trio.fail_after(PIECE_WITHIN_S):
                    await self._stream.send_all(data[start : start + PIECE_BYTES])
        except (trio.TooSlowError, trio.BrokenResourceError, trio.ClosedResourceError) as error:
            self._scope.cancel()
            raise trio.BrokenResourceError("Nobody takes this answer.") from error

    async def send_eof(self) -> None:
        """Says that nothing more is sent."""
        await self._stream.send_eof()

    async def aclose(self) -> None:
        """Closes it."""
        await self._stream.aclose()
