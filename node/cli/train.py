"""`gonode train`: trains a network outside of a run, from the admitted data in a folder."""

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import click

from node.cli.choices import choice_options, parse_choices
from node.cli.main import INTERRUPTED

if TYPE_CHECKING:
    from rich.progress import Progress

    from node.training.request import Prepared

EVERY_S = 10.0


@click.command()
@click.option(
    "--data",
    required=True,
    type=click.Path(path_type=Path, file_okay=False),
    help="The directory of a node of the run, or a copy of the run.",
)
@click.option(
    "--out", type=click.Path(path_type=Path, file_okay=False), help="The training's folder; default: train-NET, here."
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
    data: Path,
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
    """Train a network outside of a run, from the admitted data in a folder; the same command goes on with it."""
    import trio

    from native.netfile import Architecture
    from node.disk.lockfile import locked
    from node.training.admitted import load_admitted
    from node.training.request import TrainingRequest, folder_of, prepare, training_manifest
    from node.training.session import require_trainer, run_session

    if steps is not None and samples is not None:
        raise click.UsageError("Say how long to train once: either --steps or --samples.")
    request = TrainingRequest(
        data,
        out,
        parse_choices(presets, settings),
        None if network is None else Architecture.parse(network),
        steps,
        samples,
        threads,
        processes,
        device,
    )
    started = time.monotonic()
    require_trainer()
    admitted = load_admitted(data)
    manifest = training_manifest(request, admitted)
    folder = folder_of(request, manifest)
    screen: Screen = Bar() if sys.stderr.isatty() else Lines()
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
    summary = summarise(prepared, result, time.monotonic() - started)
    if as_json:
        click.echo(json.dumps(summary))
    else:
        click.echo(describe(summary))
    return 0


def summarise(prepared: "Prepared", result: dict[str, Any], seconds: float) -> dict[str, Any]:
    """What `--json` prints."""
    folder = prepared.job.parent
    return {
        "run": prepared.run,
        "shape": prepared.shape,
        "network": str(folder / result["network"]["path"]),
        "weights": str(folder / result["weights"]["path"]),
        "steps": result["steps"],
        "samples": result["samples"],
        "processes": result["processes"],
        "device": result["device"],
        "rows": result["rows"],
        "batches": prepared.batches,
        "missing": prepared.missing,
        "skipped": len(result["skipped"]),
        "losses": result["losses"],
        "held_out_losses": result["held_out_losses"],
        "rounding": result["rounding"],
        "seconds": round(seconds, 1),
    }


def describe(summary: dict[str, Any]) -> str:
    """The same for people."""
    from protocol.words import counted

    losses = summary["held_out_losses"] or summary["losses"]
    kind = "held-out losses" if summary["held_out_losses"] else "losses"
    parts = ", ".join(f"{name.removesuffix('_loss')} {value:.3f}" for name, value in losses.items() if name != "loss")
    return (
        f"{summary['network']}: {summary['shape']}, {counted(summary['steps'], 'step')}, "
        f"{summary['samples']:,} samples of {summary['rows']:,} rows; {kind} {parts}."
    )


def _beginning(prepared: "Prepared") -> str:
    from protocol.words import counted

    goes_on = "Going on with" if prepared.is_old else "Training"
    missing = f" ({prepared.missing} more are not in that folder)" if prepared.missing else ""
    return (
        f"{goes_on} {prepared.shape} in {prepared.job.parent}: {prepared.rows:,} rows of "
        f"{counted(prepared.batches, 'batch', 'batches')}{missing}. Ctrl-C saves."
    )


class Screen(Protocol):
    """Where progress goes."""

    def say(self, text: str) -> None:
        """One line that stays."""
        ...

    def hear(self, event: dict[str, Any]) -> None:
        """An event of the trainer."""
        ...

    def close(self) -> None:
        """Nothing more comes but lines that stay."""
        ...


class Lines:
    """A line each ten seconds."""

    def __init__(self) -> None:
        self._last = -EVERY_S

    def say(self, text: str) -> None:
        """See `Screen.say`."""
        print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)

    def hear(self, event: dict[str, Any]) -> None:
        """See `Screen.hear`."""
        kind = event.get("event")
        if kind == "progress":
            now = time.monotonic()
            if now - self._last >= EVERY_S or event["step"] == event["steps"]:
                self._last = now
                self.say(f"step {event['step']} of {event['steps']}  {numbers(event)}")
        elif (text := sentence(event)) is not None:
            self.say(text)

    def close(self) -> None:
        """See `Screen.close`."""


class Bar:
    """A bar that is renewed, on a terminal."""

    def __init__(self) -> None:
        self._bar: Progress | None = None

    def say(self, text: str) -> None:
        """See `Screen.say`."""
        line = f"{time.strftime('%H:%M:%S')} {text}"
        if self._bar is None:
            print(line, file=sys.stderr, flush=True)
        else:
            self._bar.console.print(line, markup=False, highlight=False, soft_wrap=True)

    def hear(self, event: dict[str, Any]) -> None:
        """See `Screen.hear`."""
        if event.get("event") == "progress":
            bar = self._begun(event["steps"])
            bar.update(bar.task_ids[0], completed=event["step"], numbers=brief(event))
        elif (text := sentence(event)) is not None:
            self.say(text)

    def close(self) -> None:
        """See `Screen.close`."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def _begun(self, steps: int) -> "Progress":
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

        if self._bar is None:
            columns = (BarColumn(20), MofNCompleteColumn(), TextColumn("{task.fields[numbers]}", markup=False))
            self._bar = Progress(*columns, console=Console(stderr=True), redirect_stdout=False)
            self._bar.add_task("training", total=steps, numbers="")
            self._bar.start()
        return self._bar


def numbers(event: dict[str, Any]) -> str:
    """What a progress event says besides its step."""
    losses = f"loss {event['loss']:.3f}, policy {event['policy_loss']:.3f}, value {event['value_loss']:.3f}"
    waited = f"waited {100 * event['waiting_share']:.0f} %  " if "waiting_share" in event else ""
    return f"{losses}  {event['samples_per_s']:,} samples/s  {waited}{_clock(event['seconds_left'])} left"


def brief(event: dict[str, Any]) -> str:
    """The same where a bar needs room."""
    return f"loss {event['loss']:.3f}  {event['samples_per_s']:,} samples/s  {_clock(event['seconds_left'])} left"


def _clock(seconds: float) -> str:
    whole = int(seconds)
    return f"{whole // 3600}:{whole // 60 % 60:02d}:{whole % 60:02d}"


def sentence(event: dict[str, Any]) -> str | None:
    """The line that an event other than progress deserves."""
    kind = event.get("event")
    if kind == "skipped":
        return f"Batch {event.get('batch')} was skipped: {event.get('why')}"
    if kind == "note":
        return str(event.get("text"))
    return "Rounding to the integer network." if kind == "exporting" else None
