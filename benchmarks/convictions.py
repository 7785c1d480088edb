"""False convictions: honest plies, played with one kernel and replayed with another: `python -m benchmarks.convictions`.

The full form replays 10^6 plies of b1c16 on 7x7 with 8 visits and 2,000 of the trained b6c96 on 9x9 with 100, half of them
played with the fastest kernel and replayed with the second, half the other way round; every twentieth of the latter is
repeated by the scalar kernel too. `--quick` does fewer. With `--state FILE` it may be stopped and goes on from there.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path

from benchmarks._honest import Subject, Tally, judge, large, play, small
from benchmarks._run import Row, show_all
from native.network import Kernel
from protocol.search_config import SEMANTICS

FULL = {"b1c16": 1_000_000, "b6c96": 2_000}
QUICK = {"b1c16": 100_000, "b6c96": 150}
SHOW_S = 5.0

Direction = tuple[Kernel, Kernel]
"""Who plays, who replays."""


def directions() -> tuple[Direction, Direction]:
    """The two fastest kernels of this machine, both ways; SystemExit when it has only one."""
    kernels = Kernel.available()
    if len(kernels) < 2:
        raise SystemExit("This machine has one kernel only, so there is nothing to compare.")
    second, first = kernels[-2:]
    return (second, first), (first, second)


class Tallies:
    """Tallies by subject and direction, kept in a file where one is given."""

    def __init__(self, path: Path | None = None) -> None:
        """Reads the file if it is there; SystemExit when it is not one of this search's."""
        self._path = path
        self._found: dict[str, Tally] = {}
        if path is not None and path.exists():
            try:
                stored = json.loads(path.read_text(encoding="utf-8"))
                rows = {key: Tally(**row | {"faults": tuple(row["faults"])}) for key, row in stored["tallies"].items()}
                semantics = stored["semantics"]
            except (OSError, ValueError, TypeError, KeyError, AttributeError):
                raise SystemExit(f"{path} is not a state of this benchmark.") from None
            if semantics != SEMANTICS:
                raise SystemExit(f"{path} counts plies of {semantics}; this build plays {SEMANTICS}.")
            self._found = rows

    def of(self, subject: Subject, direction: Direction) -> Tally:
        """What there is of a subject in one direction."""
        return self._found.get(_key(subject, direction), Tally())

    def both(self, subject: Subject) -> Tally:
        """What there is of a subject in both."""
        one, other = directions()
        return self.of(subject, one) + self.of(subject, other)

    def add(self, subject: Subject, direction: Direction, tally: Tally) -> None:
        """Adds a round, to the file too."""
        self._found[_key(subject, direction)] = self.of(subject, direction) + tally
        if self._path is not None:
            text = json.dumps({"semantics": SEMANTICS, "tallies": {k: asdict(v) for k, v in self._found.items()}})
            beside = self._path.with_name(self._path.name + ".new")
            beside.write_text(text + "\n", encoding="utf-8")
            os.replace(beside, self._path)


def _key(subject: Subject, direction: Direction) -> str:
    player, replayer = direction
    return f"{subject.name}: {player.encode()} to {replayer.encode()}"


def count(subject: Subject, plies: int, tallies: Tallies, heard: Callable[[Tally], None] = lambda tally: None) -> Tally:
    """Plays rounds until `plies` plies were replayed, always in the direction that has fewer; tells of each round."""
    while (so_far := tallies.both(subject)).plies < plies:
        player, replayer = direction = min(directions(), key=lambda each: tallies.of(subject, each).plies)
        tallies.add(subject, direction, judge(play(subject, so_far.rounds, player), replayer, so_far.plies))
        heard(tallies.both(subject))
    return so_far


def table(subject: Subject, tallies: Tallies) -> Iterator[Row]:
    """A row for each direction."""
    for player, replayer in directions():
        tally = tallies.of(subject, (player, replayer))
        yield {
            "played by": player.encode(),
            "replayed by": replayer.encode(),
            "games": tally.games,
            "plies": tally.plies,
            "by scalar too": tally.scalar,
            "false convictions": len(tally.faults),
        }


def shown(subject: Subject, plies: int) -> Callable[[Tally], None]:
    """Tells on stderr how far it is, now and then."""
    last = time.monotonic()

    def heard(tally: Tally) -> None:
        nonlocal last
        if time.monotonic() - last >= SHOW_S:
            last = time.monotonic()
            print(
                f"{subject.name}: {tally.plies:,} of {plies:,}, {len(tally.faults)} differ", file=sys.stderr, flush=True
            )

    return heard


def main() -> None:
    """Counts and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="less than 45 seconds, with fewer plies")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of tables")
    parser.add_argument("--state", type=Path, metavar="FILE", help="keeps what was counted, and goes on from there")
    given = parser.parse_args()
    wanted: Mapping[str, int] = QUICK if given.quick else FULL
    tallies = Tallies(given.state)
    subjects = {"b1c16": small(), "b6c96": large()}
    try:
        found = [count(each, wanted[key], tallies, shown(each, wanted[key])) for key, each in subjects.items()]
    except KeyboardInterrupt:
        kept = f"; the same command goes on from {given.state}" if given.state else ""
        raise SystemExit(f"Stopped{kept}.") from None
    for fault in (fault for tally in found for fault in tally.faults):
        print(fault, file=sys.stderr)
    show_all({f"honest plies, {each.name}": table(each, tallies) for each in subjects.values()}, given.json)


if __name__ == "__main__":
    main()
