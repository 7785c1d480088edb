"""A paper model of a large network: what breaks first, and what is then done.

`python -m benchmarks.scale [--nodes N] [--verifiers V] [--large] [--set NAME=VALUE ...] [--json] [--measure] [--write]`

It computes from the numbers in `benchmarks/scale/assumptions.py`, and measures nothing but with `--measure`. `--write`
puts its tables into docs/scale.md.
"""

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Final

from benchmarks._run import Row, cell_text, show, show_all, table_text
from benchmarks.all import replace_between
from benchmarks.scale.assumptions import DEFAULT, LARGE, Assumptions, turned
from benchmarks.scale.limits import in_order
from benchmarks.scale.model import BYTES_PER_MBIT, Load, load, speed
from benchmarks.scale.sizes import sizes

NODES: Final = (100, 1_000, 10_000, 100_000)
PAGE: Final = Path(__file__).parents[2] / "docs" / "scale.md"
MARK: Final = "<!-- Everything below is written by `python -m benchmarks.scale --write`. -->\n"
SENSITIVE: Final = (
    ("plies_per_core_s", 0.25),
    ("plies_per_core_s", 4.0),
    ("games_per_batch", 4.0),
    ("q", 4.0),
    ("call_core_s", 0.5),
)
"""Numbers that matter most, and what each is multiplied by; q cannot be less. A ply's cost is visits and network."""

MEASURED_GAMES: Final = 16

NUMBERS: Final[tuple[tuple[str, Callable[[Load], float]], ...]] = (
    ("plies/s", lambda each: each.plies_s),
    ("games/s", lambda each: each.games_s),
    ("batches, Mbit/s", lambda each: each.batch_bytes_s / BYTES_PER_MBIT),
    ("headers/s, final ones too", lambda each: each.headers_s),
    ("verdicts/s", lambda each: each.verdicts_s),
    ("trace openings/s", lambda each: each.openings_s),
    ("receipts/s", lambda each: each.receipts_s),
    ("gate entries/s", lambda each: each.gate_entries_s),
    ("log entries/s in all", lambda each: each.entries_s),
    ("log growth, GB/day", lambda each: each.log_bytes_day / 1e9),
    ("timeout_entries in s", lambda each: each.timeout_s),
    ("a gate assignment on the slowest class, s", lambda each: each.gate_assignment_s),
    ("verifiers needed", lambda each: float(each.verifiers_needed)),
    ("verifiers taken", lambda each: float(each.verifiers)),
    ("replay, cores", lambda each: each.replay_core_s),
    ("cheap checks, cores", lambda each: each.check_core_s),
    ("full follower, Mbit/s down", lambda each: each.full_down_bytes_s / BYTES_PER_MBIT),
    ("full follower, Mbit/s up for others", lambda each: each.full_up_bytes_s / BYTES_PER_MBIT),
    ("full follower, share of a core", lambda each: each.full_core_share),
    ("full follower, hours to start after a month", lambda each: each.first_sync_s / 3600),
    ("full follower, memory after a month, GB", lambda each: each.full_memory_bytes / 1e9),
    ("light follower, kbit/s down", lambda each: each.light_down_bytes_s / BYTES_PER_MBIT * 1e3),
    ("light follower, share of a core", lambda each: each.light_core_share),
    ("gossip, messages/s a node", lambda each: each.gossip_messages_s),
    ("gossip, kB/s a node", lambda each: each.gossip_bytes_s / 1e3),
    ("have-lists of a new network, at most", lambda each: each.have_lists),
    ("a release to everybody, GB", lambda each: each.release_bytes / 1e9),
    ("until all have it, median uplink, s", lambda each: each.release_s),
    ("coordinator, cores of its one thread", lambda each: each.coordinator_core_share),
    ("coordinator, Mbit/s down", lambda each: each.coordinator_down_bytes_s / BYTES_PER_MBIT),
    ("coordinator, Mbit/s up", lambda each: each.coordinator_up_bytes_s / BYTES_PER_MBIT),
    ("coordinator, signatures/s made and checked", lambda each: each.coordinator_signatures_s),
    ("coordinator, bytes of a share set", lambda each: float(sizes().share_set + each.verifiers * sizes().share)),
    ("coordinator, disk, TB/day", lambda each: each.coordinator_disk_bytes_day / 1e12),
    ("hold-back on the commonest class, hours", lambda each: each.hold_back_s / 3600),
    ("rows held back, millions", lambda each: each.held_rows / 1e6),
    ("trainer, s a cycle", lambda each: each.cycle_s),
    ("trainer, rows/s made use of", lambda each: each.used_rows_s),
    ("rows never drawn, share", lambda each: each.never_used),
)


def machines(given: Assumptions) -> Iterator[Row]:
    """What a machine of each class does."""
    for machine in given.machines:
        found = speed(given, machine)
        yield {
            "class": machine.name,
            "share": machine.share,
            "cores": machine.cores,
            "speed": machine.speed,
            "plies/s": found.plies_s,
            "games/hour": found.games_s * 3600,
            "s a batch": found.batch_s,
            "kB/s up": found.up_bytes_s / 1e3,
            "of its uplink": found.up_bytes_s / BYTES_PER_MBIT / machine.up_mbit_s,
        }


def loads(given: Assumptions, nodes: Sequence[int], verifiers: int | None) -> Iterator[Row]:
    """The numbers of NUMBERS, a column for each number of nodes."""
    found = [load(given, count, verifiers) for count in nodes]
    for name, of in NUMBERS:
        yield {"nodes": name, **{f"{each.nodes:,}": of(each) for each in found}}


def breaks(given: Assumptions, verifiers: int | None) -> Iterator[Row]:
    """What breaks, in order, and where it does with all knobs turned that there are."""
    late = {resource.name: nodes for nodes, resource in in_order(turned(given), verifiers)}
    for nodes, resource in in_order(given, verifiers):
        at = load(given, nodes or NODES[-1], verifiers)
        yield {
            "nodes": _nodes(nodes),
            "knobs turned": _nodes(late[resource.name]),
            "resource": resource.name,
            "limit": f"{cell_text(float(resource.limit(at)))} {resource.unit}",
            "kind": resource.kind,
        }


def remedies(given: Assumptions, verifiers: int | None) -> Iterator[Row]:
    """What happens then and what is done, in the same order."""
    for nodes, resource in in_order(given, verifiers):
        if nodes is not None:
            yield {"resource": resource.name, "then": resource.effect, "done": resource.then}


def sensitivity(given: Assumptions, verifiers: int | None) -> Iterator[Row]:
    """Where the resources break when one of the numbers that matter most is another."""
    cases = {"as assumed": given}
    for name, factor in SENSITIVE:
        value = getattr(given, name)
        cases[f"{name} x {factor:g}"] = replace(given, **{name: type(value)(value * factor)})
    found = {title: {each.name: nodes for nodes, each in in_order(case, verifiers)} for title, case in cases.items()}
    for _, resource in in_order(given, verifiers):
        at = {title: nodes[resource.name] for title, nodes in found.items()}
        if any(nodes is not None for nodes in at.values()):
            yield {
                "resource": resource.name,
                **{title: _nodes(nodes) for title, nodes in at.items()},
            }


def assumptions() -> Iterator[Row]:
    """Every assumption, for both runs."""
    for row, large in zip(DEFAULT.facts(), LARGE.facts(), strict=True):
        yield {
            "name": row["name"],
            "default": _exact(row["value"]),
            "large": "" if large["value"] == row["value"] else _exact(large["value"]),
            **{key: row[key] for key in ("unit", "kind", "source")},
        }


def tables(given: Assumptions, name: str, nodes: Sequence[int], verifiers: int | None) -> dict[str, list[Row]]:
    """All tables about one run, by title."""
    return {
        f"{name}: what breaks, in order": list(breaks(given, verifiers)),
        f"{name}: what is then done": list(remedies(given, verifiers)),
        f"{name}: machines": list(machines(given)),
        f"{name}: load": list(loads(given, nodes, verifiers)),
        f"{name}: nodes at which it breaks when a number is another": list(sensitivity(given, verifiers)),
    }


def page(found: Mapping[str, Sequence[Row]]) -> str:
    """The tables as Markdown; remedies as sentences, for they are long."""
    parts = []
    for title, rows in found.items():
        if "done" in rows[0]:
            text = "\n".join(f"- **{row['resource']}**: {row['then']}. {_capital(str(row['done']))}." for row in rows)
        else:
            text = f"```\n{table_text(rows)}\n```"
        parts.append(f"## {_capital(title)}\n\n{text}\n")
    return "\n" + "\n".join(parts)


def changed(given: Assumptions, settings: Sequence[str]) -> Assumptions:
    """The assumptions with `NAME=VALUE` settings; raises ValueError with one sentence."""
    kinds = {each.name: type(getattr(given, each.name)) for each in fields(given) if each.name != "machines"}
    for setting in settings:
        name, _, text = setting.partition("=")
        if name not in kinds:
            raise ValueError(f"There is no assumption {name!r}.")
        try:
            value = kinds[name](text)
        except ValueError:
            raise ValueError(f"{name} has to be a number, not {text!r}.") from None
        given = replace(given, **{name: value})
    return given


def main() -> None:
    """Computes and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, metavar="N", help="one number of contributors instead of four")
    parser.add_argument(
        "--verifiers", type=int, metavar="V", help="default: as many as are needed, from 3 to what a note can name"
    )
    parser.add_argument("--large", action="store_true", help="19x19 with b15c192 instead of the default run")
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="another number for an assumption"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object instead of tables")
    parser.add_argument("--measure", action="store_true", help="measure the numbers that no other benchmark gives")
    parser.add_argument("--write", action="store_true", help="both runs into docs/scale.md")
    given = parser.parse_args()
    if given.measure:
        from benchmarks.scale.measure import measured

        show(measured(MEASURED_GAMES), given.json)
        return
    if any(number is not None and number < 1 for number in (given.nodes, given.verifiers)):
        parser.error("there has to be at least one contributor and one verifier")
    if given.write:
        both = tables(DEFAULT, "default run", NODES, None) | tables(LARGE, "large run", NODES, None)
        replace_between(PAGE, MARK, "", page(both | {"assumptions": list(assumptions())}))
        return
    try:
        run = changed(LARGE if given.large else DEFAULT, given.set)
    except ValueError as error:
        parser.error(str(error))
    nodes = NODES if given.nodes is None else (given.nodes,)
    found = tables(run, "large run" if given.large else "default run", nodes, given.verifiers)
    show_all(found | {"assumptions": list(assumptions())}, given.json)


def _nodes(found: int | None) -> str:
    return "never" if found is None else f"{found:,}"


def _exact(value: str | float) -> str:
    """A number with four digits that count."""
    return f"{value:,.0f}" if isinstance(value, float) and value >= 1000 else f"{value:.4g}"


def _capital(text: str) -> str:
    """With a capital letter, unless it begins with the name of a knob."""
    return text if "_" in text.split()[0] else text[:1].upper() + text[1:]


if __name__ == "__main__":
    main()
