"""What a running node says of its own role's work: `Work`, a part of `node.status.Status`.

Spec: `docs/commands.md` ("gonode status").
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from node.json_record import encode_record
from node.training.events import Progress


@dataclass(frozen=True, slots=True)
class Pause:
    """What play waits for, and since when."""

    waiting_for: str
    since_unix_s: int | None


@dataclass(frozen=True, slots=True)
class Played:
    """Games that were finished, and their plies."""

    games: int
    plies: int


@dataclass(frozen=True, slots=True)
class Contributing:
    """A contributor's own: since its start, and since midnight UTC; `hottest_c` is its processor's, in degrees Celsius."""

    name: str
    played: int
    played_plies: int
    played_visits: int
    today: Played
    paused: Pause | None
    hottest_c: float | None


@dataclass(frozen=True, slots=True)
class Verifying:
    """A verifier's own, since its start."""

    verdicts: int
    replayed_plies: int


@dataclass(frozen=True, slots=True)
class ReleaseState:
    """A release after release 0; `steps` of training lie behind it."""

    name: str
    number: int
    steps: int


@dataclass(frozen=True, slots=True)
class Coordinating:
    """A coordinator's own: the trainer's last word, what others did against the rules, and of the open gate how many pairs
    are counted and how many are played, which count once those before them do and a verifier accepted them."""

    doing: str
    training: Progress | None
    faults: tuple[str, ...]
    releases: tuple[ReleaseState, ...]
    gate: int | None
    gate_played: int | None

    def to_json(self) -> dict[str, Any]:
        """As the status has it; `training` is an empty object before the trainer said anything."""
        training = {} if self.training is None else self.training.to_json()
        return {**encode_record(self), "training": training}


@dataclass(frozen=True, slots=True)
class Relaying:
    """A relay's own: networks fetched since its start, peers for which it relays, circuits that are open."""

    networks: int
    places: int
    circuits: int


@dataclass(frozen=True, slots=True)
class Mirroring:
    """A mirror's own: blobs that came since its start, entries of the head that its folder shows, blobs that nobody has."""

    copied: int
    shown: int
    missing: int


Work = Contributing | Verifying | Coordinating | Relaying | Mirroring

WORKS: Final[Mapping[str, type[Work]]] = MappingProxyType(
    {
        "contributor": Contributing,
        "verifier": Verifying,
        "coordinator": Coordinating,
        "relay": Relaying,
        "mirror": Mirroring,
    }
)
"""What each role says of its own."""
