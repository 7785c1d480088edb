"""The replacement of a contributor's stolen or lost key by the holder of its recovery key.

Spec: `docs/spec/recovery.md`. The registration holds the hash of the recovery key; the history stays, the new key goes on.
"""

from dataclasses import dataclass

from protocol.record import Record
from protocol.types import U64, Digest, Key


@dataclass(frozen=True, slots=True)
class KeyReplacement(Record):
    """Signed by `recovery` and by `replacement`: from here on `replacement` is who `peer` was.

    What `peer` signed in headers logged at `invalid_from` or later was not its owner's word.
    """

    NAME = "key-replacement"

    run: Digest
    peer: Key
    recovery: Key
    replacement: Key
    invalid_from: U64

    def check(self) -> None:
        if len({self.peer, self.recovery, self.replacement}) != 3:
            raise self.fail("the old key, the recovery key and the new key must be three keys")
