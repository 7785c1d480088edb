"""Every benchmark in one go, and the targets: `python -m benchmarks.all [--quick] [--json] [--write] [NAME ...]`.

Each benchmark is a process of its own, one after another. The report is Markdown; `--write` puts it into
`docs/benchmarks.md` in place of the last one.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks._run import machine, table_text

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "benchmarks.md"
MARK = "<!-- Everything below is written by `python -m benchmarks.all --write`. -->\n"
FIRST = ("net", "board", "search", "selfplay", "replay", "memory")
NAMES = (*FIRST, *sorted({path.stem for path in HERE.glob("[a-z]*.py")} - {*FIRST, "all"}))

Tables = dict[str, list[dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class Target:
    """A number that is claimed: the benchmark it comes from, what it has to reach, and where it is in the results.

    `at_most`: whether less is better. `find` gives None when this machine cannot measure it.
    """

    claim: str
    benchmark: str
    goal: float
    find: Callable[[Tables], float | None]
    at_most: bool = False

    def row(self, results: dict[str, Tables]) -> dict[str, str | float] | None:
        """The row of the table of targets, or None when its benchmark did not run."""
        if self.benchmark not in results:
            return None
        found = self.find(results[self.benchmark])
        verdict = "not measured here" if found is None else "yes" if self._reached(found) else "NO"
        return {
            "claim": self.claim,
            "target": f"{'at most' if self.at_most else 'at least'} {self.goal:,g}",
            "measured": "-" if found is None else found,
            "reached": verdict,
            "command": f"python -m benchmarks.{self.benchmark}",
        }

    def _reached(self, found: float) -> bool:
        return found <= self.goal if self.at_most else found >= self.goal


def cell(title: str, column: str, **where: object) -> Callable[[Tables], float | None]:
    """Finds the number of a column in the first table whose title begins so, in the row where columns have these values."""

    def find(tables: Tables) -> float | None:
        for name, rows in tables.items():
            for row in rows if name.startswith(title) else ():
                if all(row.get(key.replace("_", " ")) == value for key, value in where.items()):
                    return None if row[column] == "-" else float(row[column])
        return None

    return find


NINE, NINETEEN = "b6c96 9x9 batch 8", "b6c96 19x19 batch 8"
TARGETS = (
    Target("evaluations/s, b6c96, 9x9, VNNI", "net", 2600, cell(NINE, "evaluations/s", engine="vnni")),
    Target("evaluations/s, b6c96, 19x19, VNNI", "net", 580, cell(NINETEEN, "evaluations/s", engine="vnni")),
    Target("evaluations/s, b6c96, 9x9, AVX2", "net", 1550, cell(NINE, "evaluations/s", engine="avx2")),
    Target("evaluations/s, b6c96, 19x19, AVX2", "net", 350, cell(NINETEEN, "evaluations/s", engine="avx2")),
    Target("share of the peak, 9x9, VNNI", "net", 0.85, cell(NINE, "of peak", engine="vnni")),
    Target("share of the peak, 19x19, VNNI", "net", 0.85, cell(NINETEEN, "of peak", engine="vnni")),
    Target("positions/cpu s, b6c96, 9x9, 100 visits", "selfplay", 45, cell("whole games", "positions/cpu s")),
    Target(
        "search, us/visit outside the network", "selfplay", 6, cell("whole games", "us/visit outside"), at_most=True
    ),
    Target(
        "two threads to one", "selfplay", 1.9, cell("threads and games", "to one thread", threads=2, games_in_flight=1)
    ),
    Target(
        "light playouts/s, 9x9, positional superko",
        "board",
        40_000,
        cell("rows", "playouts/s", board="9x9", ko="positional"),
    ),
    Target(
        "MB, 256 games in flight", "memory", 300, lambda tables: max(row["MB"] for row in tables["rows"]), at_most=True
    ),
    Target("replay, ms of a move, VNNI", "replay", 60, cell("replay", "ms first", kernel="vnni"), at_most=True),
    Target("replay, ms of a move, scalar", "replay", 5000, cell("replay", "ms first", kernel="scalar"), at_most=True),
)


def measure(name: str, quick: bool) -> Tables:
    """The tables of one benchmark; SystemExit when it fails."""
    command = [sys.executable, "-m", f"benchmarks.{name}", "--json", *(["--quick"] if quick else [])]
    ended = subprocess.run(command, cwd=HERE.parent, stdout=subprocess.PIPE, text=True, check=False)
    if ended.returncode != 0:
        raise SystemExit(f"benchmarks.{name} ended with {ended.returncode}.")
    tables: Tables = json.loads(ended.stdout)
    return tables


def report(results: dict[str, Tables], seconds: dict[str, float], heading: str) -> Iterator[str]:
    """The lines of the report."""
    targets = [row for target in TARGETS if (row := target.row(results)) is not None]
    yield f"{heading}\n"
    if targets:
        yield f"### Targets\n\n```\n{table_text(targets)}\n```\n"
    for name, tables in results.items():
        yield f"### {name}\n\nIn {seconds[name]:.0f} s.\n"
        for title, rows in tables.items():
            yield (f"{title}:\n\n" if title != "rows" else "") + f"```\n{table_text(rows)}\n```\n"


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(NAMES)}; default: all")
    parser.add_argument("--quick", action="store_true", help="each in less than 45 seconds")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    parser.add_argument("--write", action="store_true", help="into docs/benchmarks.md too")
    given = parser.parse_args()
    if unknown := set(given.names) - set(NAMES):
        parser.error(f"there is no benchmark {', '.join(sorted(unknown))}")
    form = "quick forms" if given.quick else "long forms"
    heading = f"## Last run: {form}, {time.strftime('%Y-%m-%d', time.gmtime())}\n\n{machine()}."
    results: dict[str, Tables] = {}
    seconds: dict[str, float] = {}
    for name in given.names or NAMES:
        print(f"benchmarks.{name}", file=sys.stderr, flush=True)
        started = time.perf_counter()
        results[name] = measure(name, given.quick)
        seconds[name] = time.perf_counter() - started
    text = "\n".join(report(results, seconds, heading))
    print(json.dumps(results) if given.json else text)
    if given.write:
        above, mark, _ = PAGE.read_text(encoding="utf-8").partition(MARK)
        PAGE.write_text(f"{above}{mark or MARK}\n{text}", encoding="utf-8")


if __name__ == "__main__":
    main()
