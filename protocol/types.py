"""Field types of records: each says, beside the Python type, which values a record admits.

A record field is annotated with one of these aliases; `protocol.record` reads the constraint and refuses anything else
when a record is made or parsed, so that no invalid record exists.
"""

import re
from dataclasses import dataclass
from typing import Annotated

UNSET = 2**64 - 1
"""The u64 that stands for "never" or "none" in a log index."""

ZERO = bytes(32)
"""The digest that stands for "none" (the run id in a run's first root and manifest, a first train state's parent)."""


@dataclass(frozen=True, slots=True)
class Range:
    """An integer from `low` to `high`, both included."""

    low: int
    high: int

    def fault(self, value: object) -> str | None:
        """Why `value` does not fit, or None."""
        if not isinstance(value, int) or isinstance(value, bool):
            return "must be an integer"
        if not self.low <= value <= self.high:
            return f"must be from {self.low} to {self.high}"
        return None


@dataclass(frozen=True, slots=True)
class Length:
    """Bytes whose length is one of `lengths`, or, with `most`, anything up to it."""

    lengths: tuple[int, ...] = ()
    most: int | None = None

    def fault(self, value: object) -> str | None:
        """Why `value` does not fit, or None."""
        if not isinstance(value, bytes):
            return "must be bytes"
        if self.most is not None:
            return None if len(value) <= self.most else f"must have at most {self.most} bytes"
        if len(value) not in self.lengths:
            return f"must have {' or '.join(map(str, self.lengths))} bytes"
        return None


@dataclass(frozen=True, slots=True)
class Text:
    """A string of at most `most` characters that matches `pattern` in full."""

    pattern: str
    most: int

    def fault(self, value: object) -> str | None:
        """Why `value` does not fit, or None."""
        if not isinstance(value, str):
            return "must be text"
        if len(value) > self.most:
            return f"must have at most {self.most} characters"
        if re.fullmatch(self.pattern, value) is None:
            return f"must match {self.pattern}"
        return None


@dataclass(frozen=True, slots=True)
class Choice:
    """One of a few words."""

    words: tuple[str, ...]

    def fault(self, value: object) -> str | None:
        """Why `value` does not fit, or None."""
        return None if value in self.words else f"must be one of {', '.join(self.words)}"


U8 = Annotated[int, Range(0, 2**8 - 1)]
U16 = Annotated[int, Range(0, 2**16 - 1)]
U32 = Annotated[int, Range(0, 2**32 - 1)]
U64 = Annotated[int, Range(0, 2**64 - 1)]
I16 = Annotated[int, Range(-(2**15), 2**15 - 1)]
I32 = Annotated[int, Range(-(2**31), 2**31 - 1)]
I64 = Annotated[int, Range(-(2**63), 2**63 - 1)]
Ppm = Annotated[int, Range(0, 10**6)]
Size = Annotated[int, Range(1, 19)]

Digest = Annotated[bytes, Length((32,))]
Key = Annotated[bytes, Length((32,))]
MaybeDigest = Annotated[bytes, Length((0, 32))]
MaybeKey = Annotated[bytes, Length((0, 32))]
Nonce = Annotated[bytes, Length((16,))]
SignatureBytes = Annotated[bytes, Length((64,))]
P256Key = Annotated[bytes, Length((33,))]
EntryBytes = Annotated[bytes, Length(most=65536)]

Name = Annotated[str, Text(r"[A-Za-z0-9][A-Za-z0-9._+-]*", 64)]
Words = Annotated[str, Text(r"[ -~]*", 200)]
Semantics = Annotated[str, Text(r"[a-z0-9/._-]+", 64)]
Shape = Annotated[str, Text(r"b[1-9][0-9]?c[1-9][0-9]{1,2}", 7)]
Address = Annotated[str, Text(r"/[!-~]+", 256)]
