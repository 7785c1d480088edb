"""`gonode report`: what a run did, as a page, a picture or JSON."""

import json
from pathlib import Path

import click

from node.cli.directory import of_run

SUFFIXES = (".html", ".png")


def _file(context: click.Context, parameter: click.Parameter, out: Path | None) -> Path | None:
    if out is not None and out.suffix.lower() not in SUFFIXES:
        raise click.BadParameter("a name that ends in .html or .png is needed.")
    return out


@click.command()
@of_run
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    callback=_file,
    help="Where the page (.html) or picture (.png) goes; default: report.html, with --json none.",
)
@click.option(
    "--batches",
    type=click.IntRange(0, 10**9),
    default=400,
    show_default=True,
    help="Batches to open for lengths and results of games.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def report(directory: Path, out: Path | None, batches: int, as_json: bool) -> int:
    """Report on a run: strength, losses, data, games, rounding, contributors, verification."""
    from node.disk.files import write_output
    from node.disk.home import Home
    from node.reports.charts import charts_of
    from node.reports.drawing import require_matplotlib, to_png
    from node.reports.gathering import gather
    from node.reports.page import source_of, to_html
    from protocol.words import counted

    path = out or (None if as_json else Path("report.html"))
    if path is not None:
        require_matplotlib()
    facts = gather(Home(directory), batches)
    if path is not None:
        charts = charts_of(facts)
        is_picture = path.suffix.lower() == ".png"
        write_output(path, to_png(f"Run {facts.name}", charts) if is_picture else to_html(facts, charts).encode())
        click.echo(f"{path}: {counted(len(charts), 'chart')}. {source_of(facts)}", err=as_json)
    if as_json:
        click.echo(json.dumps(facts.to_json(), allow_nan=False))
    return 0
