"""`gonode gtp`: a release at the board of any program that speaks the Go Text Protocol."""

import io
import sys
from pathlib import Path
from typing import BinaryIO

import click

from node.cli.directory import of_run
from node.cli.number_range import NumberRange


@click.command()
@click.argument("release", metavar="[RELEASE|FILE]", default="latest")
@of_run
@click.option("--visits", type=click.IntRange(2, 60000), help="Most visits a move; default: the run's gate visits.")
@click.option("--time", "time_s", type=NumberRange(0.01, 86400), metavar="S", help="Most seconds a move.")
@click.option("--size", type=click.IntRange(1, 19), default=19, show_default=True, help="The first board's size.")
@click.option("--rules", help="Rules by a name as tromp-taylor, chinese or japanese; default: the run's.")
@click.option("--resign/--no-resign", default=True, show_default=True, help="Give up games that are lost.")
@click.option("--kernel", help="scalar, avx2, vnni, neon or neon-dot; default: the fastest of this machine.")
def gtp(
    release: str,
    directory: Path,
    visits: int | None,
    time_s: float | None,
    size: int,
    rules: str | None,
    resign: bool,
    kernel: str | None,
) -> int:
    """Play for a program that speaks GTP, version 2: a release (name, number, `latest`, `first`), a network's file, or
    `random`."""
    from node.cli.options import parse_kernel
    from node.gtp.feed import Feed
    from node.gtp.rule_commands import rules_called
    from node.gtp.server import serve
    from node.gtp.session import Limits, Session
    from node.play.finding import find_player

    named = None if rules is None else rules_called(rules)
    if rules is not None and named is None:
        raise click.BadParameter(f"no rules are known as {rules[:80]!r}.", param_hint="--rules")
    found = find_player(directory, release, parse_kernel(kernel))
    limits = Limits(visits, time_s, found.visits)
    session = Session(found.player, found.rules(size), limits, resigns=resign, sizes=found.sizes)
    if named is not None:
        session.table.change_rules(session.named(named))
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", errors="replace", newline="\n")
    serve(session, Feed(_input()), sys.stdout)
    return 0


def _input() -> BinaryIO:
    """Standard input with a buffer of its own: Python closes its usual one at its end, which cannot be while it is read."""
    return open(sys.stdin.fileno(), "rb", closefd=False)
