"""What a fuzzer of the network feeds, and the streams through which it does."""

import random
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any
from zlib import crc32

from libp2p.connection_types import ConnectionType
from libp2p.peer.id import ID

from node.peering.transport import peer_id
from protocol import codec
from protocol.ed25519 import SecretKey
from protocol.envelope import Envelope, seal
from tests.fuzz.mutation import mutate, mutate_record

Change = Callable[[random.Random, bytes, bytes], bytes]
"""Makes an input of a valid one, and of another one that may be spliced in."""


@dataclass(frozen=True, slots=True)
class Reader:
    """Something in `node/` that reads foreign bytes.

    `take` gives whether it took them, and raises one of `errors` where it refuses them that way; it raises AssertionError
    for what must not be. Each of `seeds` is taken. It has a turn in one round of `every`.
    """

    name: str
    take: Callable[[bytes], Awaitable[bool]]
    seeds: tuple[bytes, ...]
    errors: tuple[type[Exception], ...] = ()
    change: Change = mutate
    every: int = 1


def mutate_fields(rng: random.Random, data: bytes, other: bytes) -> bytes:
    """`data`, a canonical map, with its values changed, so that it stays canonical; bytes are changed now and then."""
    return (mutate_record if rng.random() < 0.7 else mutate)(rng, data, other)


def mutate_reply(rng: random.Random, data: bytes, other: bytes) -> bytes:
    """`data`, a byte before a map or other bytes, changed behind that byte, or anywhere now and then."""
    return mutate(rng, data, other) if rng.random() < 0.2 else data[:1] + mutate_fields(rng, data[1:], other)


def mutate_signed(secrets: Iterable[SecretKey]) -> Change:
    """Changes the record in an envelope, which may lie in a map, and signs it anew with the keys that signed it."""
    by_key = {secret.public: secret for secret in secrets}

    def reseal(rng: random.Random, data: bytes, other: bytes) -> bytes:
        envelope = Envelope.parse(data)
        payload = mutate_record(rng, envelope.payload, other)
        return seal(envelope.type, payload, *(by_key[key] for key in envelope.signers)).encode()

    def change(rng: random.Random, data: bytes, other: bytes) -> bytes:
        if rng.random() < 0.3:
            return mutate_fields(rng, data, other)
        match codec.decode(data, len(data)):
            case {"envelope": bytes(inner), **rest}:
                return codec.encode({**rest, "envelope": reseal(rng, inner, other)})
            case {"share": bytes(inner), **rest}:
                return codec.encode({**rest, "share": reseal(rng, inner, other)})
        return reseal(rng, data, other)

    return change


def pieces(data: bytes) -> list[bytes]:
    """`data` as one piece or as many, which follows from the data."""
    sign = crc32(data)
    size = len(data) if sign & 1 else 1 + sign % 97
    return [data[at : at + size] for at in range(0, len(data), size or 1)]


class Pipe:
    """As much of a libp2p stream, or of a connection, as a reader needs, with these bytes in it."""

    def __init__(self, data: bytes, peer: bytes = bytes(32), host: str = "192.0.2.7") -> None:
        self.unread = pieces(data)
        self.written = bytearray()
        self.muxed_stream = SimpleNamespace(grows=True)
        self.muxed_conn: Any = SimpleNamespace(
            peer_id=ID.from_base58(peer_id(peer)),
            get_connection_type=lambda: ConnectionType.DIRECT,
            get_remote_address=lambda: (host, 4001),
        )

    async def read(self, n: int | None = None) -> bytes:
        if not self.unread or n == 0:
            return b""
        piece = self.unread.pop(0)
        if n is not None and len(piece) > n:
            self.unread.insert(0, piece[n:])
            return piece[:n]
        return piece

    async def write(self, data: bytes) -> None:
        self.written += data

    async def close(self) -> None:
        self.unread.clear()

    close_write = reset = close

    def get_remote_address(self) -> tuple[str, int]:
        return "192.0.2.7", 4001
