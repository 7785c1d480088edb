"""What the coordinator keeps to itself of a ringer: its key and choices, and the batch that it is going to log.

Spec: `docs/spec/ringer.md` ("Making one"). A ringer's key, salt, invite and choices follow from the coordinator's key and
the ringer's number, by a signature that is never shown; so a restart goes on with the same ringer, and nobody else knows it.
"""

from dataclasses import dataclass
from hashlib import sha256
from random import Random
from typing import Final

from node.disk.store import Store
from protocol.codec import Value, decode, encode
from protocol.ed25519 import SecretKey
from protocol.envelope import Envelope
from protocol.manifest import AdmissionPolicy
from protocol.registration import Invite
from protocol.types import UNSET

PLAN: Final = "ringer/plan"
MOST_BYTES: Final = 1 << 28

AGED_SHARE: Final = 32
"""One ringer in so many sends honest batches before the wrong one."""


class Ringer:
    """The ringer number `number` of the run `run`: what follows from the coordinator's `secret`."""

    def __init__(self, secret: SecretKey, run: bytes, number: int) -> None:
        self._coordinator = secret
        self._run = run
        self._seed = secret.sign(b"gonode/ringer-key/v1\0" + run + number.to_bytes(8, "little"))
        self.number = number
        self.key = SecretKey(self._word("key"))
        self.salt = self._word("salt")

    @property
    def invite(self) -> bytes:
        """Its invite's envelope."""
        return Invite(self._run, self._word("invite")[:16], UNSET).seal(self._coordinator).encode()

    @property
    def recovery_hash(self) -> bytes:
        """What stands for the hash of a recovery key, which it does not have."""
        return self._word("recovery")

    def rng(self, purpose: str) -> Random:
        """The random numbers of its choices for a purpose."""
        return Random(self._word(purpose))

    def age(self, policy: AdmissionPolicy) -> int:
        """How many honest batches come before the wrong one: mostly none, else as many as to leave probation behind.

        Never so many that one of them could be released.
        """
        rng = self.rng("age")
        most = min(2 * policy.probation_batches, policy.hold_back_batches)
        return rng.randint(1, most) if most and rng.randrange(AGED_SHARE) == 0 else 0

    def pause(self, ringer_batches: int) -> int:
        """How many batches of others come between the one before and this one; `ringer_batches` on average."""
        return self.rng("pause").randint(1, max(1, 2 * ringer_batches - 1))

    def delay(self, policy: AdmissionPolicy) -> int:
        """How many batches of others come between the wrong one's commitment and its header."""
        return self.rng("delay").randint(1, 2 * commitment_every(policy.ringer_batches))

    def _word(self, purpose: str) -> bytes:
        return sha256(self._seed + purpose.encode()).digest()


@dataclass(frozen=True, slots=True)
class Plan:
    """The wrong batch of ringer number `number`: its signed header and blob, the wrong game and absolute ply.

    It is logged after `delay` batches of others have followed its commitment.
    """

    number: int
    header: Envelope
    blob: bytes
    game: int
    ply: int
    delay: int

    def keep(self, store: Store) -> None:
        """Puts it into a store, in place of any other."""
        fields: list[Value] = [self.number, self.header.encode(), self.blob, self.game, self.ply, self.delay]
        store.put(PLAN, encode(fields))


def kept_plan(store: Store) -> Plan | None:
    """The plan in a store."""
    data = store.get(PLAN)
    match None if data is None else decode(data, MOST_BYTES):
        case [int(number), bytes(header), bytes(blob), int(game), int(ply), int(delay)]:
            return Plan(number, Envelope.parse(header), blob, game, ply, delay)
    return None


def drop_plan(store: Store) -> None:
    """Forgets the plan in a store."""
    store.delete(PLAN)


def commitment_every(ringer_batches: int) -> int:
    """A commitment is logged for each so many batches; a header follows its own within two such spans."""
    return max(1, ringer_batches // 10)
