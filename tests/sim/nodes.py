"""The nodes of a simulation: who they are, their lives, and what they said."""

from collections.abc import Callable
from dataclasses import dataclass, field

import trio

from node.contributor.contributor import Contributor
from node.coordinator.coordinator import Coordinator
from node.disk.home import Home
from node.engine.engine import Engine
from node.events import Field
from node.member import Member
from node.verifier.verifier import Verifier
from protocol.ed25519 import SecretKey
from verification.state import LogState

MakeContributor = Callable[..., Contributor]
MakeVerifier = Callable[..., Verifier]


@dataclass(slots=True)
class Event:
    """What a node said, and when on the virtual clock."""

    at_s: float
    node: str
    name: str
    text: str
    values: dict[str, Field]


@dataclass(slots=True, eq=False)
class Life:
    """One life of a node, from its start to its end or kill.

    From write `fault_at` on its disk takes nothing, with the error number `fault`; `failure` is what it ended with.
    """

    scope: trio.CancelScope = field(default_factory=trio.CancelScope)
    ended: trio.Event = field(default_factory=trio.Event)
    writes: int = 0
    last_write: int | None = None
    fault: int | None = None
    fault_at: int | None = None
    failure: BaseExceptionGroup[Exception] | None = None
    is_killed: bool = False


@dataclass(slots=True, eq=False)
class Node:
    """A node over all its lives. `secret` is its role's key; `skew_s` is what its wall clock is ahead."""

    name: str
    secret: SecretKey
    host: SecretKey
    home: Home
    engine: Engine
    skew_s: float = 0.0
    invite: bytes = b""
    make: MakeContributor = Contributor
    make_verifier: MakeVerifier = Verifier
    is_honest: bool = True
    lives: list[Life] = field(default_factory=list)
    member: Member | None = None
    role: Coordinator | Verifier | Contributor | None = None

    @property
    def word(self) -> str:
        """The name as one word, for records and folders."""
        return self.name.replace(" ", "-")

    @property
    def life(self) -> Life:
        """The newest life."""
        return self.lives[-1]

    @property
    def is_alive(self) -> bool:
        """Whether it runs."""
        return bool(self.lives) and not self.life.is_killed and not self.life.ended.is_set()

    @property
    def state(self) -> LogState:
        """What its copy of the log says."""
        assert self.member is not None, f"{self.name} has not opened"
        return self.member.state
