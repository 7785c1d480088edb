"""The small manifest that tests found runs with, and digests that stand for words."""

from dataclasses import replace
from hashlib import sha256
from random import Random

from protocol.manifest import (
    AdmissionPolicy,
    BoardWeight,
    GatePolicy,
    KomiWeight,
    Limits,
    Manifest,
    NetworkSpec,
    Opening,
    RulesSpec,
    Stage,
    TrainingPolicy,
    WindowPolicy,
)
from protocol.search_config import SEMANTICS, SearchConfig
from protocol.seeds import PPM
from protocol.types import ZERO

SEARCH = SearchConfig(
    semantics=SEMANTICS,
    root="puct",
    visits_full=12,
    visits_fast=6,
    full_share_ppm=400_000,
    cpuct_micro=1_100_000,
    fpu_reduction_micro=200_000,
    root_fpu_reduction_micro=0,
    noise_weight_ppm=250_000,
    noise_alpha_micro=10_000_000,
    root_temperature_micro=1_100_000,
    forced_playouts_micro=2_000_000,
    score_utility_micro=100_000,
    temperature_start_micro=800_000,
    temperature_end_micro=200_000,
    temperature_halflife=7,
    gumbel_considered=4,
    gumbel_noise_micro=1_000_000,
    gumbel_c_visit_micro=50_000_000,
    gumbel_c_scale_micro=1_000_000,
    symmetry=True,
)


def digest_of(word: str) -> bytes:
    """The digest that stands for `word`."""
    return sha256(f"gonode test world: {word}".encode()).digest()


def small_manifest(**changes: object) -> Manifest:
    """A manifest of 7x7 games that last milliseconds; `changes` replace its fields."""
    manifest = Manifest(
        run=ZERO,
        version=1,
        name="world",
        rules=RulesSpec(ko="positional", suicide=True, pass_alive=True, settled_end=True, move_cap_factor=1),
        stages=(Stage(0, (BoardWeight(7, 1, (KomiWeight(17, 1), KomiWeight(19, 1))),)),),
        openings=(Opening(7, (), 3, 1), Opening(7, (24,), 1, 1), Opening(7, (16, 32), 0, 1)),
        selfplay=SEARCH,
        gate_search=replace(SEARCH, full_share_ppm=10**6, noise_weight_ppm=0, forced_playouts_micro=0),
        network=NetworkSpec(blocks=1, channels=16, features=1, first="random"),
        admission=AdmissionPolicy(
            registration="invite",
            stamp_difficulty=0,
            games_per_batch=2,
            probation_batches=1,
            hold_back_batches=1,
            q_min_ppm=500_000,
            epoch_entries=200,
            exit_entries=2000,
            timeout_entries=20,
            final_entries=40,
            tick_s=2,
            probation_slots=4,
            exit_ppm=200_000,
            tail_ppm=0,
            repeat_ppm=0,
            pardon_plies=10**6,
            alarm_identities=0,
            ringer_batches=0,
        ),
        gate=GatePolicy(
            kind="win-rate",
            elo0=0,
            elo1=50,
            games=8,
            win_rate_ppm=0,
            replay_ppm=500_000,
            pairs_per_assignment=2,
            release_every_steps=0,
        ),
        window=WindowPolicy(first_rows=100, new_rows=100, floor_rows=200, exponent_ppm=700_000),
        training=TrainingPolicy(
            minibatch=64,
            samples_per_row_milli=4000,
            samples_per_cycle=1_000_000,
            learning_rate_micro=20_000,
            warmup_steps=10,
            momentum_micro=900_000,
            weight_decay_micro=30,
            gradient_clip_micro=1_000_000,
            ema_micro=990_000,
            policy_weight_micro=1_000_000,
            opponent_policy_weight_micro=150_000,
            value_weight_micro=1_000_000,
            score_weight_micro=20_000,
            ownership_weight_micro=150_000,
            value_root_share_ppm=0,
            held_out_ppm=10_000,
            calibration_rows=64,
            threads=1,
            schedule=(),
            quantised_share_ppm=100_000,
            most_policy_divergence_micro=50_000,
            most_value_error_micro=50_000,
            least_same_move_ppm=600_000,
            processes=1,
            precision="float32",
        ),
        limits=Limits(blob_bytes=2**22, raw_bytes=2**23),
        bootstrap=(),
    )
    return replace(manifest, **changes)  # type: ignore[arg-type]


def any_manifest(rng: Random) -> Manifest:
    """A manifest whose numbers let everything happen within a few hundred entries."""
    manifest = small_manifest()
    policy = replace(
        manifest.admission,
        registration=rng.choice(("invite", "stamp")),
        probation_batches=rng.choice((1, 2)),
        hold_back_batches=rng.choice((0, 1, 3)),
        q_min_ppm=rng.choice((300_000, PPM)),
        exit_entries=rng.choice((25, 60)),
        epoch_entries=30,
        timeout_entries=rng.choice((8, 15)),
        final_entries=10,
        probation_slots=2,
        exit_ppm=rng.choice((300_000, PPM)),
        tail_ppm=rng.choice((0, PPM // 2, PPM)),
        repeat_ppm=rng.choice((0, PPM // 2)),
        pardon_plies=rng.choice((20, 10**6)),
        alarm_identities=rng.choice((0, 2)),
        ringer_batches=20,
    )
    window = replace(manifest.window, first_rows=40, new_rows=20, floor_rows=80)
    gate = replace(manifest.gate, kind=rng.choice(("win-rate", "always")))
    return replace(manifest, admission=policy, window=window, gate=gate)
