"""`gonode match A B`: which of two players is stronger, with error bars."""

import json
import signal
import sys
from contextlib import ExitStack
from dataclasses import replace
from datetime import date
from hashlib import sha256
from pathlib import Path
from typing import Any

import click

from node.cli.directory import of_run
from node.cli.main import NO
from node.cli.match_values import bounds, half_points
from node.cli.number_range import NumberRange

SIDES = ("a", "b")


@click.command()
@click.argument("a")
@click.argument("b")
@click.option("--games", type=click.IntRange(2, 100_000), default=100, show_default=True, help="Games, an even number.")
@click.option("--visits", type=click.IntRange(2, 60000), help="Visits a move; default: the run's gate visits.")
@click.option(
    "--time",
    "time_s",
    type=NumberRange(0.05, 86400),
    metavar="S",
    help="Seconds a move, in place of visits; games at once share the cores.",
)
@click.option("--size", type=click.IntRange(7, 19), help="Board size; default: as the run draws it.")
@click.option("--komi", type=float, callback=half_points, help="Komi; default: as the run draws it, or 0.5.")
@click.option(
    "--colours",
    type=click.Choice(["swap", "a-black", "a-white"]),
    default="swap",
    show_default=True,
    help="Swapped within each pair of games, or A's in every game.",
)
@click.option("--handicap", type=click.IntRange(2, 9), metavar="N", help="Black's stones, on their fixed points.")
@click.option(
    "--move-limit",
    type=click.IntRange(2, 65534),
    metavar="N",
    help="Count games after so many moves; default: the run's limit.",
)
@click.option(
    "--scorer",
    type=click.Choice(["rules", "engines"]),
    default="rules",
    show_default=True,
    help="Who counts: the run's rules, or the engines, where they agree.",
)
@click.option(
    "--sprt",
    metavar="E0,E1",
    callback=bounds,
    help="Stop when the sequential test between these normalised Elo decides.",
)
@click.option(
    "--openings",
    metavar="run|empty|FILE",
    default="run",
    show_default=True,
    help="The run's own, none, or those of a folder of SGF files, an SGF file or lines of moves.",
)
@click.option("--sgf", type=click.Path(path_type=Path, file_okay=False), help="Folder for the games.")
@click.option(
    "--record",
    type=click.Path(path_type=Path, dir_okay=False),
    help="File that gets each finished pair; the same command goes on where it ended.",
)
@click.option(
    "--deadline",
    type=NumberRange(0.1, 86400),
    default=120,
    show_default=True,
    metavar="S",
    help="Seconds that an engine has for each GTP command, above the time of its move.",
)
@click.option(
    "--tell",
    type=(click.Choice(SIDES, case_sensitive=False), str),
    multiple=True,
    metavar="a|b COMMAND",
    help="A GTP command for A or B before each game; repeatable.",
)
@click.option("--threads", type=click.IntRange(1, 256), default=1, show_default=True, help="Games at once.")
@click.option("--kernel", help="scalar, avx2, vnni, neon or neon-dot; default: the fastest of this machine.")
@of_run
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def match(
    a: str,
    b: str,
    games: int,
    visits: int | None,
    time_s: float | None,
    size: int | None,
    komi: float | None,
    colours: str,
    handicap: int | None,
    move_limit: int | None,
    scorer: str,
    sprt: tuple[int, int] | None,
    openings: str,
    sgf: Path | None,
    record: Path | None,
    deadline: float,
    tell: tuple[tuple[str, str], ...],
    threads: int,
    kernel: str | None,
    directory: Path,
    as_json: bool,
) -> int:
    """Play A against B: each a release (name, number, `latest`, `first`), a network file, weights of Leela Zero, `random`,
    or a program that speaks GTP: gtp:'COMMAND', or gtp:NAME='COMMAND'."""
    from node.cli.match_progress import Progress
    from node.cli.match_table import match_table
    from node.cli.options import parse_kernel
    from node.matches.colours import Colours
    from node.matches.match import MatchSettings, pair_seed, play_match
    from node.matches.match_record import open_record
    from node.matches.match_run import find_match_run
    from node.matches.match_sgf import MatchSgf
    from node.matches.network_player import is_same_network
    from node.matches.players import Allowance, find_opponent, verify_engines
    from node.matches.playing import Start
    from node.matches.setups import make_setups
    from verification.setup import engine_config

    if games % 2:
        raise click.BadParameter("an even number is needed: games are played in pairs.", param_hint="--games")
    if time_s is not None and visits is not None:
        raise click.UsageError("--time and --visits exclude each other.")
    if sprt is not None and colours != "swap":
        raise click.UsageError("--sprt needs swapped colours: with fixed ones it would test who has the better side.")
    run = find_match_run(directory, (a, b))
    config = engine_config(run.manifest.gate_search)
    if visits is not None:
        config = replace(config, visits_full=visits, visits_fast=visits)
    komi_half = None if komi is None else int(2 * komi)
    setups = make_setups(
        run.manifest,
        run.steps,
        size,
        komi_half,
        openings,
        handicap=handicap or 0,
        move_limit=move_limit,
    )
    allowance = Allowance(config, parse_kernel(kernel), time_s, deadline)
    with ExitStack() as stack:
        # SIGTERM as Ctrl-C: engines have sessions of their own and would think on.
        stack.callback(signal.signal, signal.SIGTERM, signal.signal(signal.SIGTERM, signal.default_int_handler))
        players = []
        for side, name in zip(SIDES, (a, b), strict=True):
            startup = tuple(command for whom, command in tell if whom.lower() == side)
            players.append(find_opponent(name, run.gallery, allowance, setups.sizes, startup))
            stack.callback(players[-1].close)
        rules, opening = setups(0, pair_seed(0))
        verify_engines(players, rules, Start(rules, tuple(opening), handicap or 0).stones)
        if scorer == "engines" and not any(player.counts for player in players):
            raise click.UsageError("--scorer engines needs an engine that knows final_score.")
        if is_same_network(*players):
            click.echo(
                f"{players[0].name} and {players[1].name} are the same network: this match compares it with itself.",
                err=True,
            )
        settings = MatchSettings(
            games,
            setups,
            sprt,
            None if sgf is None else MatchSgf(sgf, date.today().isoformat()),
            threads,
            colours=Colours(colours),
            handicap=handicap or 0,
            time_s=time_s,
            players_count=scorer == "engines",
        )
        if record is not None:
            facts: dict[str, Any] = {
                "run": run.run_id,
                "players": [{"name": player.name, "identity": player.identity} for player in players],
                "visits": config.visits_full if time_s is None else None,
                "search": sha256(repr(config).encode()).hexdigest()[:16],
                "size": size,
                "komi": komi,
                "openings": openings,
                "setups": setups.digest(),
                "sprt": None if sprt is None else list(sprt),
                # None where a record of an earlier version has nothing.
                "time_s": time_s,
                "colours": None if colours == "swap" else colours,
                "handicap": handicap,
                "scorer": None if scorer == "rules" else scorer,
            }
            settings = replace(settings, record=stack.enter_context(open_record(record, facts)))
        progress = Progress(sys.stderr.isatty())
        result = play_match(players[0], players[1], settings, (lambda each: None) if as_json else progress.show)
        progress.end()
    click.echo(json.dumps(result.to_json()) if as_json else match_table(result))
    return NO if result.verdict == "failed" else 0
