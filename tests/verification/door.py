"""A world in which keys register with stamps, and what its state says of slots. For tests."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from protocol import stamp
from protocol.ed25519 import SecretKey
from protocol.envelope import Envelope
from protocol.registration import Registration
from protocol.slots import SlotList
from tests.verification.manifests import small_manifest
from tests.verification.world import World
from verification.faults import LogFault, NotYet
from verification.state import LogState

TIMEOUT = 20


@dataclass
class Gate:
    """A world in which keys register with stamps."""

    slots: int = 2
    difficulty: int = 1
    batches: int = 1
    world: World = field(init=False)

    def __post_init__(self) -> None:
        plain = small_manifest()
        policy = replace(
            plain.admission,
            registration="stamp",
            stamp_difficulty=self.difficulty,
            probation_slots=self.slots,
            probation_batches=self.batches,
            timeout_entries=TIMEOUT,
        )
        self.world = World(replace(plain, admission=policy))

    @property
    def state(self) -> LogState:
        return self.world.state

    def stamped(self, who: str, size: int | None = None, **changes: Any) -> Envelope:
        """A registration of the key of `who` with a stamp for the tree of `size`, by default the newest."""
        world = self.world
        size = world.state.size if size is None else size
        plain = Registration(world.run, world.key(who).public, who, b"", size, world.state.tree.root(size), b"", 0)
        record, is_found = stamp.find_stamp(replace(plain, **changes), self.difficulty, 1 << 16)
        assert is_found
        return record.seal(world.key(who))

    def list_these(self, waiting: Iterable[Envelope], is_drawn: bool = True) -> int:
        """Logs a slot list of these, and its beacon."""
        digests = tuple(envelope.digest for envelope in waiting)
        index = self.world.log(SlotList(self.world.run, digests), self.world.coordinator)
        if is_drawn:
            self.world.share_set()
        return index

    def log(self, envelope: Envelope) -> int:
        """Logs a registration, and the beacon that makes its join nonce."""
        index = self.world.log_bytes(envelope.encode())
        self.world.share_set()
        return index

    def join(self, name: str) -> SecretKey:
        """Has one key win a slot and register."""
        envelope = self.stamped(name)
        self.list_these([envelope])
        self.log(envelope)
        key = self.world.peers[name] = self.world.key(name)
        return key

    def free(self) -> int:
        """The slots that a list logged next may give."""
        return self.state.slots.free

    def why(self, envelope: Envelope) -> str:
        """Why a registration may not be logged now."""
        with pytest.raises(LogFault) as fault:
            self.state.check(envelope.encode())
        return ("later: " if isinstance(fault.value, NotYet) else "never: ") + fault.value.reason

    def winners(self, waiting: Iterable[Envelope]) -> list[Envelope]:
        """Those that may be logged now."""
        return [envelope for envelope in waiting if self.may_log(envelope)]

    def may_log(self, envelope: Envelope) -> bool:
        try:
            self.state.check(envelope.encode())
        except NotYet:
            return False
        return True


def known(gate: Gate, envelope: Envelope) -> SecretKey:
    """The key that signed a registration, known to the world under its name."""
    record = Registration.open(envelope)
    key = gate.world.peers[record.name] = gate.world.key(record.name)
    assert key.public == record.peer
    return key


def standing(state: LogState) -> tuple[Any, ...]:
    """What a state says of slots."""
    peers = state.registry.peers
    return (
        state.slots.holders,
        state.slots.free,
        state.slots.draw,
        [(peer, state.registry.has_lost_slot(peer), state.slots.last_index(peer)) for peer in peers],
    )
