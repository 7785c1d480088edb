"""Records as JSON objects and back: `encode_record`, `parse_record`. Their dataclass alone says what an object holds.

For what processes of one machine tell each other. A field is an int, float, bool, str, bytes (hexadecimal in JSON), a
record, one of these or None, or a tuple of one of these. Invariants: what `parse_record` gives is of the kinds that the
dataclass names, whatever the JSON holds, and equals what was encoded; a key that no field has is passed over, for another
version may say more.
"""

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")

_SHOWN = 40
_PLAIN: tuple[type, ...] = (int, float, bool, str, list, dict)


class JsonFault(ValueError):
    """One sentence without its full stop: which value is not what it has to be."""


def encode_record(record: Any) -> dict[str, Any]:
    """The object of a record; those in it are told by their own `to_json` where they have one."""
    return {field.name: _encoded(getattr(record, field.name)) for field in fields(record)}


def _encoded(value: Any) -> Any:
    if is_dataclass(value):
        own = getattr(value, "to_json", None)
        return encode_record(value) if own is None else own()
    if isinstance(value, tuple):
        return [_encoded(each) for each in value]
    return value.hex() if isinstance(value, bytes) else value


def parse_record(kind: type[T], table: Any, **given: Any) -> T:
    """The record in an object; fields that are `given` are not looked for in it. Raises JsonFault.

    A record that may be None is so for an empty object too.
    """
    found: T = _record(kind, table, "", given)
    return found


def value_of(table: Any, name: str, kind: type[T]) -> T:
    """The value of that name, an int, float, bool, str, list or dict; raises JsonFault."""
    found: T = _parsed(kind, _found(_object(table, ""), name, ""), name)
    return found


def _record(kind: Any, table: Any, path: str, given: Mapping[str, Any]) -> Any:
    entries = _object(table, path)
    values = {
        name: given[name] if name in given else _parsed(hint, _found(entries, name, path), _below(path, name))
        for name, hint in _hints(kind).items()
    }
    try:
        return kind(**values)
    except JsonFault:
        raise
    except ValueError as error:
        raise JsonFault(f"{path}: {error}" if path else str(error)) from None


@cache
def _hints(kind: Any) -> dict[str, Any]:
    """The types of a record's fields, in their order."""
    hints = get_type_hints(kind)
    return {field.name: hints[field.name] for field in fields(kind)}


def _parsed(hint: Any, value: Any, path: str) -> Any:
    """A value of a field's type."""
    origin = get_origin(hint)
    if origin is tuple:
        (each_hint, _) = get_args(hint)
        return tuple(_parsed(each_hint, each, f"{path}[{at}]") for at, each in enumerate(_plain(list, value, path)))
    if origin is Union or origin is UnionType:
        (inner,) = (each for each in get_args(hint) if each is not NoneType)
        is_none = value is None or (value == {} and is_dataclass(inner))
        return None if is_none else _parsed(inner, value, path)
    if isinstance(hint, type) and is_dataclass(hint):
        return _record(hint, value, path, {})
    if hint is bytes:
        return _from_hex(value, path)
    return _plain(hint, value, path)


def _plain(kind: type[T], value: Any, path: str) -> T:
    """A whole number is a float too; no float is infinite, and True is no number."""
    assert kind in _PLAIN, kind
    if kind is float and type(value) is int:
        try:
            value = float(value)
        except OverflowError:
            raise _fault(path, value) from None
    is_finite = type(value) is not float or math.isfinite(value)
    if type(value) is not kind or not is_finite:
        raise _fault(path, value)
    return value


def _from_hex(value: Any, path: str) -> bytes:
    try:
        return bytes.fromhex(value)
    except (TypeError, ValueError):
        raise _fault(path, value) from None


def _object(table: Any, path: str) -> dict[str, Any]:
    if type(table) is not dict:
        raise JsonFault(f"{path or 'it'} is {_shown(table)} and no object")
    return table


def _found(table: dict[str, Any], name: str, path: str) -> Any:
    if name not in table:
        raise JsonFault(f"{_below(path, name)} is missing")
    return table[name]


def _fault(path: str, value: Any) -> JsonFault:
    return JsonFault(f"{path} is {_shown(value)}")


def _below(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _shown(value: Any) -> str:
    try:
        return repr(value)[:_SHOWN]
    except (ValueError, RecursionError):  # more digits than Python prints, or more brackets
        return f"a {type(value).__name__}"
