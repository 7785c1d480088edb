"""The error of the pipe, and the checks of a frame's items: each raises it with one sentence (docs/spec/pipe.md)."""

from __future__ import annotations

from typing import Any

from native._engine import lib
from native.errors import EngineError


class PipeError(EngineError):
    """Bytes or values that are no frame of the pipe."""

    def __init__(self, sentence: str, status: int = lib.GO_ERR_FORMAT) -> None:
        super().__init__(sentence, status)


def verify_number(name: str, value: Any, low: int, high: int) -> None:
    """Raises unless `value` is a whole number from `low` to `high`."""
    if type(value) is not int or not low <= value <= high:
        raise PipeError(f"The {name} of a frame is no whole number from {low} to {high}.")


def verify_bytes(name: str, value: Any, length: int | None = None) -> None:
    """Raises unless `value` is bytes, `length` of them if that is given."""
    if type(value) is not bytes or length not in (None, len(value)):
        raise PipeError(f"The {name} of a frame is not {'bytes' if length is None else f'{length} bytes'}.")


def verify_text(name: str, value: Any, most: int) -> None:
    """Raises unless `value` is text of at most `most` characters that UTF-8 can write."""
    if type(value) is not str or len(value) > most or any("\ud800" <= letter <= "\udfff" for letter in value):
        raise PipeError(f"The {name} of a frame is no text of at most {most} characters.")


def array_of(name: str, value: Any, length: int) -> list[Any]:
    """`value` if it is an array of `length` items; raises otherwise."""
    if type(value) is not list or len(value) != length:
        raise PipeError(f"The {name} of a frame is no array of {length} items.")
    return value
