"""Handing things to the coordinator: entries to be logged, and cosignatures for a head.

Spec: `docs/spec/wire.md` ("Post"). A post is one call: the envelope of an entry, with a fraud proof beside a rejecting
verdict; the answer is the log index and, for batches and gate results, the coordinator's signed receipt. A post that is
repeated is answered as the first one was.
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from protocol.record import Record
from protocol.types import U64, EntryBytes, Key, Text

POST_PROTOCOL = "/gonode/post/1"
COSIGN_PROTOCOL = "/gonode/cosign/1"

SignatureLine = Annotated[str, Text(r"— [!-~]+ [A-Za-z0-9+/=]+", 400)]


@dataclass(frozen=True, slots=True)
class Post(Record):
    """An entry's envelope, and (only beside a rejecting verdict) a fraud proof."""

    NAME = "post"
    MAX_BYTES: ClassVar[int] = 3 * 65536

    envelope: EntryBytes
    proof: EntryBytes


@dataclass(frozen=True, slots=True)
class Posted(Record):
    """Where the entry was logged; the envelope of a receipt, or empty."""

    NAME = "posted"

    index: U64
    receipt: EntryBytes


@dataclass(frozen=True, slots=True)
class Cosigning(Record):
    """A witness's cosignature line for the head of `size`, and its beacon share for that head."""

    NAME = "cosigning"

    witness: Key
    size: U64
    line: SignatureLine
    share: EntryBytes
