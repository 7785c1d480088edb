"""JSON as statements write it: one encoding for each value, and records in readable form.

Spec: `docs/spec/statement.md` ("JSON"). All texts are printable ASCII; integers travel as strings, since readers hold
numbers as doubles, which round what is over 2^53.
"""

import json
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from protocol.codec import Value

Json: TypeAlias = "str | bool | Sequence[Json] | Mapping[str, Json]"


def encode_json(value: Json) -> bytes:
    """The one encoding: keys in order, no spaces."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode()


def readable(value: Value) -> Json:
    """A record's value with integers in decimal and bytes in hexadecimal digits."""
    if isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        return str(value)
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, dict):
        return {name: readable(item) for name, item in value.items()}
    assert isinstance(value, list | tuple)  # a record holds nothing else
    return [readable(item) for item in value]
