"""The record of a proof's ply as it was signed beside the one that a search gives: `compared`.

Page: docs/pages.md. Every field of the record is told, and of its points all that differ and those of most visits or policy.
"""

from dataclasses import dataclass
from typing import Final

from node.exchange.values import vertex
from protocol.batch import parse_game_leaf
from protocol.game_block import KIND_FULL, SCORE_ONE, VALUE_ONE, PlyRecord
from protocol.proof import FraudProof

SHOWN: Final = 12
"""So many points that are the same are shown, besides those that differ."""


@dataclass(frozen=True, slots=True)
class FieldLine:
    """A field in words; `searched` and `differs` are None where nothing was searched."""

    name: str
    claimed: str
    searched: str | None
    differs: bool | None


@dataclass(frozen=True, slots=True)
class PointLine:
    """A count at a point: visits, or policy of 65,535."""

    point: str
    claimed: int
    searched: int | None
    differs: bool | None


@dataclass(frozen=True, slots=True)
class Counts:
    """Counts a point, the larger ones first; `more` others that are not zero are the same, and not shown."""

    name: str
    points: tuple[PointLine, ...]
    more: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """The record of absolute ply `ply`."""

    ply: int
    fields: tuple[FieldLine, ...]
    counts: tuple[Counts, ...]


def compared(proof: FraudProof, searched: bytes) -> Comparison | None:
    """The proof's ply beside the `searched` record, empty for none; None for a proof about no ply. Raises ProtocolError."""
    if not proof.ply:
        return None
    size = parse_game_leaf(proof.game).header.size
    ours = PlyRecord.parse(searched, size) if searched else None
    theirs = PlyRecord.parse(proof.ply, size)
    told = _words(theirs, size)
    found = dict.fromkeys(told) if ours is None else _words(ours, size)
    fields = tuple(FieldLine(name, text, found[name], _differs(text, found[name])) for name, text in told.items())
    counts = (
        _counts("visits", theirs.visits, None if ours is None else ours.visits, size),
        _counts("policy", theirs.policy_target, None if ours is None else ours.policy_target, size),
    )
    return Comparison(theirs.ply, fields, tuple(each for each in counts if each.points))


def _words(record: PlyRecord, size: int) -> dict[str, str]:
    """A record's fields but for its counts; value and score with the integers that they are."""
    return {
        "move": vertex(record.move, size, size),
        "search": "full" if record.kind == KIND_FULL else "fast",
        "visits in all": f"{sum(record.visits):,}",
        "value": f"{record.value / VALUE_ONE:+.4f} ({record.value:,})",
        "score": f"{record.score / SCORE_ONE:+.2f} ({record.score:,})",
        "trace": record.trace_hash.hex(),
    }


def _differs(claimed: object, searched: object | None) -> bool | None:
    return None if searched is None else claimed != searched


def _counts(name: str, claimed: tuple[int, ...], searched: tuple[int, ...] | None, size: int) -> Counts:
    lines: list[PointLine] = []
    more = 0
    found = claimed if searched is None else searched
    order = sorted(range(len(claimed)), key=lambda point: (-max(claimed[point], found[point]), point))
    same = 0
    for point in order:
        if not claimed[point] and not found[point]:
            continue
        differs = _differs(claimed[point], None if searched is None else searched[point])
        if not differs and same >= SHOWN:
            more += 1
            continue
        same += not differs
        value = None if searched is None else searched[point]
        lines.append(PointLine(vertex(point, size, size), claimed[point], value, differs))
    return Counts(name, tuple(lines), more)
