"""Values of the JSON objects that a trainer writes, each of the kind that it has to be: `value_of`."""

import math
from typing import Any, TypeVar

T = TypeVar("T", int, float, str, list, dict)  # type: ignore[type-arg]  # of what is in them nothing is known yet


def value_of(table: Any, name: str, kind: type[T]) -> T:
    """The value of that name; a whole number is a float too, no float is infinite. Raises KeyError or ValueError."""
    if type(table) is not dict:
        raise ValueError(f"{str(table)[:40]!r} is no object")
    found = table[name]
    if kind is float and type(found) is int:
        found = float(found)
    if type(found) is not kind or (type(found) is float and not math.isfinite(found)):
        raise ValueError(f"{name} is {str(found)[:40]!r}")
    return found
