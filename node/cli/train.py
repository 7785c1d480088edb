"""`gonode train`: trains a network outside of a run, from the admitted data in a folder or from Leela Zero's files."""

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from node.cli.choices import choice_options, parse_choices
from node.cli.main import INTERRUPTED
from node.cli.training_screen import Bar, Lines, Screen

if TYPE_CHECKING:
    from node.training.request import Prepared
    from node.training.result import CycleResult


@click.command()
@click.option(
    "--data",
    type=click.Path(path_type=Path, file_okay=False),
    help="The directory of a node of the run, or a copy of the run.",
)
@click.option(
    "--from-leela-zero",
    "leela_zero",
    metavar="DIR",
    type=click.Path(path_type=Path, file_okay=False),
    help="Instead: a folder of Leela Zero's training files; gives weights that leelaz loads.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    help="The training's folder; default: train-NET or train-leela-zero-NET, here.",
)
@choice_options
@click.option("--network", metavar="NET", help="The network's size, such as b6c96; default: the run's newest.")
@click.option("--steps", type=click.IntRange(1, 2**40), help="How many minibatches to train.")
@click.option("--samples", type=click.IntRange(1, 2**40), help="Instead: how many rows to draw.")
@click.option("--threads", type=click.IntRange(1, 256), help="Threads of each training process; default: the run's.")
@click.option("--processes", type=click.IntRange(1, 64), help="Processes that train together; default: the run's.")
@click.option("--device", type=click.Choice(["cpu", "cuda"]), default="cpu", show_default=True)
@click.option("--json", "as_json", is_flag=True, help="One JSON object at the end, progress on standard error.")
def train(
    data: Path | None,
    leela_zero: Path | None,
    out: Path | None,
    presets: tuple[str, ...],
    settings: tuple[str, ...],
    network: str | None,
    steps: int | None,
    samples: int | None,
    threads: int | None,
    processes: int | None,
    device: str,
    as_json: bool,
) -> int:
    """Train a network outside of a run, from data in a folder; the same command goes on with it."""
    import trio

    from native.netfile import Architecture
    from node.disk.lockfile import locked
    from node.training.admitted import load_admitted
    from node.training.request import TrainingRequest, folder_of, prepare, training_manifest
    from node.training.session import require_trainer, run_session

    if steps is not None and samples is not None:
        raise click.UsageError("Say how long to train once: either --steps or --samples.")
    choices = parse_choices(presets, settings)
    shape = None if network is None else Architecture.parse(network)
    screen: Screen = Bar() if sys.stderr.isatty() else Lines()
    if leela_zero is not None:
        from node.cli.train_leela_zero import train_leela_zero
        from node.training.leela_zero import LeelaZeroRequest

        if data is not None or processes is not None:
            raise click.UsageError("--from-leela-zero goes with neither --data nor --processes.")
        asked = LeelaZeroRequest(leela_zero, out, choices, shape, steps, samples, threads, device)
        return train_leela_zero(asked, screen, as_json=as_json)
    if data is None:
        raise click.UsageError("Say what to train on: --data, or --from-leela-zero.")
    request = TrainingRequest(data, out, choices, shape, steps, samples, threads, processes, device)
    started = time.monotonic()
    require_trainer()
    admitted = load_admitted(data)
    manifest = training_manifest(request, admitted)
    folder = folder_of(request, manifest)
    with locked(folder):
        prepared = prepare(request, admitted, manifest, folder)
        screen.say(_beginning(prepared))
        try:
            result = trio.run(run_session, prepared, screen.hear)
        finally:
            screen.close()
    if result is None:
        screen.say(f"Stopped; the same command goes on with {prepared.job.parent}.")
        return INTERRUPTED
    if as_json:
        click.echo(json.dumps(summarise(prepared, result, time.monotonic() - started)))
    else:
        click.echo(describe(prepared, result))
    return 0


def summarise(prepared: "Prepared", result: "CycleResult", seconds: float) -> dict[str, Any]:
    """What `--json` prints."""
    folder, trained = prepared.job.parent, result.trained
    return {
        "run": prepared.run,
        "shape": prepared.shape,
        "network": str(folder / result.network),
        "weights": str(folder / result.weights),
        "steps": trained.steps,
        "samples": result.samples,
        "processes": trained.processes,
        "device": trained.device,
        "rows": result.rows,
        "batches": prepared.batches,
        "missing": prepared.missing,
        "skipped": trained.skipped,
        "losses": result.losses.to_json(),
        "held_out_losses": {} if result.held_out is None else result.held_out.to_json(),
        "rounding": result.rounding.to_json(),
        "seconds": round(seconds, 1),
    }


def describe(prepared: "Prepared", result: "CycleResult") -> str:
    """The same for people."""
    from protocol.words import counted

    losses = (result.held_out or result.losses).to_json()
    kind = "losses" if result.held_out is None else "held-out losses"
    parts = ", ".join(f"{name.removesuffix('_loss')} {value:.3f}" for name, value in losses.items() if name != "loss")
    return (
        f"{prepared.job.parent / result.network}: {prepared.shape}, {counted(result.trained.steps, 'step')}, "
        f"{result.samples:,} samples of {result.rows:,} rows; {kind} {parts}."
    )


def _beginning(prepared: "Prepared") -> str:
    from protocol.words import counted

    goes_on = "Going on with" if prepared.is_old else "Training"
    missing = f" ({prepared.missing} more are not in that folder)" if prepared.missing else ""
    return (
        f"{goes_on} {prepared.shape} in {prepared.job.parent}: {prepared.rows:,} rows of "
        f"{counted(prepared.batches, 'batch', 'batches')}{missing}. Ctrl-C saves."
    )
