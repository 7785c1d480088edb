"""`gonode analysis`: positions searched for programs that speak the protocol of KataGo's analysis engine."""

import io
import sys
from pathlib import Path
from typing import BinaryIO

import click

from node.cli.directory import of_run
from node.cli.number_range import NumberRange

_FILE = click.Path(path_type=Path, dir_okay=False)
READY = "Started, ready to begin handling requests"
"""On standard error: programs that start KataGo wait for it."""


@click.command()
@click.argument("release", metavar="[RELEASE|FILE]", default="latest")
@of_run
@click.option("--visits", type=click.IntRange(1, 60000), help="Most visits a position; default: the run's gate visits.")
@click.option("--time", "time_s", type=NumberRange(0.01, 86400), metavar="S", help="Most seconds a position.")
@click.option(
    "--threads",
    "--analysis-threads",
    "-analysis-threads",
    "threads",
    type=click.IntRange(1, 256),
    help="Positions at once; default: this machine's cores.",
)
@click.option(
    "--perspective",
    type=click.Choice(["black", "white", "sidetomove"]),
    help="For whom values are told; default: black.",
)
@click.option("--model", "-model", "model", metavar="FILE", help="The network's file, in the place of RELEASE.")
@click.option(
    "--config", "-config", "config", type=_FILE, help="A config file of KataGo's: what of it is known counts."
)
@click.option(
    "--override-config", "-override-config", "overrides", metavar="KEY=VALUE,...", help="Settings as in such a file."
)
@click.option(
    "--quit-without-waiting",
    "-quit-without-waiting",
    "quits",
    is_flag=True,
    help="Leave at the end of the input, whatever is asked still.",
)
@click.option("--kernel", help="scalar, avx2, vnni, neon or neon-dot; default: the fastest of this machine.")
def analysis(
    release: str,
    directory: Path,
    visits: int | None,
    time_s: float | None,
    threads: int | None,
    perspective: str | None,
    model: str | None,
    config: Path | None,
    overrides: str | None,
    quits: bool,
    kernel: str | None,
) -> int:
    """Analyse positions for KaTrain and other programs that start `katago analysis`: queries and answers are lines of JSON.
    With a release (name, number, `latest`, `first`) or a network's file."""
    from node.analysis.config_text import load_config, parse_overrides
    from node.analysis.inbox import Inbox
    from node.analysis.options import options_of
    from node.analysis.query_reader import QueryReader
    from node.analysis.server import serve
    from node.analysis.settings import SettingError
    from node.cli.options import parse_kernel
    from node.disk.files import naming
    from node.machine.processor import usable_cores
    from node.play.finding import RANDOM, SIZE, find_player
    from node.play.searcher import Searcher

    if model is not None and release != "latest":
        raise click.UsageError("A network is named once: RELEASE or --model.")
    name = model or release
    if name == RANDOM:
        raise click.BadParameter("random moves have no opinion; a release or a network's file is needed.")
    if model is not None and not Path(model).is_file():
        raise click.BadParameter(f"there is no file {model}.", param_hint="--model")
    given: dict[str, str] = {}
    try:
        if config is not None:
            with naming(config):
                given |= load_config(config)
        given |= parse_overrides(overrides or "")
        found = find_player(directory, name, parse_kernel(kernel))
        assert isinstance(found.player, Searcher), "only random moves come from anybody else"
        root = found.player.config.root
        asked = {
            "maxVisits": visits,
            "maxTime": time_s,
            "reportAnalysisWinratesAs": perspective,
            "numAnalysisThreads": threads,
        }
        options = options_of(
            given, {key: value for key, value in asked.items() if value is not None}, found.visits, root
        )
    except SettingError as error:
        raise click.UsageError(str(error)) from None
    if options.ignored:
        click.echo(f"Settings that are not followed here: {', '.join(options.ignored)}.", err=True)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", errors="replace", newline="\n")
    square = found.player.network is not None
    reader = QueryReader(found.rules(SIZE), options.settings, root, square=square, unused=options.warns)
    click.echo(READY, err=True)
    serve(found.player, reader, options.threads or usable_cores(), Inbox(_input()), sys.stdout, waits=not quits)
    return 0


def _input() -> BinaryIO:
    """Standard input with a buffer of its own: Python closes its usual one at its end, which cannot be while it is read."""
    return open(sys.stdin.fileno(), "rb", closefd=False)
