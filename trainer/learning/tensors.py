"""Named tensors as bytes with one encoding: what train states and published float weights are written in.

Spec: docs/spec/train-state.md. Magic, length of the header, header (a canonical map), raw little-endian tensors in
the header's order, SHA-256 of everything before it. No pickle: reading a file runs no code. Equal content gives equal
bytes, so that a state's digest can be logged and found again by whoever repeats the training.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from protocol.codec import Value, decode, encode
from protocol.errors import ProtocolError
from trainer.errors import BadTensors

MAGIC: Final = b"GONODETF"
MAX_HEADER_BYTES: Final = 1 << 20
_DIGEST_BYTES: Final = 32
_LENGTH: Final = struct.Struct("<I")
_DTYPES: Final[dict[str, np.dtype[Any]]] = {"f32": np.dtype("<f4"), "f64": np.dtype("<f8")}

Array = npt.NDArray[np.floating[Any]]


@dataclass(frozen=True, slots=True)
class TensorFile:
    """Facts (a canonical map) and named arrays of f32 or f64, in order."""

    facts: Mapping[str, Value]
    tensors: Mapping[str, Array]

    def encode(self) -> bytes:
        """The file's bytes."""
        listed: list[Value] = []
        parts: list[bytes] = []
        for name, array in self.tensors.items():
            dtype = next((key for key, known in _DTYPES.items() if known == array.dtype.newbyteorder("<")), None)
            if dtype is None:
                raise BadTensors(f"A tensor file holds f32 and f64, not {array.dtype} ({name}).")
            listed.append({"name": name, "dtype": dtype, "shape": list(array.shape)})
            parts.append(np.ascontiguousarray(array, dtype=_DTYPES[dtype]).tobytes())
        header = encode({"facts": self.facts, "tensors": listed})
        content = b"".join((MAGIC, _LENGTH.pack(len(header)), header, *parts))
        return content + hashlib.sha256(content).digest()

    @classmethod
    def parse(cls, data: bytes) -> TensorFile:
        """The content of a file; raises BadTensors with one sentence."""
        if len(data) < len(MAGIC) + _LENGTH.size + _DIGEST_BYTES or data[: len(MAGIC)] != MAGIC:
            raise BadTensors("The bytes are not a tensor file.")
        if hashlib.sha256(data[:-_DIGEST_BYTES]).digest() != data[-_DIGEST_BYTES:]:
            raise BadTensors("The tensor file is damaged: its digest differs.")
        start = len(MAGIC) + _LENGTH.size
        (length,) = _LENGTH.unpack_from(data, len(MAGIC))
        if length > MAX_HEADER_BYTES or start + length + _DIGEST_BYTES > len(data):
            raise BadTensors("The tensor file's header does not fit the file.")
        try:
            header = decode(data[start : start + length], MAX_HEADER_BYTES)
        except ProtocolError as error:
            raise BadTensors(f"The tensor file's header is not canonical: {error}") from error
        if not isinstance(header, Mapping) or header.keys() != {"facts", "tensors"}:
            raise BadTensors("The tensor file's header has other fields than facts and tensors.")
        facts, listed = header["facts"], header["tensors"]
        if not isinstance(facts, Mapping) or not isinstance(listed, list):
            raise BadTensors("The tensor file's header has fields of another type.")
        tensors: dict[str, Array] = {}
        at, end = start + length, len(data) - _DIGEST_BYTES
        for item in listed:
            name, dtype, shape = _entry(item)
            size = dtype.itemsize
            for extent in shape:
                size *= extent
            if name in tensors or at + size > end:
                raise BadTensors(f"The tensor file's entry {name[:40]} is repeated or longer than the file.")
            tensors[name] = np.frombuffer(data, dtype, size // dtype.itemsize, at).reshape(shape)
            at += size
        if at != end:
            raise BadTensors("Bytes follow the last tensor of the file.")
        return cls(facts, tensors)


def _entry(item: Value) -> tuple[str, np.dtype[Any], tuple[int, ...]]:
    """Name, type and shape of one tensor in a header."""
    if isinstance(item, Mapping) and item.keys() == {"name", "dtype", "shape"}:
        name, dtype, shape = item["name"], item["dtype"], item["shape"]
        if isinstance(name, str) and isinstance(dtype, str) and dtype in _DTYPES and isinstance(shape, list):
            extents = [extent for extent in shape if type(extent) is int and 0 <= extent <= 1 << 24]
            if len(extents) == len(shape) <= 4:
                return name, _DTYPES[dtype], tuple(extents)
    raise BadTensors("The tensor file's header lists a tensor in an unknown way.")
