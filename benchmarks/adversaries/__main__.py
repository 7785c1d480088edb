"""Every adversary of the design against the real admission code, with what theory says beside it, and what checking costs:
`python -m benchmarks.adversaries [--quick] [--json] [--write] [--runs N] [--only NAME]`.

The whole form takes about ten minutes on one core, the quick one less than 45 s. `--write` puts the tables into
`docs/adversaries.md`. Ends with 1 when a measured number is above what its formula allows, or disagrees with it.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from benchmarks._run import cell_text, machine
from benchmarks.adversaries import (
    contributors,
    coordinators,
    edited,
    friends,
    identities,
    keys,
    network,
    omission,
    overhead,
    verifiers,
)
from benchmarks.adversaries.outcome import HEADINGS, Effort, Row
from benchmarks.all import replace_between

PAGE = Path(__file__).parents[2] / "docs" / "adversaries.md"
BEGIN, END = "<!-- Written by `python -m benchmarks.adversaries --write`. -->\n", "<!-- Until here. -->\n"

Adversary = Callable[[Effort], Iterator[Row]]

OVERHEAD = "overhead"


def adversaries() -> dict[str, Adversary]:
    """All of them by name, in the order of the tables."""
    found: dict[str, Adversary] = {cheat.name: partial(edited.edited, cheat) for cheat in edited.CHEATS}
    for module in (contributors, keys, identities, verifiers, friends, coordinators, omission, network):
        found |= {each.__name__.replace("_", " "): each for each in module.ADVERSARIES}
    return found


def chosen(only: Sequence[str]) -> dict[str, Adversary]:
    """Those whose names contain one of these words; all without any."""
    return {name: each for name, each in adversaries().items() if not only or any(word in name for word in only)}


def measured(which: dict[str, Adversary], effort: Effort) -> Iterator[Row]:
    """Rows as they are done."""
    for name, adversary in which.items():
        started = time.perf_counter()
        yield from adversary(effort)
        print(f"{name}: {time.perf_counter() - started:.1f} s", file=sys.stderr, flush=True)


def markdown(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of Markdown."""
    lines = [headings, ["---"] * len(headings), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def page(rows: Sequence[Row], costs: Sequence[dict[str, float | str]], effort: Effort, heading: str) -> str:
    """The tables as they stand in the page."""
    parts = [f"{heading}\n"]
    for kind in dict.fromkeys(row.kind for row in rows):
        parts.append(
            f"### {kind.capitalize()}\n\n{markdown(HEADINGS, [row.cells() for row in rows if row.kind == kind])}"
        )
    if costs:
        size = overhead.QUICK if effort.is_quick else overhead.Size()
        cells = [[cell_text(value) for value in row.values()] for row in costs]
        title = f"### Cost: {size.contributors} honest contributors, {size.contributors * size.batches:,} batches"
        parts.append(f"{title}\n\n{markdown(list(costs[0]), cells)}")
    return "\n" + "\n".join(parts) + "\n"


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="less than 45 seconds: fewer runs, wider intervals")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of tables")
    parser.add_argument("--write", action="store_true", help="the tables into docs/adversaries.md")
    parser.add_argument("--runs", type=int, metavar="N", help="lives of each statistical adversary, default 1000")
    parser.add_argument(
        "--only", action="append", default=[], metavar="NAME", help=f"adversaries with this word, or {OVERHEAD}"
    )
    given = parser.parse_args()
    effort = Effort(20, 1, True) if given.quick else Effort()
    if given.runs is not None:
        if given.runs < 1:
            parser.error("there has to be at least one run")
        effort = Effort(given.runs, min(effort.real, given.runs), given.quick)
    with_cost = not given.only or OVERHEAD in given.only
    which = chosen(given.only) if given.only != [OVERHEAD] else {}
    if not which and not with_cost:
        parser.error(f"no adversary is named so; there are {', '.join(adversaries())}")
    heading = f"Measured {time.strftime('%Y-%m-%d', time.gmtime())}, {machine()}."
    started = time.perf_counter()
    rows = list(measured(which, effort))
    costs = list(overhead.measure(overhead.QUICK if given.quick else overhead.Size())) if with_cost else []
    print(f"{time.perf_counter() - started:.0f} s in all", file=sys.stderr)
    if given.json:
        print(json.dumps({"adversaries": [row.json() for row in rows], OVERHEAD: costs}))
    else:
        print(page(rows, costs, effort, heading))
    if given.write:
        replace_between(PAGE, BEGIN, END, page(rows, costs, effort, heading))
    wrong = [row.name for row in rows if not row.within_bound or row.agrees is False]
    if wrong or not (not costs or given.quick or overhead.within_goal(costs)):
        print(f"Not as the formulas say: {', '.join(wrong) or OVERHEAD}", file=sys.stderr)
        raise SystemExit(1)


if __name__ == "__main__":
    main()
