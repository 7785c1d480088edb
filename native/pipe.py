"""The frames between a node and the process that plays for it: what each side says, as bytes and as records.

Spec: docs/spec/pipe.md. A node sends orders, an engine sends answers; a frame is u32 little-endian length and that many
bytes, one msgpack array. Invariants: a record that is made can be sent; `parse_order` and `parse_answer` take exactly the
bytes that `encode` gives, and raise PipeError for all others. Reading and writing of streams is all the I/O here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any, BinaryIO, ClassVar, Self, TypeVar

import msgpack  # type: ignore[import-untyped]

from native.pipe_error import PipeError, array_of, verify_bytes, verify_number, verify_text
from native.pipe_job import PipeJob
from native.pool import Done
from native.search import DIGEST_BYTES

VERSION = 2
MAX_FRAME_BYTES = 1 << 27
"""Above every network's file and every game's block."""

CANARY_OF_LIFE = 0
"""The number of the canaries that begin and end each life of an engine."""

LENGTH_BYTES = 4
MAX_SENTENCE = 1000
MAX_NAME = 64
MAX_THREADS = 1024
DONE_ITEMS = 8


@dataclass(frozen=True, slots=True)
class Frame:
    """What all frames share; a frame's items are its fields in their order."""

    KIND: ClassVar[str]

    def items(self) -> list[Any]:
        """The items behind the kind, as msgpack takes them."""
        return [getattr(self, field.name) for field in fields(self)]

    def encode(self) -> bytes:
        """The frame's bytes behind its length. Raises PipeError for more than MAX_FRAME_BYTES."""
        data: bytes = msgpack.packb([self.KIND, *self.items()], use_bin_type=True)
        if len(data) > MAX_FRAME_BYTES:
            raise PipeError(f"A frame of {len(data)} bytes is too long; the most is {MAX_FRAME_BYTES}.")
        return data

    def to_stream(self) -> bytes:
        """Length and bytes, as they go down the pipe."""
        data = self.encode()
        return len(data).to_bytes(LENGTH_BYTES, "little") + data

    @classmethod
    def from_items(cls, items: list[Any]) -> Self:
        """The frame of these items; PipeError when they are not its fields."""
        return cls(*array_of(cls.KIND, items, len(fields(cls))))


F = TypeVar("F", bound=Frame)

# ---- orders: what a node says


@dataclass(frozen=True, slots=True)
class LoadNetwork(Frame):
    """Jobs may name the network of this file from now on; `digest` is the SHA-256 of `file`."""

    KIND: ClassVar[str] = "network"
    digest: bytes
    file: bytes

    def __post_init__(self) -> None:
        verify_bytes("digest", self.digest, DIGEST_BYTES)
        verify_bytes("network's file", self.file)


@dataclass(frozen=True, slots=True)
class ForgetNetwork(Frame):
    """No further job names this network; those under way go on with it."""

    KIND: ClassVar[str] = "forget"
    digest: bytes

    def __post_init__(self) -> None:
        verify_bytes("digest", self.digest, DIGEST_BYTES)


@dataclass(frozen=True, slots=True)
class Play(Frame):
    """Play this game, on from the plies of `Done.begun` where there are any."""

    KIND: ClassVar[str] = "play"
    job: PipeJob
    begun: bytes = b""

    def __post_init__(self) -> None:
        verify_bytes("begun game", self.begun)

    def items(self) -> list[Any]:
        """See `Frame.items`."""
        return [self.job.items(), self.begun]

    @classmethod
    def from_items(cls, items: list[Any]) -> Self:
        """See `Frame.from_items`."""
        job, begun = array_of(cls.KIND, items, 2)
        return cls(PipeJob.from_items(job), begun)


@dataclass(frozen=True, slots=True)
class Replay(Frame):
    """Replay this game block as the job would have played it."""

    KIND: ClassVar[str] = "replay"
    job: PipeJob
    block: bytes

    def __post_init__(self) -> None:
        verify_bytes("block", self.block)

    def items(self) -> list[Any]:
        """See `Frame.items`."""
        return [self.job.items(), self.block]

    @classmethod
    def from_items(cls, items: list[Any]) -> Self:
        """See `Frame.from_items`."""
        job, block = array_of(cls.KIND, items, 2)
        return cls(PipeJob.from_items(job), block)


@dataclass(frozen=True, slots=True)
class AskCanary(Frame):
    """Compute what is known, and say whether it came out."""

    KIND: ClassVar[str] = "canary"
    id: int

    def __post_init__(self) -> None:
        verify_number("id", self.id, 0, 2**64 - 1)


@dataclass(frozen=True, slots=True)
class Stop(Frame):
    """End what is under way as stopped, answer it, then with a canary of number `CANARY_OF_LIFE`, and end."""

    KIND: ClassVar[str] = "stop"


# ---- answers: what an engine says


@dataclass(frozen=True, slots=True)
class Ready(Frame):
    """The engine's first word: the version of these frames, what evaluates, threads, and games in flight on each."""

    KIND: ClassVar[str] = "ready"
    version: int
    kernel: str
    threads: int
    games: int

    def __post_init__(self) -> None:
        verify_number("version", self.version, 0, 2**32 - 1)
        verify_text("kernel", self.kernel, MAX_NAME)
        verify_number("number of threads", self.threads, 1, MAX_THREADS)
        verify_number("number of games", self.games, 1, MAX_THREADS)


@dataclass(frozen=True, slots=True)
class Finished(Frame):
    """A job came back."""

    KIND: ClassVar[str] = "done"
    done: Done

    def __post_init__(self) -> None:
        done = self.done
        verify_number("id", done.id, 0, 2**64 - 1)
        verify_number("status", done.status, 0, 2**16 - 1)
        verify_number("bad ply", done.bad_ply, -2, 2**31 - 1)
        for name in ("plies", "visits", "evaluations"):
            verify_number(name, getattr(done, name), 0, 2**63 - 1)
        verify_bytes("block", done.block)
        for digest in done.digests:
            verify_bytes("digest", digest, DIGEST_BYTES)

    def items(self) -> list[Any]:
        """See `Frame.items`."""
        done = self.done
        numbers = [done.id, done.status, done.bad_ply, done.plies, done.visits, done.evaluations]
        return [*numbers, done.block, b"".join(done.digests)]

    @classmethod
    def from_items(cls, items: list[Any]) -> Self:
        """See `Frame.from_items`."""
        number, status, bad_ply, plies, visits, evaluations, block, joined = array_of(cls.KIND, items, DONE_ITEMS)
        verify_bytes("digests", joined)
        if len(joined) % DIGEST_BYTES:
            raise PipeError("The digests of a game are not whole.")
        digests = tuple(joined[at : at + DIGEST_BYTES] for at in range(0, len(joined), DIGEST_BYTES))
        return cls(Done(number, status, bad_ply, plies, visits, evaluations, block, digests))


@dataclass(frozen=True, slots=True)
class Failed(Frame):
    """A job that this engine does not take, and why."""

    KIND: ClassVar[str] = "failed"
    id: int
    sentence: str

    def __post_init__(self) -> None:
        verify_number("id", self.id, 0, 2**64 - 1)
        verify_text("sentence", self.sentence, MAX_SENTENCE)


@dataclass(frozen=True, slots=True)
class CanaryAnswer(Frame):
    """What came of a canary; the sentence says what is wrong, empty when nothing is."""

    KIND: ClassVar[str] = "canary"
    id: int
    ok: bool
    sentence: str

    def __post_init__(self) -> None:
        verify_number("id", self.id, 0, 2**64 - 1)
        if type(self.ok) is not bool or self.ok != (self.sentence == ""):
            raise PipeError("A canary is well, or a sentence says why not.")
        verify_text("sentence", self.sentence, MAX_SENTENCE)


Order = LoadNetwork | ForgetNetwork | Play | Replay | AskCanary | Stop
Answer = Ready | Finished | Failed | CanaryAnswer

_ORDERS: dict[str, type[Order]] = {cls.KIND: cls for cls in (LoadNetwork, ForgetNetwork, Play, Replay, AskCanary, Stop)}
_ANSWERS: dict[str, type[Answer]] = {cls.KIND: cls for cls in (Ready, Finished, Failed, CanaryAnswer)}


def parse_order(data: bytes) -> Order:
    """Reads a frame of a node, its length not included; PipeError for anything but what `encode` gives."""
    kind, items = _unpack(data)
    if kind not in _ORDERS:
        raise PipeError("No order has this kind.")
    return _exact(_ORDERS[kind].from_items(items), data)


def parse_answer(data: bytes) -> Answer:
    """Reads a frame of an engine, as `parse_order`."""
    kind, items = _unpack(data)
    if kind not in _ANSWERS:
        raise PipeError("No answer has this kind.")
    return _exact(_ANSWERS[kind].from_items(items), data)


def _unpack(data: bytes) -> tuple[str, list[Any]]:
    if len(data) > MAX_FRAME_BYTES:
        raise PipeError(f"A frame of {len(data)} bytes is too long; the most is {MAX_FRAME_BYTES}.")
    try:
        found = msgpack.unpackb(data, raw=False, strict_map_key=True)
    except (ValueError, TypeError, RecursionError, msgpack.UnpackException):
        raise PipeError("The bytes of a frame are no msgpack.") from None
    if type(found) is not list or not found or type(found[0]) is not str:
        raise PipeError("A frame is an array that begins with its kind.")
    return found[0], found[1:]


def _exact(frame: F, data: bytes) -> F:
    if frame.encode() != data:
        raise PipeError("A frame has one encoding, and this is another.")
    return frame


# ---- streams


class Splitter:
    """Cuts what comes from a stream, in pieces of any size, into frames."""

    __slots__ = ("_held",)

    def __init__(self) -> None:
        self._held = bytearray()

    @property
    def is_between(self) -> bool:
        """Whether the stream may end here."""
        return not self._held

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The frames that `data` completes, without their lengths; PipeError for a length out of range."""
        self._held += data
        at = 0
        try:
            while len(self._held) - at >= LENGTH_BYTES:
                end = at + LENGTH_BYTES + _length(bytes(self._held[at : at + LENGTH_BYTES]))
                if len(self._held) < end:
                    break
                frame = bytes(memoryview(self._held)[at + LENGTH_BYTES : end])
                at = end
                yield frame
        finally:
            del self._held[:at]


def read_frame(reader: BinaryIO) -> bytes | None:
    """The next frame of a blocking stream, without its length; None at its end. PipeError for a frame that is cut off
    or too long."""
    prefix = reader.read(LENGTH_BYTES)
    if not prefix:
        return None
    if len(prefix) == LENGTH_BYTES:
        length = _length(prefix)
        data = reader.read(length)
        if len(data) == length:
            return data
    raise PipeError("The stream ends inside a frame.")


def _length(prefix: bytes) -> int:
    length = int.from_bytes(prefix, "little")
    if not 1 <= length <= MAX_FRAME_BYTES:
        raise PipeError(f"A frame of {length} bytes is out of range; the most is {MAX_FRAME_BYTES}.")
    return length
