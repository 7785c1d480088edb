"""The signed header of a game batch: small, logged first, before anybody knows which games will be replayed.

Spec: `docs/spec/batch-header.md`.
"""

from dataclasses import dataclass

from protocol.record import Record
from protocol.types import U16, U32, U64, Digest, Key, MaybeKey, Name, Semantics


@dataclass(frozen=True, slots=True)
class BatchHeader(Record):
    """Signed by `peer`. Games are `first_counter` up to `first_counter + games`, without gaps.

    `visits` is the sum of what the config gives each searched ply. `fill_for` names the owner of the seeds where
    the batch fills in games of a series, else it is empty. `build`, `kernel` and `cpu` only inform.
    """

    NAME = "batch-header"

    run: Digest
    manifest: Digest
    config: Digest
    semantics: Semantics
    release: Digest
    peer: Key
    registration: U64
    first_counter: U64
    games: U16
    plies: U32
    visits: U64
    batch_root: Digest
    blob_digest: Digest
    blob_len: U32
    raw_len: U32
    final: bool
    fill_for: MaybeKey
    build: Name
    kernel: Name
    cpu: Name

    def check(self) -> None:
        if not self.final and self.games == 0:
            raise self.fail("only a final batch may be empty")

    @property
    def owner(self) -> bytes:
        """The key whose seeds the games use."""
        return self.fill_for or self.peer
