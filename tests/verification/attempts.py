"""Records at random that a state takes or refuses: `Attempts`, what everybody who acts in a history stands on. For tests."""

from collections.abc import Sequence
from random import Random
from typing import TypeVar

import pytest

from protocol.ed25519 import SecretKey
from protocol.proof import PLY, FraudProof, LoggedEntry
from protocol.proof import VERIFIER as ACCUSED_VERIFIER
from protocol.record import Record
from tests.verification.manifests import any_manifest, digest_of
from tests.verification.test_state import snapshot
from tests.verification.world import World
from verification.faults import LogFault
from verification.identities import batch_of
from verification.subjects import BatchSubject

T = TypeVar("T")


class Attempts:
    """A run in which records are tried: its world, its randomness, its keys, and what was refused."""

    def __init__(self, seed: int) -> None:
        self.rng = Random(seed)
        self.temper = (0.03, 0.1, 0.3)[seed % 3]  # how often somebody is dishonest
        self.world = World(any_manifest(self.rng), verifiers=(3, 2, 3, 1)[seed % 4], word=f"any {seed}")
        self.state = self.world.state
        self.coordinator = self.world.coordinator
        self.keys: dict[bytes, SecretKey] = {}
        self.names: list[str] = []
        self.numbers = 0
        self.secrets: dict[bytes, tuple[int, int, bytes]] = {}  # ringer's header digest -> game, ply, salt
        self.refusals: set[str] = set()
        self.done: set[str] = set()

    def attempt(self, record: Record, *signers: SecretKey) -> int | None:
        """Logs a record if the state takes it; a refusal changes nothing."""
        data = record.seal(*signers).encode()
        before = snapshot(self.state) if self.rng.random() < 0.1 else None
        size, root = self.state.size, self.state.tree.root()
        try:
            self.state.check(data)
        except LogFault as fault:
            self.refusals.add(fault.reason)
            with pytest.raises(LogFault):
                self.state.apply(data)
            assert (self.state.size, self.state.tree.root()) == (size, root)
            assert before is None or snapshot(self.state) == before
            return None
        assert before is None or snapshot(self.state) == before
        self.done.add(record.NAME)
        return self.world.log_bytes(data)

    def number(self) -> int:
        self.numbers += 1
        return self.numbers

    def word(self) -> bytes:
        return digest_of(f"{self.world.word} {self.number()}")

    def roughly(self, value: int, chance: float = 0.05) -> int:
        """The value, or rarely one beside it."""
        return max(0, value + self.rng.choice((-1, 1))) if self.rng.random() < chance else value

    def some(self, items: Sequence[T]) -> T | None:
        return self.rng.choice(items) if items else None

    def logged(self, index: int) -> LoggedEntry:
        return LoggedEntry(self.world.entry(index), index, ())

    def proof(self, check: BatchSubject, accused: str, kind: str = PLY) -> bytes:
        """A proof that has the form of one; what it shows is nobody's business here."""
        against = accused == ACCUSED_VERIFIER
        batch = batch_of(check)
        return FraudProof(
            run=self.world.run,
            kind=kind,
            accused=accused,
            root=self.world.entry(0),
            manifest=self.world.entry(1),
            later=(),
            release=b"",
            checkpoint=b"",
            header=self.logged(batch.index),
            registration=self.logged(batch.header.registration),
            shares=self.logged(0),
            verdict=(self.logged(check.verdict_index),) if against else (),
            game=b"",
            game_index=0,
            game_path=(),
            ply=b"",
            ply_index=0,
            ply_path=(),
        ).encode()
