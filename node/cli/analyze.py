"""`gonode analyze FILE.sgf`: what a network says of each position of a game record."""

import json
import sys
from pathlib import Path

import click

from node.cli.directory import of_run

_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command()
@click.argument("file", metavar="FILE.sgf", type=_FILE)
@click.argument("release", metavar="[RELEASE|FILE]", default="latest")
@of_run
@click.option("--visits", type=click.IntRange(2, 60000), help="Visits a position; default: the run's gate visits.")
@click.option("--out", type=_FILE, help="Write the record with comments and win rates there.")
@click.option("--graph", type=_FILE, help="Draw win rate and score there, as SVG.")
@click.option("--kernel", help="scalar, avx2, vnni, neon or neon-dot; default: the fastest of this machine.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def analyze(
    file: Path,
    release: str,
    directory: Path,
    visits: int | None,
    out: Path | None,
    graph: Path | None,
    kernel: str | None,
    as_json: bool,
) -> int:
    """Search every position of a game record (the main line of its first game) with a release or a network's file."""
    from node.cli.options import parse_kernel
    from node.disk.files import naming, write_output
    from node.exchange.sgf_reader import parse_record
    from node.exchange.sgf_text import MAX_BYTES
    from node.play.finding import RANDOM, SIZE, find_player
    from node.play.searcher import Searcher
    from node.review.review import review
    from node.review.written import review_json, review_sgf, review_svg, review_table

    if release == RANDOM:
        raise click.BadParameter("random moves have no opinion; a release or a network's file is needed.")
    with naming(file), file.open("rb") as opened:
        record = parse_record(opened.read(MAX_BYTES + 1))
    found = find_player(directory, release, parse_kernel(kernel))
    assert isinstance(found.player, Searcher), "only random moves come from anybody else"
    positions = len(record.nodes) + 1

    def tell(done: int) -> None:
        if sys.stderr.isatty():
            click.echo(f"\r{done} of {positions} positions", nl=done == positions, err=True)

    reviewed = review(record, found.player, found.rules(SIZE), visits or found.visits, tell)
    if out is not None:
        write_output(out, review_sgf(reviewed))
    if graph is not None:
        write_output(graph, review_svg(reviewed).encode())
    if as_json:
        click.echo(json.dumps(review_json(reviewed, found.player.name)))
    else:
        click.echo(review_table(reviewed))
    return 0
