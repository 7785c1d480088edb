"""`gonode local`: a whole network on this machine, until enough releases are there; then its audit, line by line."""

import json
import math
import shutil
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from node.cli.choices import choice_options, parse_choices
from node.cli.main import INTERRUPTED, NO
from node.cli.number_range import NumberRange

if TYPE_CHECKING:
    from node.local import LocalNetwork
    from node.status import Status
    from verification.audit.audit import Check


def no_nan(context: click.Context, parameter: click.Parameter, value: float | None) -> float | None:
    """Refuses NaN, which passes every range."""
    if value is not None and math.isnan(value):
        raise click.BadParameter("a number is needed.")
    return value


@click.command()
@click.option("--run", "source", type=click.Path(path_type=Path, dir_okay=False), help="The run's TOML file.")
@choice_options
@click.option(
    "--dir", "directory", type=click.Path(path_type=Path, file_okay=False), default=Path("local"), show_default=True
)
@click.option("--contributors", type=click.IntRange(1, 64), default=2, show_default=True)
@click.option("--releases", type=click.IntRange(1), default=2, show_default=True, help="End after so many releases.")
@click.option(
    "--minutes",
    type=NumberRange(0.1, 10**9),
    callback=no_nan,
    default=12,
    show_default=True,
    help="End after so long.",
)
@click.option(
    "--at-least-minutes",
    type=NumberRange(0, 10**9),
    callback=no_nan,
    default=0,
    show_default=True,
    help="Go on for so long even when the releases are there.",
)
@click.option("--kernel", help="Kernel of contributors; the verifier's too, unless --verifier-kernel says otherwise.")
@click.option("--verifier-kernel", help="Kernel of the verifier, such as scalar.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object at the end, progress on standard error.")
def local(
    source: Path | None,
    presets: tuple[str, ...],
    settings: tuple[str, ...],
    directory: Path,
    contributors: int,
    releases: int,
    minutes: float,
    at_least_minutes: float,
    kernel: str | None,
    verifier_kernel: str | None,
    as_json: bool,
) -> int:
    """Run a coordinator, a verifier and contributors as processes; then audit what they made."""
    import trio

    from node.cli.options import parse_kernel
    from node.local import LocalNetwork, LocalOptions

    for name in (kernel, verifier_kernel):
        parse_kernel(name)
    options = LocalOptions(
        directory,
        source,
        contributors,
        releases,
        minutes,
        at_least_minutes,
        kernel,
        verifier_kernel or kernel,
        parse_choices(presets, settings),
    )
    screen = Screen(sys.stderr.isatty())
    network = LocalNetwork(options, screen.say)
    screen.say("start", f"Run in {directory}; Ctrl-C stops it, the next start goes on.")
    reached: bool | None = None
    try:
        reached = trio.run(network.run, screen.progress)
    except* KeyboardInterrupt:
        screen.say("stopped", f"Stopped. Everything is kept in {directory}; the next start goes on from here.")
    if reached is None:
        return INTERRUPTED
    if not reached:
        screen.say("time", f"{minutes:g} minutes are over with {len(network.releases)} of {releases} releases.")
    return _finish(network, screen, reached, as_json)


def _finish(network: "LocalNetwork", screen: "Screen", reached: bool, as_json: bool) -> int:
    from node.audits.errors import AuditInputError
    from node.audits.folder_audit import audit_home
    from node.matches.ratings import release_ratings
    from protocol.words import counted
    from verification.audit.audit import AuditOptions

    home = network.coordinator.home

    def show(check: "Check") -> None:
        mark = {True: "ok", False: "FAIL", None: "--"}[check.ok]
        screen.say("audit", f"audit  {mark:<5}{check.name:<8} {check.detail}")

    try:
        is_sound = audit_home(home, AuditOptions(), show).ok
    except AuditInputError as error:  # the time was over before the first head was cosigned
        screen.say("audit", str(error))
        is_sound = False
    status = network.coordinator.status
    summary: dict[str, Any] = {
        "seconds": round(time.monotonic() - network.started, 1),
        "games": 0 if status is None else status.games,
        "plies": 0 if status is None else status.plies,
        "batches": 0 if status is None else status.batches,
        "rejected": 0 if status is None else status.rejected,
        "releases": release_ratings(home),
        "audit_ok": is_sound,
    }
    if as_json:
        click.echo(json.dumps(summary))
    else:
        for release in summary["releases"]:
            screen.say("elo", f"{release['name']}: Elo {release['elo']:+.0f} +- {release['elo_error']:.0f} above first")
        screen.say(
            "end",
            f"{counted(summary['games'], 'game')}, {counted(summary['plies'], 'ply', 'plies')}, "
            f"{counted(summary['batches'], 'batch', 'batches')}, {summary['rejected']} rejected, "
            f"{counted(len(summary['releases']), 'release')} in {summary['seconds']:.0f} s; "
            f"audit {'passed' if is_sound else 'FAILED'}.",
        )
    return 0 if reached and is_sound else NO


class Screen:
    """Progress: one line that is renewed on a terminal, else a line each ten seconds."""

    def __init__(self, is_terminal: bool) -> None:
        self._is_terminal = is_terminal
        self._last = 0.0
        self._plies: list[tuple[float, int]] = []

    def say(self, event: str, text: str) -> None:
        """One line that stays."""
        clear = "\r\x1b[K" if self._is_terminal else ""
        print(f"{clear}{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)

    def progress(self, network: "LocalNetwork") -> None:
        """Renews the line of numbers."""
        now = time.monotonic()
        if not self._is_terminal and now - self._last < 10:
            return
        self._last = now
        line = progress_line(network.coordinator.status, self._rate(now, network), now - network.started)
        if self._is_terminal:
            width = shutil.get_terminal_size().columns
            print(f"\r\x1b[K{line[: width - 1]}", end="", file=sys.stderr, flush=True)  # a wrapped line stays behind
        else:
            self.say("progress", line)

    def _rate(self, now: float, network: "LocalNetwork") -> float:
        status = network.coordinator.status
        if status is None:
            return 0.0  # what was played before this start counts for no rate
        self._plies.append((now, status.plies))
        self._plies = [point for point in self._plies if point[0] >= now - 60]
        (first_s, first), (last_s, last) = self._plies[0], self._plies[-1]
        return (last - first) / (last_s - first_s) if last_s > first_s else 0.0


def progress_line(status: "Status | None", plies_per_s: float, seconds: float) -> str:
    """How far the network is, by its coordinator's word; None before it answers."""
    from node.role_status import Coordinating
    from node.screen.rows import doing_words

    clock = f"{int(seconds) // 60}:{int(seconds) % 60:02d}"
    if status is None or not isinstance(status.work, Coordinating):
        return f"{clock}  starting"
    return (
        f"{clock}  {status.games} games  {plies_per_s:.0f} plies/s  "
        f"verified {status.verified}  pending {status.pending}  rejected {status.rejected}  "
        f"releases {len(status.work.releases)}  log {status.log_size}  {doing_words(status.work)}"
    )
