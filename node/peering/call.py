"""Small request and response over one stream.

Spec: docs/spec/wire.md ("Calls"). A request is one frame; the reply is one frame whose first byte is 0 before an
answer or 1 before a refusal: a sentence in UTF-8. Both sides have deadlines and size limits.
"""

from collections.abc import Awaitable, Callable
from typing import Final

import trio

from node.peering.transport import MAX_FRAME, PeerGone, Stream, Timeout, Transport, short
from protocol.errors import ProtocolError

CallHandler = Callable[[bytes, bytes], Awaitable[bytes]]
"""Answers one request: (key of the caller, request) -> answer."""

MAX_REFUSAL: Final = 1000
"""The most characters of a refusal that travel."""

_ANSWER: Final = b"\0"
_REFUSAL: Final = b"\1"


class CallRefused(Exception):
    """The peer answered with a refusal; the message is its sentence."""


async def call(
    transport: Transport,
    peer: bytes,
    protocol: str,
    request: bytes,
    *,
    timeout_s: float = 20,
    max_bytes: int = MAX_FRAME,
) -> bytes:
    """The answer of `peer`, at most `max_bytes`; raises CallRefused, or a TransportError, Timeout after `timeout_s`."""
    try:
        with trio.fail_after(timeout_s):
            stream = await transport.open(peer, protocol)
            try:
                await stream.send(request)
                reply = await stream.receive(min(max_bytes + 1, MAX_FRAME))
            finally:
                with trio.move_on_after(1, shield=True):
                    await stream.close()
    except trio.TooSlowError as error:
        raise Timeout(f"Peer {short(peer)} did not answer {protocol} within {timeout_s:g} s.") from error
    match reply[:1]:
        case b"\0":
            return reply[1:]
        case b"\1":
            raise CallRefused(_sentence(reply[1:].decode("utf-8", "replace")))
    raise PeerGone(f"Peer {short(peer)} gave a reply to {protocol} that is no reply.")


def serve_calls(
    transport: Transport,
    protocol: str,
    handler: CallHandler,
    *,
    timeout_s: float = 60,
    max_bytes: int = MAX_FRAME,
) -> None:
    """Has `handler` answer calls of `protocol` with requests of at most `max_bytes`, each within `timeout_s`.

    A CallRefused or ProtocolError from `handler` travels as a refusal; any other exception resets the stream.
    """

    async def serve(stream: Stream) -> None:
        with trio.move_on_after(timeout_s):
            request = await stream.receive(max_bytes)
            try:
                reply = _ANSWER + await handler(stream.peer, request)
            except (CallRefused, ProtocolError) as error:
                reply = _REFUSAL + _sentence(str(error)).encode()
            await stream.send(reply)

    transport.serve(protocol, serve)


def _sentence(text: str) -> str:
    """`text` as one printable line of bounded length."""
    line = "".join(letter if letter.isprintable() else " " for letter in text[:MAX_REFUSAL])
    return line.encode("utf-8", "replace").decode()
