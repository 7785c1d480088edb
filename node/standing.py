"""What `gonode status --contributors` says: how contributors stand in a node's copy of the log, as JSON and as a table.

Spec: `docs/commands.md` ("gonode status"). A node that runs is asked; the folder of one that does not is read.
"""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from node.disk.home import Home, HomeError
from node.disk.lockfile import locked
from node.disk.store import Store
from node.following.stored_log import replay_log
from protocol.registration import Registration
from protocol.seeds import PPM
from protocol.words import counted
from verification.standing import REPLACED, Standing, standings, total
from verification.state import LogState

WIDTH = 100
NAME_WIDTH = 14
_HEAD = ("name", "key", "standing", "batch", "games", "plies", "visits", "held", "used", "replay", "failed", "seen")
_WIDTHS = (NAME_WIDTH, 8, 17, 5, 5, 5, 6, 5, 5, 6, 6, 5)
_TEXTS = 3
"""So many columns are text, aligned to the left."""


def contributors_of(state: LogState, waiting: Sequence[Registration] = ()) -> dict[str, Any]:
    """The object that `gonode status --contributors --json` prints; `waiting` as in `standings`."""
    rows = standings(state, waiting) if state.size >= 2 else []
    tally = total(rows)
    return {
        "run": state.run.hex(),
        "log_size": state.size,
        "contributors": [_json(row) for row in rows],
        "total": {
            "contributors": sum(row.standing != REPLACED for row in rows),
            "batches": tally.batches,
            "games": tally.games,
            "failed_games": tally.rejected,
            "credit_plies": tally.credit_plies,
            "credit_visits": tally.credit_visits,
        },
    }


def read_contributors(home: Home) -> dict[str, Any]:
    """The same from the folder of a node that does not run; raises HomeError where no node ever did, DirectoryInUse."""
    ticket = home.load_ticket()
    if not home.database.is_file():
        raise HomeError(f"{home.directory}: no copy of the log is here.")
    with locked(home.directory), Store(home.database) as store:
        state = LogState(ticket.run)
        replay_log(state, store)
    return contributors_of(state)


def _json(row: Standing) -> dict[str, Any]:
    found = asdict(row)
    found["key"] = found.pop("peer").hex()
    for name in ("replaces", "replaced_by"):
        found[name] = found[name].hex() or None
    return found


# ---- as a table


def table_of(answer: dict[str, Any]) -> list[str]:
    """The lines of the table, none longer than WIDTH: a row a contributor, the totals, and why who stands as it does."""
    rows, sums = answer["contributors"], answer["total"]
    lines = [_line(_HEAD)]
    lines += [_line(_cells(row)) for row in rows]
    held = sum(row["held"] for row in rows)
    used = sum(row["released"] for row in rows)
    numbers = (sums["batches"], sums["games"], sums["credit_plies"], sums["credit_visits"], held, used)
    people = counted(sums["contributors"], "contributor")
    lines.append(_line(("total", "", people, *map(short_number, numbers), "", short_number(sums["failed_games"]), "")))
    lines += [_cut(f"{row['name']} {row['key'][:8]} {text}", WIDTH) for row in rows for text in _whys(row)]
    return lines


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    numbers = ("batches", "games", "credit_plies", "credit_visits", "held", "released")
    q, seen = row["q_ppm"], row["last_seen"]
    return (
        row["name"],
        row["key"][:8],
        _standing(row),
        *(short_number(row[name]) for name in numbers),
        "-" if q is None else f"{100 * q / PPM:.3g}%",
        short_number(row["failed_games"]),
        "-" if seen is None else short_number(seen),
    )


def _standing(row: dict[str, Any]) -> str:
    match row["standing"]:
        case "probation":
            return f"probation {row['passed']}/{row['needed']}"
        case "replaced":
            return f"now {row['replaced_by'][:8]}"
        case word if row["entry"] is not None and word not in ("waiting", "left"):
            return f"{word} #{row['entry']}"
        case word:
            return str(word)


def _whys(row: dict[str, Any]) -> list[str]:
    """What does not fit into a row."""
    found = []
    if row["reason"] and row["standing"] != REPLACED:
        found.append(f"{row['standing']}: {row['reason']}")
    if row["scrutiny"]:
        found.append(f"scrutiny: {row['scrutiny']}")
    return found


def _line(cells: Sequence[str]) -> str:
    parts = [
        _cut(cell, width).ljust(width) if at < _TEXTS else _cut(cell, width).rjust(width)
        for at, (cell, width) in enumerate(zip(cells, _WIDTHS, strict=True))
    ]
    return " ".join(parts).rstrip()


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 1]}~"


def short_number(number: int) -> str:
    """A count in at most five characters up to 10^15: as it is below 10,000, else as 12.3k, 4.56M, 789G."""
    if number < 10_000:
        return str(number)
    value, units = number / 1000, "kMGT"
    while value >= 999.5 and len(units) > 1:
        value, units = value / 1000, units[1:]
    digits = 2 if value < 9.995 else 1 if value < 99.95 else 0
    return f"{value:.{digits}f}{units[0]}"
