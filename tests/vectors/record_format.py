"""What a record's annotations say, for tests and pages: its fields with their bounds, readable values, and misfits.

One place reads `protocol.types`, so that vectors, hypothesis strategies and the tables in `docs/spec/` agree with the code.
"""

from collections.abc import Iterator
from dataclasses import fields
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from protocol import types
from protocol.codec import Value
from protocol.entries import ENTRY_TYPES
from protocol.epoch import Share
from protocol.manifest import OpeningList, TrainingPolicy
from protocol.proof import FraudProof
from protocol.receipt import Receipt
from protocol.record import Record
from protocol.registration import Invite
from protocol.release import FirstRelease
from protocol.search_config import SearchConfig
from protocol.types import Choice, Length, Range, Text

RECORDS: dict[str, type[Record]] = {
    cls.NAME: cls
    for cls in (
        *ENTRY_TYPES.values(),
        *(FirstRelease, FraudProof, Invite, OpeningList, Receipt, SearchConfig, Share, TrainingPolicy),
    )
}
"""Every record that has a name of its own."""

_INTEGERS = {
    get_args(hint)[1]: name.lower()
    for name, hint in vars(types).items()
    if name in ("U8", "U16", "U32", "U64", "I16", "I32", "I64")
}


def hints(cls: type[Record]) -> dict[str, Any]:
    """The annotations of the record's fields, in order of declaration."""
    found = get_type_hints(cls, include_extras=True)
    return {item.name: found[item.name] for item in fields(cls)}  # type: ignore[arg-type]


def constraint(hint: Any) -> Range | Length | Text | Choice | None:
    """The constraint in an annotation, if it has one."""
    if get_origin(hint) is not Annotated:
        return None
    found = get_args(hint)[1]
    assert isinstance(found, Range | Length | Text | Choice)
    return found


def parts(cls: type[Record]) -> Iterator[type[Record]]:
    """The records inside, each once, outer ones first."""
    for hint in hints(cls).values():
        inner = get_args(hint)[0] if get_origin(hint) is tuple else hint
        if isinstance(inner, type) and issubclass(inner, Record):
            yield inner
            yield from parts(inner)


def describe(hint: Any) -> tuple[str, str]:
    """The type and the bounds of a field, as a page's table writes them."""
    if get_origin(hint) is tuple:
        kind, bounds = describe(get_args(hint)[0])
        return f"list of {kind}", bounds
    match constraint(hint):
        case Range() as found if found in _INTEGERS:
            return _INTEGERS[found], ""
        case Range(low, high):
            return "integer", f"{low:,} to {high:,}" if low != high else f"{low:,}"
        case Length(lengths, None):
            return "bytes", " or ".join(map(str, lengths))
        case Length(_, most):
            return "bytes", f"at most {most:,}"
        case Text(pattern, most):
            return "text", f"at most {most} of `{pattern}`"
        case Choice(words):
            return "text", ", ".join(f"`{word}`" for word in words)
    return ("boolean", "") if hint is bool else (hint.__name__, "")


def readable(value: Value) -> Any:
    """The value with bytes as hexadecimal text, for JSON."""
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, list | tuple):
        return [readable(item) for item in value]
    if isinstance(value, dict):
        return {key: readable(item) for key, item in value.items()}
    return value


def misfits(hint: Any) -> Iterator[tuple[str, Value]]:
    """Values next to what a field admits, each with what is wrong about it."""
    match constraint(hint):
        case Range(low, high):
            yield "text", "1"
            if low > -(2**63):
                yield "too low", low - 1
            if high < 2**64 - 1:
                yield "too high", high + 1
        case Length(lengths, None):
            yield "a byte short", bytes(max(lengths) - 1)
            yield "a byte long", bytes(max(lengths) + 1)
        case Length():
            yield "text", "00"
        case Text(_, most):
            yield "too long", ("/" if "/" in str(hint) else "a") + "a" * most
            yield "a character outside", "é"
        case Choice():
            yield "another word", "another"
        case None if get_origin(hint) is tuple:
            yield "no list", 1
            yield from ((f"item: {what}", [value]) for what, value in misfits(get_args(hint)[0]))
        case None:
            yield "an integer", 1
