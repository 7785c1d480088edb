"""The numbers of a run: `RunFacts`, which every report says in its own form.

Page: docs/commands.md ("gonode report"). Plain values in the units that people read; nothing here plots, reads or counts.
"""

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Losses:
    """Mean losses over `rows` positions, each without its weight."""

    rows: int
    policy: float
    opponent_policy: float
    value: float
    score: float
    ownership: float


@dataclass(frozen=True, slots=True)
class Rounding:
    """The integer network against the float one: nats, root mean square in -1..1, share of equal first moves."""

    rows: int
    policy_divergence: float
    value_error: float
    same_move: float


@dataclass(frozen=True, slots=True)
class Cycle:
    """One training cycle and the gate of its candidate, `elo` +- `elo_error` (95 %) above release 0.

    `entry`: of the train record. `released`: None while the gate is open. `name`: of the release, empty without one. `elo`:
    None when no gate game counts. `losses` and `held_out`: None when they were taken over no rows.
    """

    cycle: int
    entry: int
    unix_s: int | None
    steps: int
    samples: int
    shape: str
    device: str
    processes: int
    window_batches: int
    window_games: int
    window_rows: int
    total_rows: int
    losses: Losses | None
    held_out: Losses | None
    rounding: Rounding | None
    name: str
    released: bool | None
    pairs: int
    elo: float | None
    elo_error: float | None


@dataclass(frozen=True, slots=True)
class GivenUp:
    """A cycle that ended without a candidate: `reason` names the trainer's error, `text` says it."""

    cycle: int
    entry: int
    unix_s: int | None
    reason: str
    text: str


@dataclass(frozen=True, slots=True)
class DataPoint:
    """What the first `entry` entries of the log hold: batches and plies logged, and rows released to training.

    `unix_s`: by when a witness had seen so many entries; None where no head in the folder says.
    """

    entry: int
    unix_s: int | None
    batches: int
    plies: int
    released_rows: int


@dataclass(frozen=True, slots=True)
class GameLengths:
    """Accepted batches that were logged in the time of a cycle: after the window before, up to its own.

    `mean_plies` is of all their games and counts searched moves; `shortest` and `longest` are the 10th and 90th percentile
    of all moves in the `sampled` games, None without any.
    """

    cycle: int
    games: int
    mean_plies: float
    sampled: int
    shortest: int | None
    longest: int | None


@dataclass(frozen=True, slots=True)
class Balance:
    """Sampled games of a cycle's time on one board with one komi: how many, won by Black, and drawn."""

    cycle: int
    size: int
    komi: float
    games: int
    black_wins: int
    draws: int


@dataclass(frozen=True, slots=True)
class Share:
    """One contributor's part of the accepted plies, from 0 to 1; `standing` as in `gonode status --contributors`."""

    key: str
    name: str
    standing: str
    games: int
    plies: int
    share: float


@dataclass(frozen=True, slots=True)
class Banned:
    """A key that is banned by a log entry; `role` is `contributor` or `verifier`."""

    key: str
    name: str
    role: str
    entry: int


@dataclass(frozen=True, slots=True)
class Verification:
    """What verifiers did: batches decided by outcome, games drawn and replayed, bans and pardons."""

    batches: int
    accepted: int
    rejected: int
    lost: int
    pending: int
    games: int
    verified_games: int
    rejected_games: int
    pending_games: int
    replayed_games: int
    pardons: int
    bans: tuple[Banned, ...]


@dataclass(frozen=True, slots=True)
class Sample:
    """How many batches were opened to look at their games: `read` of `accepted`; `missing` ones are not in the folder."""

    accepted: int
    read: int
    missing: int


@dataclass(frozen=True, slots=True)
class RunFacts:
    """Everything that a report says of a run, as the log of one node has it at `log_size`."""

    run: str
    name: str
    log_size: int
    first_unix_s: int | None
    last_unix_s: int | None
    releases: tuple[str, ...]
    cycles: tuple[Cycle, ...]
    given_up: tuple[GivenUp, ...]
    data: tuple[DataPoint, ...]
    lengths: tuple[GameLengths, ...]
    balance: tuple[Balance, ...]
    shares: tuple[Share, ...]
    verification: Verification
    sample: Sample

    def to_json(self) -> dict[str, Any]:
        """The object that `gonode report --json` prints."""
        return asdict(self)
