"""Handing things to the coordinator: entries to be logged, and cosignatures for a head.

Spec: `docs/spec/wire.md` ("Post"). A post is one call: the envelope of an entry, with a fraud proof beside a rejecting
verdict; the answer is the log index and, for batches and gate results, the coordinator's signed receipt. A post that is
repeated is answered as the first one was. Verifiers take posts too: they pass on what RELAYED names, and keep what
MIRRORED names while the coordinator is away; `HELD` is what they answer then. A registration with a stamp is not logged at
once: its answer says at which place it waits.
"""

from dataclasses import dataclass
from hashlib import sha256
from typing import Annotated, ClassVar, Final

from protocol.gate import GateResult
from protocol.header import BatchHeader
from protocol.record import Record
from protocol.recovery import KeyReplacement
from protocol.registration import Registration
from protocol.types import U32, U64, EntryBytes, Key, Text

POST_PROTOCOL = "/gonode/post/1"
COSIGN_PROTOCOL = "/gonode/cosign/1"

MIRRORED: Final = (BatchHeader, GateResult)
"""What verifiers keep for the coordinator; the coordinator signs receipts for the same."""

RELAYED: Final = (*MIRRORED, Registration, KeyReplacement)
"""What verifiers pass on."""

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
    """Where the entry was logged; the envelope of a receipt, or empty. With `held` it is kept to be passed on.

    `place`, from 1, is that of a registration that waits for a probation slot, among so many `waiting`; else both are 0.
    """

    NAME = "posted"

    index: U64
    receipt: EntryBytes
    held: bool = False
    place: U32 = 0
    waiting: U32 = 0

    def check(self) -> None:
        """What is not logged has neither index nor receipt, and a place is one of those that wait."""
        if (self.held or self.place) and (self.index or self.receipt):
            raise self.fail("what is not logged has no index and no receipt yet")
        if self.place > self.waiting or bool(self.place) != bool(self.waiting) or (self.held and self.place):
            raise self.fail("a place is one of those that wait, of what is not held")


HELD: Final = Posted(0, b"", held=True)
"""A verifier's answer: it keeps the post, with its blob, and passes it on when the coordinator is back."""


@dataclass(frozen=True, slots=True)
class Cosigning(Record):
    """A witness's cosignature line for the head of `size`, and its beacon share for that head."""

    NAME = "cosigning"

    witness: Key
    size: U64
    line: SignatureLine
    share: EntryBytes


def mirror_key(run: bytes) -> bytes:
    """The key under which the directory of peers has the verifiers of a run that take posts."""
    return sha256(b"gonode/mirror/v1\0" + run).digest()
