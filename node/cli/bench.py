"""`gonode bench`: how fast this machine is, and with how many threads and games in flight; join, verify and local use it."""

import json
import math
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from node.cli.number_range import NumberRange

if TYPE_CHECKING:
    from collections.abc import Callable

    from native.network import Network
    from node.machine.bench import Report

THREADS_A_CORE = 4
"""More threads than so many a usable core say nothing of the machine."""


def _seconds(context: click.Context, parameter: click.Parameter, value: float) -> float:
    if math.isnan(value):  # which passes every range
        raise click.BadParameter("a number is needed.")
    return value


@click.command()
@click.option(
    "--net", default="b6c96", show_default=True, metavar="NET|FILE", help="An architecture, or a network's file."
)
@click.option("--size", type=click.IntRange(7, 19), default=9, show_default=True, help="Board size.")
@click.option("--visits", type=click.IntRange(2, 60000), default=100, show_default=True, help="Visits a move.")
@click.option("--threads", type=click.IntRange(1, 1024), help="Engine threads; default: the best is looked for.")
@click.option("--kernel", help="scalar, avx2, vnni, neon or neon-dot; default: the fastest of this machine.")
@click.option(
    "--seconds",
    type=NumberRange(1, 3600),
    callback=_seconds,
    default=14,
    show_default=True,
    help="About how long to measure.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def bench(
    net: str, size: int, visits: int, threads: int | None, kernel: str | None, seconds: float, as_json: bool
) -> int:
    """Measure this machine, and remember the threads and games in flight that are fastest."""
    from node.cli.options import parse_kernel
    from node.machine.bench import Plan, measure
    from node.machine.processor import usable_cores
    from node.machine.settings import GAMES, thread_counts

    chosen = parse_kernel(kernel)
    if threads is not None and threads > THREADS_A_CORE * usable_cores():
        most = f"{THREADS_A_CORE * usable_cores()} threads here, {THREADS_A_CORE} a usable core"
        raise click.BadParameter(f"at most {most}, not {threads}.", param_hint="--threads")
    network, is_first = _network(net)
    counts = [threads] if threads is not None else thread_counts(usable_cores())
    plan = Plan(network.architecture.encode(), network, size, visits, chosen, counts, GAMES, seconds)
    started = time.perf_counter()
    report = measure(plan, _progress() if sys.stderr.isatty() else lambda _: None)
    spent = time.perf_counter() - started
    if sys.stderr.isatty():
        click.echo("\r\x1b[K", err=True, nl=False)
    if as_json:
        click.echo(json.dumps(report.to_json()))
    else:
        click.echo(_table(report, is_first, spent))
    if threads is not None or kernel is not None:
        click.echo("Not remembered: threads or kernel were given.", err=True)
    else:
        _remember(report)
    return 0


def _network(net: str) -> "tuple[Network, bool]":
    """The network, and whether it is a first one."""
    from native.netfile import Architecture
    from native.network import Network

    path = Path(net)
    if path.is_file():
        from node.matches.opponent import load_network_file

        return load_network_file(path), False
    try:
        shape = Architecture.parse(net)
    except ValueError as error:
        reason = str(error).removesuffix(".")
        text = f"{net[:80]!r} is neither a network's file nor an architecture: {reason[:1].lower()}{reason[1:]}."
        raise click.BadParameter(text, param_hint="--net") from None
    return Network.load(Network.first(bytes(32), shape.blocks, shape.channels)), True


def _progress() -> "Callable[[str], None]":
    started = time.perf_counter()
    return lambda text: click.echo(f"\r\x1b[K{time.perf_counter() - started:4.1f} s  {text} ...", err=True, nl=False)


def _remember(report: "Report") -> None:
    from node.machine import Machine, load_machine, store_machine
    from node.machine.machine import machine_path
    from node.machine.settings import TOO_BUSY

    but = ""
    if report.core_share < TOO_BUSY:
        share = f"the threads had a core only {100 * report.core_share:.0f} % of the time"
        if load_machine() is not None:
            click.echo(f"Not remembered: {share}. What {machine_path()} holds stays.", err=True)
            return
        but = f" There was nothing before, but {share}: measure again later."
    plan, choice = report.plan, report.choice
    machine = Machine.here(
        kernel=plan.kernel, net=plan.name, size=plan.size, threads=choice.threads, games=choice.games
    )
    try:
        click.echo(f"Remembered in {store_machine(machine)}; join, verify and local use it.{but}", err=True)
    except OSError as error:
        click.echo(f"Not remembered in {machine_path()}: {error.strerror}.", err=True)


def _search_cost(us_per_visit: float) -> str:
    """What remains of a visit without its evaluations; a difference of two measurements, which may come out below 0."""
    if us_per_visit < 0:
        return "the time outside the network is too small to see here"
    return f"{us_per_visit:.1f} us a visit outside the network"


def _table(report: "Report", is_first: bool, spent: float) -> str:
    from node.machine.bench import BATCH
    from node.machine.machine import engine_version
    from node.machine.processor import cpu_model, usable_cores
    from node.machine.settings import BUSY

    plan, speed, choice, played = report.plan, report.speed, report.choice, report.played
    kind = "a first network, which is not trained: evaluations a visit are near 1" if is_first else "from its file"
    lines = [
        f"{cpu_model()}, {usable_cores()} cores, gonode {engine_version()}, kernel {plan.kernel.encode()}",
        f"{plan.name} ({kind}) on {plan.size}x{plan.size}, {plan.visits} visits a move",
        "",
        f"network    {speed.evaluations_per_s:,.0f} evaluations/s on one core in batches of {BATCH}: "
        f"{speed.gmac_per_s:,.1f} G multiply-adds/s",
        f"           {100 * speed.of_peak:.0f} % of the same kernel's peak in registers, {speed.peak_gmac_per_s:,.1f} G/s",
        "",
        "tried      threads  games in flight  evaluations/s  evaluations/processor s",
        *(f"           {t.threads:7}  {t.games:15}  {t.per_s:13,.0f}  {t.per_cpu_s:23,.0f}" for t in choice.tried),
        f"chosen     {choice.threads:7}  {choice.games:15}",
        *(f"           {sentence}" for sentence in choice.why),
        "",
        f"self-play  {report.visits_per_cpu_s / plan.visits:,.1f} positions and {report.visits_per_cpu_s:,.0f} visits "
        "a processor second",
        f"           {played.evaluations_per_visit:.2f} evaluations a visit, "
        + _search_cost(report.search_us_per_visit),
        f"replay     {report.replay_ms_per_ply:,.1f} ms a move",
        "",
        f"Measured in {spent:.0f} s.",
    ]
    if report.core_share < BUSY:
        lines.append(
            f"The threads had a core only {100 * report.core_share:.0f} % of the time: other programs use this machine. "
            "What was chosen supposes a core for each."
        )
    return "\n".join(lines)
