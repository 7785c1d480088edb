"""The part of `gonode train` that begins with Leela Zero's training files: `train_leela_zero`."""

import json
import time
from typing import TYPE_CHECKING, Any

import click

from node.cli.main import INTERRUPTED
from node.cli.training_screen import Screen

if TYPE_CHECKING:
    from node.training.leela_zero import LeelaZeroPrepared, LeelaZeroRequest, LeelaZeroResult


def train_leela_zero(request: "LeelaZeroRequest", screen: Screen, *, as_json: bool) -> int:
    """Trains to the end, or until Ctrl-C; gives the exit status."""
    import trio

    from node.disk.lockfile import locked
    from node.training.leela_zero import KIND, folder_of, load_result, plan_of, prepare
    from node.training.session import require_trainer, run_trainer
    from protocol.words import counted

    started = time.monotonic()
    require_trainer()
    plan = plan_of(request)
    folder = folder_of(request, plan)
    with locked(folder):
        prepared = prepare(request, plan, folder)
        verb = "Going on with" if prepared.is_old else "Training"
        screen.say(
            f"{verb} a Leela Zero network {prepared.shape} in {folder}: {prepared.positions:,} positions of "
            f"{counted(prepared.files, 'file')}. Ctrl-C saves."
        )
        try:
            is_done = trio.run(run_trainer, prepared.job, KIND, screen.hear)
        finally:
            screen.close()
    if not is_done:
        screen.say(f"Stopped; the same command goes on with {folder}.")
        return INTERRUPTED
    result = load_result(prepared.job.parent)
    seconds = time.monotonic() - started
    click.echo(json.dumps(summarise(prepared, result, seconds)) if as_json else describe(prepared, result))
    return 0


def summarise(prepared: "LeelaZeroPrepared", result: "LeelaZeroResult", seconds: float) -> dict[str, Any]:
    """What `--json` prints."""
    return {
        "shape": prepared.shape,
        "weights": str(result.weights),
        "steps": result.steps,
        "samples": result.samples,
        "positions": result.positions,
        "losses": result.losses,
        "held_out_losses": result.held_out_losses,
        "seconds": round(seconds, 1),
    }


def describe(prepared: "LeelaZeroPrepared", result: "LeelaZeroResult") -> str:
    """The same for people."""
    from protocol.words import counted

    losses, kind = (result.held_out_losses, "held-out losses") if result.held_out_losses else (result.losses, "losses")
    parts = ", ".join(f"{name.removesuffix('_loss')} {value:.3f}" for name, value in losses.items() if name != "loss")
    return (
        f"{result.weights}: Leela Zero's weights of {prepared.shape}, {counted(result.steps, 'step')}, "
        f"{result.samples:,} samples of {result.positions:,} positions; {kind} {parts}."
    )
