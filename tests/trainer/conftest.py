"""A small run to train on: its manifest, and batches of games played by the engine with uniform evaluation."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from native.network import Kernel
from native.pool import Job as Game
from native.pool import Pool
from native.rules import Ko, Rules
from native.search import Player
from native.search import SearchConfig as Numbers
from protocol.batch import encode_batch
from protocol.blob import blob_digest
from protocol.compress import compress
from protocol.manifest import (
    AdmissionPolicy,
    BoardWeight,
    GatePolicy,
    KomiWeight,
    Limits,
    Manifest,
    NetworkSpec,
    RulesSpec,
    Stage,
    TrainingPolicy,
    WindowPolicy,
)
from protocol.search_config import SEMANTICS, SearchConfig
from protocol.types import ZERO
from trainer.pin import pin

GAMES_PER_BATCH = 6
NUMBERS: dict[str, int] = {
    "visits_full": 40,
    "visits_fast": 12,
    "full_share_ppm": 600_000,
    "cpuct_micro": 1_100_000,
    "fpu_reduction_micro": 200_000,
    "root_fpu_reduction_micro": 0,
    "noise_weight_ppm": 250_000,
    "noise_alpha_micro": 10_800_000,
    "root_temperature_micro": 1_100_000,
    "forced_playouts_micro": 2_000_000,
    "score_utility_micro": 100_000,
    "temperature_start_micro": 800_000,
    "temperature_end_micro": 200_000,
    "temperature_halflife": 7,
    "gumbel_considered": 8,
    "gumbel_noise_micro": 1_000_000,
    "gumbel_c_visit_micro": 50_000_000,
    "gumbel_c_scale_micro": 1_000_000,
}
SIZES = {7: 18, 9: 15}

MakeManifest = Callable[..., Manifest]
MakeJob = Callable[..., Path]


def manifest_of(**changes: Any) -> Manifest:
    """A manifest whose training policy has these numbers, and a network of 2 blocks of 16 channels."""
    search = SearchConfig(semantics=SEMANTICS, root="puct", symmetry=True, **NUMBERS)
    training: dict[str, Any] = {
        "minibatch": 32,
        "samples_per_row_milli": 4000,
        "samples_per_cycle": 1_000_000,
        "learning_rate_micro": 100_000,
        "warmup_steps": 10,
        "momentum_micro": 900_000,
        "weight_decay_micro": 100,
        "gradient_clip_micro": 5_000_000,
        "ema_micro": 950_000,
        "policy_weight_micro": 1_000_000,
        "opponent_policy_weight_micro": 150_000,
        "value_weight_micro": 1_000_000,
        "score_weight_micro": 200_000,
        "ownership_weight_micro": 300_000,
        "value_root_share_ppm": 100_000,
        "held_out_ppm": 150_000,
        "calibration_rows": 256,
        "threads": 1,
        "schedule": (),
        "quantised_share_ppm": 0,
        "most_policy_divergence_micro": 50_000,
        "most_value_error_micro": 50_000,
        "least_same_move_ppm": 600_000,
        "processes": 1,
        "precision": "float32",
    }
    return Manifest(
        run=ZERO,
        version=1,
        name="small",
        rules=RulesSpec(ko="positional", suicide=False, pass_alive=True, settled_end=True, move_cap_factor=3),
        stages=(Stage(0, tuple(BoardWeight(size, 1, (KomiWeight(komi, 1),)) for size, komi in SIZES.items())),),
        openings=(),
        selfplay=search,
        gate_search=search,
        network=NetworkSpec(blocks=2, channels=16, features=1, first="uniform"),
        admission=AdmissionPolicy(
            "invite", 0, GAMES_PER_BATCH, 1, 2, 50_000, 1000, 1000, 200, 200, 10, 4, 200_000, 0, 0, 10**6, 0, 0
        ),
        gate=GatePolicy("sprt", 0, 50, 400, 550_000, 200_000, 2, 0),
        window=WindowPolicy(1000, 1000, 1000, 650_000),
        training=TrainingPolicy(**(training | changes)),
        limits=Limits(2**24, 2**25),
        bootstrap=(),
    )


def rules_for(size: int) -> Rules:
    """The rules of the run's games."""
    komi, cap = SIZES[size], 3 * size * size
    return Rules(size, size, komi, ko=Ko.POSITIONAL, suicide=False, pass_alive=True, settled_end=True, move_cap=cap)


def play(games: int, size: int) -> list[bytes]:
    """The blocks of games played with uniform evaluation."""
    player, config, blocks = Player(None, bytes(32)), Numbers(root=0, symmetry=1, **NUMBERS), {}
    with Pool(1, Kernel.BEST) as pool:
        for i in range(games):
            seed = hashlib.sha256(bytes([size]) + i.to_bytes(4, "little")).digest()
            pool.play(Game(i, i, rules_for(size), config, bytes(32), seed, player, player))
        while pool.pending:
            done = pool.wait(10.0)
            assert done is not None
            assert done.is_ok
            blocks[done.id] = done.block
    return [blocks[i] for i in range(games)]


def store_batches(folder: Path, blocks: list[bytes]) -> list[dict[str, Any]]:
    """Batches of the blocks as files, and how a job lists them."""
    listed = []
    for start in range(0, len(blocks), GAMES_PER_BATCH):
        raw = encode_batch(blocks[start : start + GAMES_PER_BATCH])
        blob = compress(raw)
        path = folder / f"batch-{hashlib.sha256(raw).hexdigest()[:16]}"
        path.write_bytes(blob)
        digests = {"blob_digest": blob_digest(blob).hex(), "header_digest": hashlib.sha256(raw).hexdigest()}
        listed.append({"path": str(path), "raw_len": len(raw), **digests})
    return listed


@pytest.fixture(autouse=True, scope="session")
def one_thread() -> None:
    """As a cycle runs: repeatable, on one thread."""
    pin(1)


@pytest.fixture(scope="session")
def blocks_7() -> list[bytes]:
    """60 games on 7x7."""
    return play(60, 7)


@pytest.fixture(scope="session")
def batches(tmp_path_factory: pytest.TempPathFactory, blocks_7: list[bytes]) -> list[dict[str, Any]]:
    """Ten batches of games on 7x7."""
    return store_batches(tmp_path_factory.mktemp("batches"), blocks_7)


@pytest.fixture(scope="session")
def mixed_batches(tmp_path_factory: pytest.TempPathFactory, blocks_7: list[bytes]) -> list[dict[str, Any]]:
    """Batches on 7x7 and on 9x9."""
    return store_batches(tmp_path_factory.mktemp("mixed"), [*blocks_7[:12], *play(12, 9)])


@pytest.fixture
def make_manifest() -> MakeManifest:
    """Makes a manifest whose training policy has the numbers given."""
    return manifest_of


@pytest.fixture
def make_job(tmp_path: Path) -> MakeJob:
    """`job_maker` in this test's folder."""
    return job_maker(tmp_path)


def job_maker(parent: Path) -> MakeJob:
    """Makes job files in folders below `parent`: keywords in capitals change the job, others its manifest."""

    def make(listed: list[dict[str, Any]], name: str = "cycle", **changes: Any) -> Path:
        manifest = manifest_of(**{key: value for key, value in changes.items() if key.islower()})
        folder = parent / name
        folder.mkdir(exist_ok=True)
        (folder / "manifest").write_bytes(manifest.encode())
        job = {
            "out": str(folder / "out"),
            "manifest": str(folder / "manifest"),
            "manifest_digest": manifest.digest().hex(),
            "batches": listed,
            "parent_state": None,
            "parent_step": 0,
            "shape": manifest.network.shape,
            "seed": bytes(range(32)).hex(),
            "samples": 32 * 60,
            "device": "cpu",
            "threads": 1,
            "state_every_steps": 25,
            "workers": 0,
            "cache": None,
        }
        job |= {key.lower(): value for key, value in changes.items() if key.isupper()}
        path = folder / "job.json"
        path.write_text(json.dumps(job))
        return path

    return make
