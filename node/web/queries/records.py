"""How the answers to pages are made of rows and told as JSON, and how long lists are cut into pages.

Page: docs/pages.md. Lists are cut by key (`?before=`), never by offset. Bytes are lower-case hexadecimal in JSON.
"""

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, Final, Generic, TypeVar

PAGE: Final = 50

T = TypeVar("T")


class NotFound(Exception):
    """Nothing has this name; the message is one sentence."""


class BadQuestion(ValueError):
    """A query that has no meaning; the message is one sentence."""


@dataclass(frozen=True, slots=True)
class Listed(Generic[T]):
    """Some of a list; `before` asks for the next ones, None at the end."""

    items: tuple[T, ...]
    before: str | None


def found(
    db: sqlite3.Connection, cls: type[T], query: str, values: Sequence[object] | Mapping[str, object] = ()
) -> tuple[T, ...]:
    """The rows of a query whose columns are named as the fields of a record."""
    return tuple(cls(**dict(row)) for row in db.execute(query, values))


def one(db: sqlite3.Connection, query: str, values: Sequence[object] = ()) -> Any:
    """The first column of the first row; None where there is none."""
    row = db.execute(query, values).fetchone()
    return None if row is None else row[0]


def numbered(before: str | None) -> int:
    """The number in `?before=`; without one more than any. Raises BadQuestion."""
    if before is None:
        return 2**63 - 1
    if not (before.isascii() and before.isdigit() and len(before) < 19):
        raise BadQuestion("before= wants the number that the page before ended with.")
    return int(before)


def to_json(value: Any) -> Any:
    """A record as what JSON can say."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: to_json(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, tuple | list):
        is_plain = all(type(each) is int for each in value)  # a row of numbers, of which a game has many
        return list(value) if is_plain else [to_json(each) for each in value]
    return value.hex() if isinstance(value, bytes) else value


def whole_name(db: sqlite3.Connection, table: str, column: str, text: str) -> bytes:
    """The one value in a column that begins with these hexadecimal digits, 8 or more; raises NotFound."""
    digits = text.lower()
    if not (8 <= len(digits) <= 64 and all(digit in "0123456789abcdef" for digit in digits)):
        raise NotFound("A name here is 64 hexadecimal digits, or the first of them, 8 at least.")
    low, high = bytes.fromhex(digits.ljust(64, "0")), bytes.fromhex(digits.ljust(64, "f"))
    query = f"SELECT DISTINCT {column} FROM {table} WHERE {column} >= ? AND {column} <= ? LIMIT 2"
    names = [bytes(row[0]) for row in db.execute(query, (low, high))]
    if not names:
        raise NotFound(f"Nothing here has a name that begins with {digits[:16]}.")
    if len(names) > 1:
        raise NotFound(f"Several things here have names that begin with {digits[:16]}: more digits are needed.")
    return names[0]
