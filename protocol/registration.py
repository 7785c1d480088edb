"""How a contributor enters a run: an invite by the coordinator, and the registration that the log holds.

Spec: `docs/spec/registration.md`. The first registration of a key wins; the beacon of its log index makes the peer's join
nonce, so that nobody chooses seeds.
"""

from dataclasses import dataclass

from protocol.record import Record
from protocol.types import U64, Digest, EntryBytes, Key, MaybeDigest, Name, Nonce


@dataclass(frozen=True, slots=True)
class Invite(Record):
    """The coordinator's word that one key may register, once, at a log index up to `last_index`."""

    NAME = "invite"

    run: Digest
    nonce: Nonce
    last_index: U64


@dataclass(frozen=True, slots=True)
class Registration(Record):
    """Signed by `peer`. Carries an invite's envelope, or (empty invite) a stamp."""

    NAME = "registration"

    run: Digest
    peer: Key
    name: Name
    recovery_hash: MaybeDigest
    log_size: U64
    root_hash: Digest
    invite: EntryBytes
    stamp: U64
