"""The coordinator's orders to look again: at who left, at what an unknown secret drew, at whom statistics point to.

Spec: `docs/spec/orders.md`. Each is one log entry, whose beacon assigns verifiers and draws games anew.
"""

from dataclasses import dataclass
from typing import Annotated

from protocol.record import Record
from protocol.types import U32, U64, Digest, Key, Range, Words

MOST_EXITS = 256


@dataclass(frozen=True, slots=True)
class Exit(Record):
    """The batches that are held of contributors who fell silent are drawn once more, and released if they hold."""

    NAME = "exit"

    run: Digest
    peers: tuple[Key, ...]

    def check(self) -> None:
        if not 1 <= len(self.peers) <= MOST_EXITS or len(set(self.peers)) != len(self.peers):
            raise self.fail(f"from 1 to {MOST_EXITS} contributors, each once")


@dataclass(frozen=True, slots=True)
class VoidEpoch(Record):
    """A verifier's epoch was not revealed in time: whatever it judged is judged anew, by others."""

    NAME = "void-epoch"

    run: Digest
    verifier: Key
    epoch: U32


@dataclass(frozen=True, slots=True)
class Scrutiny(Record):
    """At least `q_ppm` of the games in a contributor's headers up to `last_index` are replayed, for a reason.

    `restart` begins its probation anew.
    """

    NAME = "scrutiny"

    run: Digest
    peer: Key
    q_ppm: Annotated[int, Range(1, 10**6)]
    last_index: U64
    restart: bool
    reason: Words

    def check(self) -> None:
        if not self.reason:
            raise self.fail("a reason has to be given")
