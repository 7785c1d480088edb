"""Scrutiny is logged once while it lasts, and only strengthened."""

from types import SimpleNamespace
from typing import Any

from node.coordinator.scrutineer import RESTARTED, Scrutineer
from protocol.envelope import Envelope
from protocol.seeds import PPM
from tests.node.keys import secret
from tests.verification.test_batches import policy
from tests.verification.verdicts import accepted
from tests.verification.world import World
from verification.statistics.suspicion import Suspicion


class Desk:
    """A scrutineer over a world in which ada has one batch."""

    def __init__(self) -> None:
        self.world = World(policy(exit_entries=30))
        self.ada = self.world.register("ada").public
        accepted(self.world)
        self.said: list[str] = []
        member: Any = SimpleNamespace(
            state=self.world.state, wake=lambda: None, events=lambda event, text, **values: self.said.append(text)
        )
        log: Any = SimpleNamespace(append=self._append)
        self.scrutineer = Scrutineer(member, self.world.coordinator, log)

    def ask(self, q_ppm: int, restart: bool = False, reason: str = "odd", peer: bytes = b"") -> bool:
        return self.scrutineer.raise_share(Suspicion(peer or self.ada, q_ppm, restart, reason))

    @property
    def in_force(self) -> tuple[int, int]:
        identity = self.world.state.batches.identity(self.ada)
        assert identity is not None
        return identity.scrutiny

    def _append(self, envelope: Envelope) -> int:
        return self.world.log_bytes(envelope.encode())


def test_one_in_force_is_not_said_again_until_it_ends() -> None:
    desk = Desk()
    size = desk.world.state.size
    assert desk.ask(PPM // 2)
    assert desk.in_force == (PPM // 2, size + 30)
    assert not desk.ask(PPM // 2)
    assert not desk.ask(PPM // 4)
    desk.world.ticks(30)
    assert desk.ask(PPM // 4)
    assert desk.in_force[0] == PPM // 4
    assert len(desk.said) == 2


def test_a_stronger_one_is_said() -> None:
    desk = Desk()
    assert desk.ask(PPM // 2)
    assert desk.ask(PPM)
    assert desk.in_force[0] == PPM


def test_probation_restarts_once() -> None:
    desk = Desk()
    assert desk.ask(PPM)
    identity = desk.world.state.batches.identity(desk.ada)
    assert identity is not None
    assert identity.accepted == 1
    assert desk.ask(PPM // 2, restart=True, reason="x" * 200)
    assert (identity.accepted, desk.in_force[0]) == (0, PPM)
    assert identity.scrutiny_reason.startswith(RESTARTED)
    assert not desk.ask(PPM // 2, restart=True)


def test_nobody_unknown_is_looked_at() -> None:
    desk = Desk()
    assert not desk.ask(PPM, peer=secret(99).public)
    assert desk.said == []
