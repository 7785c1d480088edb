"""What both ends of a circuit and the relay between them share: messages, statuses, and a stream as a connection.

Spec: docs/spec/swarm.md ("Relay"); libp2p's circuit relay v2. py-libp2p's own relay keeps one pair of streams for each peer,
writes statuses into the middle of relayed bytes and takes reservations in the name of others, so only its message types
are used. Messages are read under a deadline and up to MAX_MESSAGE bytes; whatever is wrong with one is a CircuitError.
"""

from enum import IntEnum
from typing import Any, Final, TypeVar

import trio
from libp2p.connection_types import ConnectionType
from libp2p.io.abc import ReadWriteCloser
from libp2p.io.exceptions import ConnectionClosedError
from libp2p.network.stream.exceptions import StreamEOF
from libp2p.utils.varint import encode_varint_prefixed, read_varint_prefixed_bytes_limited

from node.peering.transport import id_key

HOP: Final = "/libp2p/circuit/relay/0.2.0/hop"
STOP: Final = "/libp2p/circuit/relay/0.2.0/stop"

MAX_MESSAGE: Final = 4096
MESSAGE_S: Final = 10.0
"""The time that one message may take."""

Message = TypeVar("Message")


class Status(IntEnum):
    """What a relay or the far end answers."""

    OK = 100
    RESERVATION_REFUSED = 200
    RESOURCE_LIMIT_EXCEEDED = 201
    PERMISSION_DENIED = 202
    CONNECTION_FAILED = 203
    NO_RESERVATION = 204
    MALFORMED_MESSAGE = 400
    UNEXPECTED_MESSAGE = 401


class CircuitError(Exception):
    """A message that did not come, or is none; the text is a part of a sentence."""


async def read_message(stream: Any, kind: type[Message]) -> Message:
    """The next message on `stream`, within MESSAGE_S; raises CircuitError."""
    with trio.move_on_after(MESSAGE_S):
        message = kind()
        try:
            data = await read_varint_prefixed_bytes_limited(stream, MAX_MESSAGE)
            message.ParseFromString(data)  # type: ignore[attr-defined]
        except Exception as error:
            raise CircuitError(f"no message came ({error or type(error).__name__})") from error
        return message
    raise CircuitError(f"no message came within {MESSAGE_S:g} s")


async def write_message(stream: Any, message: Any) -> None:
    """Sends `message`, within MESSAGE_S; raises CircuitError."""
    with trio.move_on_after(MESSAGE_S):
        try:
            await stream.write(encode_varint_prefixed(message.SerializeToString()))
        except Exception as error:
            raise CircuitError(f"a message could not be sent ({error or type(error).__name__})") from error
        return
    raise CircuitError(f"a message was not taken within {MESSAGE_S:g} s")


async def read_bytes(stream: Any, size: int) -> bytes:
    """Up to `size` bytes of a libp2p stream; empty at its end. Raises ConnectionClosedError when it was reset."""
    try:
        return bytes(await stream.read(size))
    except StreamEOF:
        return b""
    except Exception as error:
        raise ConnectionClosedError(f"The circuit has ended: {error}.", transport="circuit") from error


async def drop(stream: Any) -> None:
    """Resets a stream; never raises."""
    with trio.move_on_after(1, shield=True):
        try:
            await stream.reset()
        except Exception:
            return


def remote_key(stream: Any) -> bytes | None:
    """The key of the other side of a stream; None when it has none of this network."""
    return id_key(stream.muxed_conn.peer_id.to_bytes())


def is_relayed(stream: Any) -> bool:
    """Whether a stream runs in a circuit itself."""
    return is_circuit(stream.muxed_conn)


def is_circuit(muxed: Any) -> bool:
    """Whether a multiplexed connection runs in a circuit."""
    return bool(muxed.get_connection_type() == ConnectionType.RELAYED)


def direct_connection(host: Any, peer: Any) -> Any:
    """The open connection to a peer (an ID) that runs in no circuit; None without one."""
    connections = host.get_network().connections.get(peer, ())
    return next((each for each in connections if not each.is_closed and not is_circuit(each.muxed_conn)), None)


class CircuitStream(ReadWriteCloser):
    """A stream to a relay, joined there to another one, as the bytes of a connection.

    For quotas its address is the relay's name, so that all circuits through one relay count as one address's.
    """

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    async def read(self, n: int | None = None) -> bytes:
        """Up to `n` bytes; empty at the end. Raises ConnectionClosedError."""
        return await read_bytes(self._stream, 65536 if n is None else n)

    async def write(self, data: bytes) -> None:
        """Sends `data`; raises ConnectionClosedError."""
        try:
            await self._stream.write(data)
        except Exception as error:
            raise ConnectionClosedError(f"The circuit has ended: {error}.", transport="circuit") from error

    async def close(self) -> None:
        """Ends the circuit."""
        await drop(self._stream)

    def get_remote_address(self) -> tuple[str, int] | None:
        return f"circuit of {self._stream.muxed_conn.peer_id}", 0
