"""The manifest of a run: everything that self-play, admission, gating and training are a function of.

Spec: `docs/spec/manifest.md`. Signed by the root's threshold, versions logged, only rising. People write it as TOML
(`node.manifest_file`).
"""

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Annotated

from protocol.record import Record
from protocol.search_config import SearchConfig
from protocol.types import I16, I32, U16, U32, U64, ZERO, Address, Choice, Digest, Name, Ppm, Range, Size

NetSize = Annotated[int, Range(7, 19)]
StageVisits = Annotated[int, Range(0, 60000)]


@dataclass(frozen=True, slots=True)
class RulesSpec(Record):
    """Rules of every game of the run; scoring is by area, komi comes from the board's weights.

    A game that ends because areas are settled has dead stones on its board, which only `pass_alive` counts as dead.
    """

    ko: Annotated[str, Choice(("simple", "positional", "situational"))]
    suicide: bool
    pass_alive: bool
    settled_end: bool
    move_cap_factor: Annotated[int, Range(1, 10)]

    def check(self) -> None:
        if self.settled_end and not self.pass_alive:
            raise self.fail(
                "`settled_end` needs `pass_alive`: else dead stones on a settled board would count as alive"
            )


@dataclass(frozen=True, slots=True)
class KomiWeight(Record):
    """A komi in half points and how often it is drawn."""

    komi_half: I16
    weight: U32


@dataclass(frozen=True, slots=True)
class BoardWeight(Record):
    """A board size, how often it is drawn, and its komis."""

    size: NetSize
    weight: U32
    komi: tuple[KomiWeight, ...]

    def check(self) -> None:
        if not any(item.weight for item in self.komi):
            raise self.fail("a board needs a komi with a weight above 0")


@dataclass(frozen=True, slots=True)
class Stage(Record):
    """The boards of the curriculum from a training step on, and the visits of self-play there (0: `selfplay`'s)."""

    from_step: U64
    boards: tuple[BoardWeight, ...]
    visits_full: StageVisits = 0
    visits_fast: StageVisits = 0

    def check(self) -> None:
        if 1 in (self.visits_full, self.visits_fast):
            raise self.fail("visits must be 0 or from 2 on")
        if not any(board.weight for board in self.boards):
            raise self.fail("a stage needs a board with a weight above 0")


@dataclass(frozen=True, slots=True)
class Opening(Record):
    """Moves played before the first search, and how often self-play and gate games draw them."""

    size: Size
    moves: tuple[U16, ...]
    selfplay_weight: U32
    gate_weight: U32

    def check(self) -> None:
        if len(self.moves) > 64 or any(move > self.size * self.size for move in self.moves):
            raise self.fail("at most 64 moves on the board")


@dataclass(frozen=True, slots=True)
class NetworkSpec(Record):
    """Architecture of the first networks, until one is grown, and what release 0 evaluates with."""

    blocks: Annotated[int, Range(1, 40)]
    channels: Annotated[int, Range(16, 512)]
    features: U16
    first: Annotated[str, Choice(("random", "uniform"))]

    def check(self) -> None:
        if self.channels % 16:
            raise self.fail("channels must be a multiple of 16")

    @property
    def shape(self) -> str:
        """The architecture as text: `b4c32`."""
        return f"b{self.blocks}c{self.channels}"


@dataclass(frozen=True, slots=True)
class AdmissionPolicy(Record):
    """How batches are admitted; everything that is waited for counts in log entries.

    `probation_slots`: identities that stamps let on probation at once. `exit_ppm`: games of a silent identity drawn once
    more. `tail_ppm`: ended series that others continue. `repeat_ppm`: accepted games replayed again after a reveal.
    `pardon_plies`: replayed plies for each wrong one that is forgiven. `alarm_identities`: failing alike, they pause bans
    (0: never). `ringer_batches`: batches for each one with a deliberate fault (0: none).
    """

    registration: Annotated[str, Choice(("invite", "stamp"))]
    stamp_difficulty: U32
    games_per_batch: Annotated[int, Range(1, 1024)]
    probation_batches: Annotated[int, Range(1, 10000)]
    hold_back_batches: U16
    q_min_ppm: Annotated[int, Range(50_000, 10**6)]
    epoch_entries: Annotated[int, Range(10, 10**9)]
    exit_entries: U32
    timeout_entries: Annotated[int, Range(1, 10**9)]
    final_entries: Annotated[int, Range(1, 10**9)]
    tick_s: Annotated[int, Range(1, 3600)]
    probation_slots: U16
    exit_ppm: Ppm
    tail_ppm: Ppm
    repeat_ppm: Ppm
    pardon_plies: Annotated[int, Range(1, 2**40)]
    alarm_identities: U16
    ringer_batches: U32


@dataclass(frozen=True, slots=True)
class GatePolicy(Record):
    """How a candidate becomes a release. Bounds in normalised Elo, cap in games, replay as a share of pairs."""

    kind: Annotated[str, Choice(("sprt", "win-rate", "elo-threshold", "always"))]
    elo0: I32
    elo1: I32
    games: Annotated[int, Range(2, 10**6)]
    win_rate_ppm: Ppm
    replay_ppm: Ppm
    pairs_per_assignment: Annotated[int, Range(1, 64)]
    release_every_steps: U64

    def check(self) -> None:
        if self.games % 2 or self.elo1 <= self.elo0:
            raise self.fail("games must be even and elo1 above elo0")


@dataclass(frozen=True, slots=True)
class WindowPolicy(Record):
    """Which rows a cycle trains on: `rows = floor_rows * (total / floor_rows) ^ exponent`, at most all there are."""

    first_rows: Annotated[int, Range(1, 2**40)]
    new_rows: Annotated[int, Range(1, 2**40)]
    floor_rows: Annotated[int, Range(1, 2**40)]
    exponent_ppm: Ppm


@dataclass(frozen=True, slots=True)
class RatePoint(Record):
    """The learning rate's factor at a step of the network's age."""

    step: U64
    factor_ppm: Annotated[int, Range(0, 10**7)]


@dataclass(frozen=True, slots=True)
class TrainingPolicy(Record):
    """The optimiser, the losses, and what a candidate may lose by rounding. Weights and rates in millionths.

    A cycle draws `samples_per_row_milli / 1000` samples for each row released since the last window, at most
    `samples_per_cycle`. `schedule`: factors of the learning rate, linear between its points. `quantised_share_ppm`: last
    share of a cycle's steps that train as rounded. `most_*`, `least_*`: beyond them a gate refuses without a game.
    """

    NAME = "training-policy"

    minibatch: Annotated[int, Range(1, 65536)]
    samples_per_row_milli: U32
    samples_per_cycle: Annotated[int, Range(1, 2**40)]
    learning_rate_micro: U32
    warmup_steps: U32
    momentum_micro: Ppm
    weight_decay_micro: U32
    gradient_clip_micro: U32
    ema_micro: Ppm
    policy_weight_micro: U32
    opponent_policy_weight_micro: U32
    value_weight_micro: U32
    score_weight_micro: U32
    ownership_weight_micro: U32
    value_root_share_ppm: Ppm
    held_out_ppm: Ppm
    calibration_rows: Annotated[int, Range(16, 10**6)]
    threads: Annotated[int, Range(1, 256)]
    schedule: tuple[RatePoint, ...]
    quantised_share_ppm: Ppm
    most_policy_divergence_micro: U32
    most_value_error_micro: U32
    least_same_move_ppm: Ppm
    processes: Annotated[int, Range(1, 64)]
    precision: Annotated[str, Choice(("float32", "bfloat16"))]

    def check(self) -> None:
        steps = [point.step for point in self.schedule]
        if len(steps) > 64 or any(a >= b for a, b in pairwise(steps)):
            raise self.fail("the schedule has at most 64 points, and their steps rise")
        if self.minibatch % self.processes:
            raise self.fail(
                f"a minibatch of {self.minibatch} rows has no {self.processes} equal parts for its processes"
            )


@dataclass(frozen=True, slots=True)
class Limits(Record):
    """Sizes that admission refuses to exceed."""

    blob_bytes: Annotated[int, Range(1024, 2**26)]
    raw_bytes: Annotated[int, Range(1024, 2**26)]


@dataclass(frozen=True, slots=True)
class Manifest(Record):
    """One version of the manifest. `run` is all zero in version 1, whose bytes make the run id."""

    NAME = "manifest"

    run: Digest
    version: U32
    name: Name
    rules: RulesSpec
    stages: tuple[Stage, ...]
    openings: tuple[Opening, ...]
    selfplay: SearchConfig
    gate_search: SearchConfig
    network: NetworkSpec
    admission: AdmissionPolicy
    gate: GatePolicy
    window: WindowPolicy
    training: TrainingPolicy
    limits: Limits
    bootstrap: tuple[Address, ...]

    def check(self) -> None:
        if self.version < 1 or (self.version == 1) != (self.run == ZERO):
            raise self.fail("version 1, and only it, has no run id")
        steps = [stage.from_step for stage in self.stages]
        if not steps or steps[0] != 0 or any(a >= b for a, b in pairwise(steps)):
            raise self.fail("stages must start at step 0 and rise")
        if self.selfplay.semantics != self.gate_search.semantics:
            raise self.fail("self-play and gating must have the same semantics")

    def stage(self, step: int) -> Stage:
        """The stage of the curriculum at a training step."""
        return next(stage for stage in reversed(self.stages) if stage.from_step <= step)

    def selfplay_at(self, step: int) -> SearchConfig:
        """The search of self-play at a training step: `selfplay` with the visits of the stage."""
        stage, search = self.stage(step), self.selfplay
        full, fast = stage.visits_full or search.visits_full, stage.visits_fast or search.visits_fast
        if (full, fast) == (search.visits_full, search.visits_fast):
            return search
        return replace(search, visits_full=full, visits_fast=fast)

    def openings_for(self, size: int) -> tuple[Opening, ...]:
        """The openings of a board size; a game's opening number indexes them. Without any, opening 0 is empty."""
        return tuple(item for item in self.openings if item.size == size) or (Opening(size, (), 1, 1),)

    def openings_digest(self) -> bytes:
        """SHA-256 of the openings alone, which a release names."""
        return OpeningList(self.openings).digest()


@dataclass(frozen=True, slots=True)
class OpeningList(Record):
    """All openings of a manifest, for their digest."""

    NAME = "openings"

    openings: tuple[Opening, ...]
