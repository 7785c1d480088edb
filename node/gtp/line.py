"""Lines of the Go Text Protocol: what a controller sends, as requests; what it is told, as answers.

Spec: the protocol's version 2, draft 2, sections 2.1 to 2.6 and 3. Invariants: whatever the bytes are, a line is a
request, nothing (blank, or a comment), or a Failure; an answer holds no control characters and no blank line but the
one at its end.
"""

import re
from dataclasses import dataclass
from typing import Final

from node.gtp.errors import Failure

MAX_ID: Final = 2**31 - 1
MAX_BYTES: Final = 1 << 16
"""The longest line that is read; `node.gtp.feed` cuts longer ones."""

_CONTROL: Final = re.compile("[\x00-\x08\x0a-\x1f\x7f]")
_LINE: Final = re.compile(r"(?:([0-9]+)\s*)?(\S*)\s*(.*)", re.DOTALL)
_UNSAID: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Request:
    """One command: its id (None: it has none), its name, its arguments; `text` is all after the name, as it was typed."""

    id: int | None
    name: str
    arguments: tuple[str, ...]
    text: str


def parse_line(line: bytes) -> Request | None:
    """The request of one line, with or without its end; None when there is nothing to answer.

    Bytes that are no UTF-8 stay as surrogates, so that they can be part of a file's name. Raises Failure.
    """
    if len(line.rstrip(b"\r\n")) > MAX_BYTES:
        raise Failure(f"The line is longer than {MAX_BYTES} bytes.")
    text = _CONTROL.sub("", line.decode("utf-8", "surrogateescape")).replace("\t", " ").partition("#")[0].strip()
    if not text:
        return None
    found = _LINE.fullmatch(text)
    assert found is not None, "the pattern takes every text"
    number, name, rest = found.groups()
    return Request(None if number is None else _id(number), name, tuple(rest.split()), rest)


def _id(digits: str) -> int:
    digits = digits.lstrip("0") or "0"  # Python reads no number of thousands of digits
    if len(digits) > len(str(MAX_ID)) or int(digits) > MAX_ID:
        raise Failure(f"An id is a number up to {MAX_ID}.")
    return int(digits)


def encode_answer(is_done: bool, number: int | None, text: str) -> str:
    """A whole answer, its blank line included."""
    head = begin_answer(is_done, number)
    said = clean(text)
    return f"{head} {said}\n\n" if said else f"{head} \n\n"


def begin_answer(is_done: bool, number: int | None) -> str:
    """The mark of success or failure and the id, if there is one."""
    return ("=" if is_done else "?") + ("" if number is None else str(number))


def clean(text: str) -> str:
    """`text` as an answer can hold it: no control characters, no blank lines, nothing blank at its end."""
    lines = (_UNSAID.sub("", line.replace("\t", " ")).rstrip() for line in text.split("\n"))
    first, *rest = lines
    return "\n".join([first, *(line for line in rest if line)])
