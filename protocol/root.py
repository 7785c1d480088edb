"""The root of a run: offline keys with a threshold, and the online roles they delegate to (in the style of TUF).

Spec: `docs/spec/root.md`. A root version holds by its threshold signatures alone; a new one is signed by the old and the
new threshold. Expiry and revocation count in log entries, not in clock time. A revoked role stays listed, so that what its
key signed before stays verifiable; it does not count among the verifiers of whom more than half have to cosign.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated

from protocol.record import Record
from protocol.types import U16, U32, U64, UNSET, ZERO, Choice, Digest, Key, Name

COORDINATOR = "coordinator"
VERIFIER = "verifier"


@dataclass(frozen=True, slots=True)
class Role(Record):
    """A key that may act as coordinator or verifier for log entries from 0 up to `expires` and below `invalid_from`."""

    role: Annotated[str, Choice((COORDINATOR, VERIFIER))]
    key: Key
    name: Name
    expires: U64 = UNSET
    invalid_from: U64 = UNSET

    def is_valid_at(self, index: int) -> bool:
        """Whether what this key signs may be logged at `index`."""
        return index < self.expires and index < self.invalid_from


@dataclass(frozen=True, slots=True)
class Root(Record):
    """One version of the root. `run` is all zero in version 1, whose bytes make the run id."""

    NAME = "root"

    run: Digest
    version: U32
    threshold: U16
    keys: tuple[Key, ...]
    roles: tuple[Role, ...]
    witness_threshold: U16

    def check(self) -> None:
        if self.version < 1 or (self.version == 1) != (self.run == ZERO):
            raise self.fail("version 1, and only it, has no run id")
        if not 1 <= self.threshold <= len(self.keys) or len(set(self.keys)) != len(self.keys):
            raise self.fail("the threshold must be from 1 to the number of distinct keys")
        if len({role.key for role in self.roles}) != len(self.roles):
            raise self.fail("a key may have one role only")
        standing = sum(role.invalid_from == UNSET for role in self.verifiers)
        if standing and not standing < 2 * self.witness_threshold <= 2 * standing:
            raise self.fail("the witness threshold must be more than half of the verifiers and at most all of them")

    @property
    def verifiers(self) -> tuple[Role, ...]:
        """The roles of verifiers, in the order listed."""
        return tuple(role for role in self.roles if role.role == VERIFIER)

    def missing(self, signers: Iterable[bytes]) -> int:
        """How many more of the root's keys have to sign what `signers` did; 0 when enough have."""
        return max(0, self.threshold - len(set(self.keys).intersection(signers)))

    def find(self, key: bytes) -> Role | None:
        """The role of `key`, if it has one."""
        return next((role for role in self.roles if role.key == key), None)
