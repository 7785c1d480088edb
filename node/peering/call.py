"""Small request and response over one stream.

Spec: docs/spec/wire.md ("Calls"). A request is one frame; the reply is one frame whose first byte is 0 before an
answer or 1 before a refusal: a sentence in UTF-8. Both sides have deadlines and size limits. A request that is none
counts against its sender.
"""

from collections.abc import Awaitable, Callable
from typing import Final

import trio

from node.peering.transport import MAX_FRAME, Misdeed, PeerGone, Stream, Timeout, Transport, short
from protocol import codec
from protocol.errors import NotCanonical, ParseError, ProtocolError, TooLarge

CallHandler = Callable[[bytes, bytes], Awaitable[bytes]]
"""Answers one request: (key of the caller, request) -> answer."""

MAX_REFUSAL: Final = 1000
"""The most characters of a refusal that travel."""

_MOST_NAMED: Final = 1024
_ANSWER: Final = b"\0"
_REFUSAL: Final = b"\1"


class CallRefused(Exception):
    """The peer answered with a refusal; the message is its sentence."""


class Malformed(CallRefused):
    """The request has no form of its protocol."""


_OF_FORM: Final = (Malformed, NotCanonical, ParseError, TooLarge)


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
        with trio.fail_after(timeout_s), transport.waits.waiting(peer, _awaited(protocol, request)):
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
            reason = _sentence(reply[1:].decode("utf-8", "replace"))
            raise CallRefused(reason if reason.strip() else f"Peer {short(peer)} refused and gave no reason.")
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
            await stream.send(await reply_to(transport, stream.peer, handler(stream.peer, request)))

    transport.serve(protocol, serve)


async def reply_to(transport: Transport, peer: bytes, answering: Awaitable[bytes]) -> bytes:
    """The reply to a request of `peer`: its answer, or the refusal that a CallRefused or ProtocolError says.

    When that is about the request's form, the peer is complained of.
    """
    try:
        return _ANSWER + await answering
    except (CallRefused, ProtocolError) as error:
        if isinstance(error, _OF_FORM):
            transport.complain(peer, Misdeed.MALFORMED)
        return _REFUSAL + _sentence(str(error)).encode()


def _awaited(protocol: str, request: bytes) -> str:
    """What a call waits for: the protocol, and the operation where a small request names one."""
    try:
        match codec.decode(request, _MOST_NAMED) if len(request) <= _MOST_NAMED else None:
            case {"op": str(op)}:
                return f"{protocol} ({op})"
    except ProtocolError:
        pass
    return protocol


def _sentence(text: str) -> str:
    """`text` as one printable line of bounded length."""
    line = "".join(letter if letter.isprintable() else " " for letter in text[:MAX_REFUSAL])
    return line.encode("utf-8", "replace").decode()
