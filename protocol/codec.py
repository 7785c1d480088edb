"""Canonical bytes: restricted msgpack with exactly one encoding for each value.

Spec: docs/spec/canonical.md. Values are None, booleans, integers from -2^63 to 2^64 - 1, strings, bytes, arrays, and
maps with string keys in UTF-8 order; nesting is at most `MAX_DEPTH`. There are no floats and no extension types.
`decode` accepts only what `encode` would have written, so equal values have equal bytes and equal digests.
"""

from collections.abc import Mapping, Sequence
from types import NoneType
from typing import Final, TypeAlias

import msgpack  # type: ignore[import-untyped]

from protocol.errors import NotCanonical, ParseError, TooLarge

Value: TypeAlias = "bool | int | str | bytes | Sequence[Value] | Mapping[str, Value] | None"

MAX_BYTES: Final = 65536
MAX_DEPTH: Final = 8
_MIN_INT: Final = -(2**63)
_MAX_INT: Final = 2**64 - 1
_LEAVES: Final = frozenset((NoneType, bool, int, str, bytes))


def encode(value: Value) -> bytes:
    """The canonical bytes of `value`; maps are written in key order, lists and tuples alike as arrays.

    Raises ParseError for a value that the format cannot hold and TooLarge for one nested deeper than `MAX_DEPTH`.
    """
    packed: bytes = msgpack.packb(_ordered(value, 0), use_bin_type=True)
    return packed


def decode(data: bytes, max_bytes: int = MAX_BYTES) -> Value:
    """The value that `data` is the canonical encoding of; arrays come as lists, maps as dicts.

    Raises TooLarge over `max_bytes` or `MAX_DEPTH`, ParseError for bytes that are no restricted msgpack, NotCanonical
    for any other encoding of an acceptable value (long integers, unsorted or repeated keys).
    """
    if len(data) > max_bytes:
        raise TooLarge(f"The record has {len(data)} bytes; the limit is {max_bytes}.")
    try:
        value: Value = msgpack.unpackb(
            data,
            raw=False,
            use_list=True,
            strict_map_key=True,
            ext_hook=_no_extension,
            max_str_len=max_bytes,
            max_bin_len=max_bytes,
            max_array_len=max_bytes,
            max_map_len=max_bytes,
            max_ext_len=max_bytes,
        )
    except msgpack.StackError as error:
        raise TooLarge(f"The record is nested deeper than {MAX_DEPTH} levels.") from error
    except msgpack.ExtraData as error:
        raise ParseError("Bytes follow the end of the record.") from error
    except (ValueError, msgpack.UnpackException) as error:
        raise ParseError("The bytes are not a msgpack record.") from error
    if not _is_ordered(value, 0) or msgpack.packb(value, use_bin_type=True) != data:
        raise NotCanonical("The record is not in its canonical encoding.")
    return value


def _no_extension(code: int, data: bytes) -> object:
    """Refuses every extension type, the timestamps that msgpack reads by itself included (`encode` refuses those)."""
    raise ParseError("The record holds an extension type.")


def _is_ordered(value: Value, depth: int) -> bool:
    """Whether the maps of a value that was read are in key order; raises as `_ordered` does."""
    if type(value) in _LEAVES:
        return True
    if not isinstance(value, list | dict):
        raise ParseError(f"A record cannot hold a value of type {type(value).__name__}.")
    if depth >= MAX_DEPTH:
        raise TooLarge(f"The record is nested deeper than {MAX_DEPTH} levels.")
    items, is_ordered = value, True
    if isinstance(value, dict):
        keys = list(value)
        if not all(isinstance(key, str) for key in keys):
            raise ParseError("A map has a key that is not a string.")
        items, is_ordered = list(value.values()), keys == sorted(keys)
    for item in items:
        if type(item) not in _LEAVES:
            is_ordered &= _is_ordered(item, depth + 1)
    return is_ordered


def _ordered(value: object, depth: int) -> object:
    """`value` with its maps in key order, checked to be one that the format holds; `depth` containers are around it."""
    if value is None or isinstance(value, bool | bytes):
        return value
    if isinstance(value, int):
        if not _MIN_INT <= value <= _MAX_INT:
            raise ParseError("An integer lies outside -2^63 to 2^64 - 1.")
        return value
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, list | tuple | dict) and depth >= MAX_DEPTH:
        raise TooLarge(f"The record is nested deeper than {MAX_DEPTH} levels.")
    if isinstance(value, list | tuple):
        return [_ordered(item, depth + 1) for item in value]
    if isinstance(value, dict):
        if not all(isinstance(key, str) for key in value):
            raise ParseError("A map has a key that is not a string.")
        return {_text(key): _ordered(value[key], depth + 1) for key in sorted(value)}
    raise ParseError(f"A record cannot hold a value of type {type(value).__name__}.")


def _text(value: str) -> str:
    """`value` if it has a UTF-8 encoding; lone surrogates have none."""
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise ParseError("A string is not valid Unicode.") from error
    return value
