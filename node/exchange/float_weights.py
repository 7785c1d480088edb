"""A network's float weights, as trainings leave them, and the same as arrays for numpy (npz).

Spec: docs/spec/train-state.md ("Tensor file", "Weights"). The trainer reads such files with numpy, which no node has; here
they are checked as strictly, and written again without it. An archive holds `NAME.npy` for each tensor, uncompressed and
without times, so equal weights give equal bytes.
"""

import hashlib
import math
import struct
from dataclasses import dataclass
from typing import Final, Self

from native.errors import EngineError
from native.netfile import Architecture
from node.exchange.errors import WeightsError
from node.exchange.npy import encode_npy, encode_npz
from protocol.codec import Value, decode
from protocol.errors import ProtocolError

_MAGIC: Final = b"GONODETF"
_MAX_HEADER_BYTES: Final = 1 << 20
_DIGEST_BYTES: Final = 32
_LENGTH: Final = struct.Struct("<I")
_WIDTH: Final = {"f32": 4, "f64": 8}


@dataclass(frozen=True, slots=True)
class FloatTensor:
    """A named array: `dtype` f32 or f64, `data` little-endian in C order."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    data: bytes

    def npy(self) -> bytes:
        """The array as a file of numpy's, version 1.0."""
        return encode_npy(f"<f{_WIDTH[self.dtype]}", self.shape, self.data)


@dataclass(frozen=True, slots=True)
class FloatWeights:
    """The weights of a network such as `b6c96` after a training step of its run."""

    network: str
    step: int
    tensors: tuple[FloatTensor, ...]

    @classmethod
    def parse(cls, data: bytes) -> Self:
        """Reads the bytes of a `weights.bin`; raises WeightsError."""
        head = len(_MAGIC) + _LENGTH.size
        if len(data) < head + _DIGEST_BYTES or data[: len(_MAGIC)] != _MAGIC:
            raise WeightsError("The file holds no float weights of a network.")
        if hashlib.sha256(data[:-_DIGEST_BYTES]).digest() != data[-_DIGEST_BYTES:]:
            raise WeightsError("The weights file is damaged: its digest differs.")
        (length,) = _LENGTH.unpack_from(data, len(_MAGIC))
        at, end = head + length, len(data) - _DIGEST_BYTES
        if length > _MAX_HEADER_BYTES or at > end:
            raise WeightsError("The weights file's header does not fit the file.")
        try:
            header = decode(data[head:at], _MAX_HEADER_BYTES)
        except ProtocolError as error:
            raise WeightsError(f"The weights file's header is not canonical: {error}") from None
        network, step, listed = _facts(header)
        tensors: dict[str, FloatTensor] = {}
        for item in listed:
            name, dtype, shape = _entry(item)
            size = math.prod(shape) * _WIDTH[dtype]
            if name in tensors or at + size > end:
                raise WeightsError(f"The weights file's entry {name[:40]!r} is repeated or longer than the file.")
            tensors[name] = FloatTensor(name, dtype, shape, data[at : at + size])
            at += size
        if at != end:
            raise WeightsError("Bytes follow the last tensor of the weights file.")
        return cls(network, step, tuple(tensors.values()))

    def npz(self) -> bytes:
        """An archive that `numpy.load` opens, an array a tensor."""
        return encode_npz((tensor.name, tensor.npy()) for tensor in self.tensors)


def _facts(header: Value) -> tuple[str, int, list[Value]]:
    """Network, step, and the list of tensors."""
    if isinstance(header, dict) and header.keys() == {"facts", "tensors"}:
        facts, listed = header["facts"], header["tensors"]
        if isinstance(facts, dict) and facts.get("kind") == "weights" and isinstance(listed, list):
            network, step = facts.get("network"), facts.get("step")
            if isinstance(network, str) and type(step) is int and _is_network(network):
                return network, step, listed
    raise WeightsError("The file is one of tensors, but holds no float weights of a network.")


def _is_network(text: str) -> bool:
    try:
        return Architecture.parse(text).encode() == text
    except EngineError:
        return False


def _entry(item: Value) -> tuple[str, str, tuple[int, ...]]:
    """Name, type and shape of a tensor."""
    if isinstance(item, dict) and item.keys() == {"name", "dtype", "shape"}:
        name, dtype, shape = item["name"], item["dtype"], item["shape"]
        is_named = isinstance(name, str) and name.isascii() and name.replace("_", "").replace(".", "").isalnum()
        if is_named and isinstance(dtype, str) and dtype in _WIDTH and isinstance(shape, list) and len(shape) <= 4:
            extents = tuple(extent for extent in shape if type(extent) is int and 0 <= extent <= 1 << 24)
            if len(extents) == len(shape):
                return str(name), dtype, extents
    raise WeightsError("The weights file lists a tensor in an unknown way.")
