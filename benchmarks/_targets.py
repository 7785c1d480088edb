"""The numbers that are claimed, where each is in the results of a benchmark, and what other programs do.

Numbers of other programs that are not measured in the same run were taken before, on one core of such a machine.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Tables = dict[str, list[dict[str, Any]]]
"""What a benchmark prints with --json: tables by title."""

Find = Callable[[Tables], float | None]


@dataclass(frozen=True, slots=True)
class Target:
    """A claim: the benchmark it comes from, what it has to reach, and where it is in the results.

    `at_most`: whether less is better. `find` gives None when this machine cannot measure it. `before`: what other programs
    did, measured earlier; `peers`: finds those of the same run.
    """

    claim: str
    benchmark: str
    goal: float
    find: Find
    at_most: bool = False
    before: str = ""
    peers: Callable[[Tables], str] = lambda tables: ""

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

    def others(self, results: dict[str, Tables]) -> str:
        """What other programs do: in the same run, and before."""
        same = self.peers(results.get(self.benchmark, {}))
        return "; ".join(text for text in (same, f"before: {self.before}" if self.before else "") if text)

    def _reached(self, found: float) -> bool:
        return found <= self.goal if self.at_most else found >= self.goal


def cell(title: str, column: str, **where: object) -> Find:
    """Finds the number of a column in the first table whose title begins so, in the row where columns have these values."""

    def find(tables: Tables) -> float | None:
        for name, rows in tables.items():
            for row in rows if name.startswith(title) else ():
                if all(row.get(key.replace("_", " ")) == value for key, value in where.items()):
                    return None if row[column] == "-" else float(row[column])
        return None

    return find


def largest(title: str, column: str) -> Find:
    """Finds the largest number of a column."""

    def find(tables: Tables) -> float | None:
        return max(
            (row[column] for name, rows in tables.items() if name.startswith(title) for row in rows), default=None
        )

    return find


def smallest(title: str, column: str) -> Find:
    """Finds the smallest number of a column, over the rows that have one."""

    def find(tables: Tables) -> float | None:
        found = [row[column] for name, rows in tables.items() if name.startswith(title) for row in rows]
        return min((float(number) for number in found if number != "-"), default=None)

    return find


def total(title: str, column: str) -> Find:
    """Finds the sum of a column over all tables of the title."""

    def find(tables: Tables) -> float | None:
        found = [row[column] for name, rows in tables.items() if name.startswith(title) for row in rows]
        return sum(found) if found else None

    return find


def engines_beside(title: str) -> Callable[[Tables], str]:
    """The peers of a table of `benchmarks.net`: the rows of engines that have no peak of ours."""

    def find(tables: Tables) -> str:
        rows = [row for name, rows in tables.items() if name.startswith(title) for row in rows]
        return ", ".join(f"{row['engine']} {row['evaluations/s']:,.0f}" for row in rows if row["of peak"] == "-")

    return find


def trainers(tables: Tables) -> str:
    """The rows of `benchmarks.train_katago`, ours among them: the target is a ratio."""
    rows = [row for rows in tables.values() for row in rows]
    return ", ".join(f"{row['trainer']} ({row['norm']}, {row['layout']}) {row['samples/cpu s']:,.0f}" for row in rows)


def self_play_network(tables: Tables) -> str:
    """Which network played, and how many evaluations a visit it took: without them the number of positions says little."""
    for name, rows in tables.items():
        if name.startswith(GAMES):
            return f"ours: {name.rpartition(', ')[2]}, {rows[0]['evaluations/visit']:.2f} evaluations a visit"
    return ""


NINE, NINETEEN = "b6c96 9x9 batch 8", "b6c96 19x19 batch 8"
VNNI, AVX2 = "evaluations/s, b6c96 at {}, VNNI", "evaluations/s, b6c96 at {}, AVX2"
GAMES, SETTINGS = "whole games", "threads and games"
PART, CONFIGURED, FIRST_GAME = "a contributor's part", "as pip is configured", "first game finished"

TARGETS = (
    Target(
        VNNI.format("9x9"),
        *("net", 2600, cell(NINE, "evaluations/s", engine="vnni")),
        before="KataGo 1.17 (Eigen, its b6c96) 556",
        peers=engines_beside(NINE),
    ),
    Target(
        VNNI.format("19x19"),
        *("net", 580, cell(NINETEEN, "evaluations/s", engine="vnni")),
        before="KataGo 170, Leela Zero (6x96) 96",
        peers=engines_beside(NINETEEN),
    ),
    Target(AVX2.format("9x9"), "net", 1550, cell(NINE, "evaluations/s", engine="avx2")),
    Target(AVX2.format("19x19"), "net", 350, cell(NINETEEN, "evaluations/s", engine="avx2")),
    Target("share of the multiply peak at 9x9, VNNI", "net", 0.85, cell(NINE, "of peak", engine="vnni")),
    Target("share of the multiply peak at 19x19, VNNI", "net", 0.85, cell(NINETEEN, "of peak", engine="vnni")),
    Target(
        "self-play positions a processor second, b6c96, 9x9, 100 visits",
        *("selfplay", 45, cell(GAMES, "positions/cpu s")),
        before="KataGo 7.3 (0.52 evaluations a visit), Sayuri 1.8",
        peers=self_play_network,
    ),
    Target(
        "us of search a visit on 9x9, outside the network (b1c16: beside b6c96 the difference is noise)",
        *("search", 6, cell("rows", "us/visit outside", subject="9x9 b1c16")),
        at_most=True,
        before="KataGo 36.7",
    ),
    Target("two threads to one", "selfplay", 1.9, cell(SETTINGS, "to one thread", threads=2, games_in_flight=1)),
    Target(
        "light playouts/s, 9x9, positional superko",
        *("board", 40_000, cell("rows", "playouts/s", board="9x9", ko="positional")),
        before="KataGo's history class 10,350",
    ),
    Target(
        "ms until `gonode --help` is printed", "cli", 300, cell("rows", "ms", command="gonode --help"), at_most=True
    ),
    Target("s to install a contributor's part", "install", 60, cell(PART, "s", packages_from=CONFIGURED), at_most=True),
    Target("MB of its environment", "install", 200, largest(PART, "MB"), at_most=True),
    Target(
        "s from `gonode join` with an invite to the first finished game, 9x9, 50 visits, on loopback",
        *("join", 30, cell("rows", "s", reached=FIRST_GAME)),
        at_most=True,
    ),
    Target("MB, 256 games in flight", "memory", 300, largest("rows", "MB"), at_most=True),
    Target(
        "ms to replay a move of 100 visits, VNNI", "replay", 60, cell("replay", "ms first", kernel="vnni"), at_most=True
    ),
    Target(
        "MiB/s of one blob between two processes on loopback",
        *("blobs", 40, cell("one blob", "MiB/s", what="a blob between two nodes")),
    ),
    Target(
        "copies that a seed uploads for all fetchers",
        *("blobs", 4, largest("one seed", "copies by seed")),
        at_most=True,
    ),
    Target(
        "time of all fetchers over 20 Mbit/s, in times of one copy",
        *("blobs", 3, cell("one seed", "times one copy", uplink="20 Mbit/s")),
        at_most=True,
    ),
    Target(
        "training rows/s read from batches on one core, 9x9",
        *("reader", 20_000, cell("Rows on one core", "read rows/s", subject="9x9 uniform")),
    ),
    Target(
        "% of its time that the optimiser waits for data, b4c64 on 9x9, one worker",
        *("reader", 5, cell("Waiting for data", "waiting %", workers=1)),
        at_most=True,
    ),
    Target(
        "s until 20 processes heard of a head, a fifth of them killed meanwhile: the median",
        *("gossip", 1, cell("rows", "median s", what="heard")),
        at_most=True,
    ),
    Target(
        "s until the entries of a head that gossip lost were there, at worst",
        *("gossip", 30, cell("rows", "worst s", what="followed by who hears nothing")),
        at_most=True,
    ),
    Target(
        "entries/s appended to a log of a million, 64 at a time and on disk",
        *("log", 2000, cell("the log", "appended/s", entries=10**6)),
    ),
    Target(
        "ms for the slowest of 1,000 inclusion proofs in a log of a million entries",
        *("log", 5, cell("the log", "inclusion ms", entries=10**6)),
        at_most=True,
    ),
    Target(
        "s to check a log of a million entries from its tiles",
        *("log", 60, cell("the log", "check s", entries=10**6)),
        at_most=True,
    ),
    Target(
        "s to open a log of a million entries, its bytes known by their root hash (not the state that they make)",
        *("log", 2, cell("the log", "open s", entries=10**6)),
        at_most=True,
    ),
    Target("% of a core, an idle node", "idle", 1, largest("rows", "% of a core"), at_most=True),
    Target("MB, an idle node", "idle", 120, largest("rows", "MB at most"), at_most=True),
    Target("ms to replay a move, scalar", "replay", 5000, cell("replay", "ms first", kernel="scalar"), at_most=True),
    Target(
        "false convictions among honest plies replayed by another kernel",
        *("convictions", 0, total("honest plies", "false convictions")),
        at_most=True,
    ),
    Target(
        "s to check a fraud proof, b6c96 on 9x9, 100 visits",
        *("proof", 1, largest("check of a fraud proof", "seconds_best")),
        at_most=True,
    ),
    Target(
        "s to check a fraud proof, scalar",
        *("proof", 5, largest("check of a fraud proof", "seconds_scalar")),
        at_most=True,
    ),
    Target(
        "trained samples/s, b4c64 at 9x9 on one core, in times of KataGo's own trainer at its fastest",
        *("train_katago", 1, smallest("rows", "gonode/this")),
        peers=trainers,
    ),
    Target(
        "s to audit every byte of a run of 10,000 batches, replays apart",
        *("audit", 120, cell("without replays", "seconds", check="all")),
        at_most=True,
    ),
)
