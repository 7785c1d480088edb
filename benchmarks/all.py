"""Every benchmark in one go, and the targets: `python -m benchmarks.all [--quick] [--json] [--write] [NAME ...]`.

Each benchmark is a process of its own, one after another. The report is Markdown; `--write` puts it into
`docs/benchmarks.md` in place of the last one, and the targets into `README.md`.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks._run import cell_text, machine, table_text
from benchmarks._targets import TARGETS, Tables

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "benchmarks.md"
README = HERE.parent / "README.md"
MARK = "<!-- Everything below is written by `python -m benchmarks.all --write`. -->\n"
BEGIN, END = "<!-- Written by `python -m benchmarks.all --write`. -->\n", "<!-- Until here. -->\n"
FIRST = ("net", "board", "search", "selfplay", "replay", "memory")
NAMES = (*FIRST, *sorted({path.stem for path in HERE.glob("[a-z]*.py")} - {*FIRST, "all"}))


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


def short_table(results: dict[str, Tables]) -> str:
    """The targets as a table of Markdown, with other programs beside them."""
    lines = ["| | measured | target | others |", "|---|---|---|---|"]
    for target in TARGETS:
        if (row := target.row(results)) is not None:
            numbers = f"{cell_text(row['measured'])} | {row['target']}"
            lines.append(f"| {row['claim']} | {numbers} | {target.others(results)} |")
    return "\n".join(lines) + "\n"


def replace_between(page: Path, begin: str, end: str, text: str) -> None:
    """Replaces what stands between two marks, the second one optional; SystemExit when a mark is missing."""
    above, found, rest = page.read_text(encoding="utf-8").partition(begin)
    _, ended, below = rest.partition(end) if end else ("", "", "")
    if not found or ended != end:
        raise SystemExit(f"{page.name} has lost its mark {begin.strip()}")
    page.write_text(f"{above}{begin}{text}{end}{below}", encoding="utf-8")


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(NAMES)}; default: all")
    parser.add_argument("--quick", action="store_true", help="each in less than 45 seconds")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    parser.add_argument("--write", action="store_true", help="into docs/benchmarks.md and README.md too")
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
        replace_between(PAGE, MARK, "", f"\n{text}")
        replace_between(README, BEGIN, END, short_table(results))


if __name__ == "__main__":
    main()
