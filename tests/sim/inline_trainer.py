"""A trainer for simulations: takes virtual seconds and draws its network from the job's seed; same job, same bytes."""

import json
from hashlib import sha256
from pathlib import Path

import trio

from native.netfile import Architecture
from native.network import Network
from node.training.events import Progress
from node.training.trainer_process import Report
from protocol.manifest import Manifest

TRAIN_S = 10.0
STEPS = 100
PARTS = ("loss", "policy_loss", "opponent_policy_loss", "value_loss", "score_loss", "ownership_loss")


async def train(job_file: Path, report: Report) -> None:
    """See `node.training.trainer_process.Train`."""
    job = json.loads(job_file.read_bytes())
    out = Path(job["out"])
    shape = Architecture.parse(job["shape"])
    step = job["parent_step"] + STEPS
    training = Manifest.parse(Path(job["manifest"]).read_bytes()).training
    for part in range(5):
        await trio.sleep(TRAIN_S / 5)
        await report(Progress(part * STEPS // 5, STEPS, 1.0, 1.0, 1.0, 640, 0.0, TRAIN_S - part * TRAIN_S / 5))
    batches = "".join(batch["header_digest"] for batch in job["batches"])
    state = sha256(f"{job['seed']} {job['parent_state'] is None} {step} {batches}".encode()).digest()
    (out / "network.bin").write_bytes(Network.first(state, shape.blocks, shape.channels))
    (out / "weights.bin").write_bytes(b"weights " + state)
    (out / f"train_state-{step:010d}.bin").write_bytes(state)
    result = {
        "step": step,
        "steps": STEPS,
        "rows": 64 * STEPS,
        "samples": 64 * STEPS,
        "state": {"path": f"train_state-{step:010d}.bin", "digest": state.hex()},
        "states": [{"step": step, "digest": state.hex()}],
        "network": {"path": "network.bin"},
        "weights": {"path": "weights.bin"},
        "torch": "2.13.0",
        "threads": training.threads,
        "capability": "simulated",
        "shape": job["shape"],
        "processes": training.processes,
        "device": job["device"],
        "batches": len(job["batches"]),
        "skipped": [],
        "losses": dict.fromkeys(PARTS, 1.0),
        "loss_rows": 64 * STEPS,
        "held_out_losses": dict.fromkeys(PARTS, 1.5),
        "held_out_rows": 10,
        "rounding": {
            "rows": 1024,
            "policy_divergence": 0.01,
            "value_error": 0.01,
            "value_error_largest": 0.1,
            "score_error": 0.1,
            "same_first_move": 0.9,
        },
    }
    (out / "result.json").write_text(json.dumps(result))
