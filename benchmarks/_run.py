"""What every benchmark shares: its options, rounds in which what is compared takes turns, and how results are printed.

A number is the median of rounds, never the best of them; `spread` beside it is (highest - lowest) / median.
"""

import argparse
import json
import os
import platform
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TypeVar

from native.network import Kernel
from node.machine.processor import cpu_model, usable_cores

Row = Mapping[str, str | float]
T = TypeVar("T")

LEAST_ROUNDS = 3


@dataclass(frozen=True, slots=True)
class Summary:
    """Numbers of rounds."""

    median: float
    spread: float

    @classmethod
    def of(cls, numbers: Iterable[float]) -> "Summary":
        """The summary of at least one number."""
        found = sorted(numbers)
        middle = median(found)
        return cls(middle, (found[-1] - found[0]) / middle if middle else 0.0)


def arguments(description: str | None, directory: str | None = None, entries: str | None = None) -> argparse.Namespace:
    """--quick, --json and --kernel, and --dir and --entries where `directory` and `entries` say what they are."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--quick", action="store_true", help="less than 45 seconds, for a first impression")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of tables")
    parser.add_argument("--kernel", type=Kernel.parse, default=Kernel.BEST, help="best, scalar, ...")
    if directory is not None:
        parser.add_argument("--dir", type=Path, help=directory)
    if entries is not None:
        parser.add_argument("--entries", type=int, metavar="N", help=entries)
    return parser.parse_args()


def rounds(works: Sequence[Callable[[], T]], seconds: float, least: int = LEAST_ROUNDS) -> list[list[T]]:
    """What each of `works` gives, round after round in turns, for about `seconds` and at least so many rounds."""
    results: list[list[T]] = [[] for _ in works]
    until = time.perf_counter() + seconds
    done = 0
    while done < least or time.perf_counter() < until:
        for work, found in zip(works, results, strict=True):
            found.append(work())
        done += 1
    return results


def machine() -> str:
    """Where this runs, in one line."""
    load = os.getloadavg()[0]
    return f"{cpu_model()}, {usable_cores()} cores, Python {platform.python_version()}, load {load:.1f} at the start"


def show(rows: Iterable[Row], as_json: bool) -> None:
    """Prints rows with the same keys as a table, or all of them as one JSON object."""
    table = list(rows)
    if as_json:
        print(json.dumps({"rows": table}))
    else:
        print(table_text(table))


def show_all(tables: Mapping[str, Iterable[Row]], as_json: bool) -> None:
    """Prints tables with a title each, or one JSON object of them all."""
    if as_json:
        print(json.dumps({title: list(rows) for title, rows in tables.items()}))
        return
    for number, (title, rows) in enumerate(tables.items()):
        print(f"{'' if number == 0 else chr(10)}{title}\n{table_text(list(rows))}", flush=True)


def table_text(rows: Sequence[Row]) -> str:
    """Rows with the same keys as aligned columns."""
    texts = [list(rows[0]), *([cell_text(value) for value in row.values()] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    lines = ("  ".join(cell.rjust(width) for cell, width in zip(text, widths, strict=True)) for text in texts)
    return "\n".join(lines)


def cell_text(value: str | float) -> str:
    """A number as it is printed; texts stay."""
    if not isinstance(value, float):
        return str(value)
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:,.2f}"
