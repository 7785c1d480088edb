"""What a page asks of `POST /api/v1/play/{release}`: `Question`, read from JSON that anybody may have written.

Page: docs/pages.md. Invariants: whatever the bytes are, the outcome is a question within its bounds or a BadQuestion of one
sentence, which repeats nothing of them.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NoReturn, Self

from node.play.limits import MOST_VISITS, SIZES, most_komi_half
from node.web.queries.records import BadQuestion

MOST_BYTES: Final = 1 << 15
"""Above the longest game: ten times the points of the largest board in moves."""
MOST_MOVES: Final = 10 * SIZES[-1] ** 2
_NAMES: Final = frozenset({"size", "komi", "moves", "visits", "analysis"})


@dataclass(frozen=True, slots=True)
class Question:
    """The moves of a game from the empty board, and with how many visits its next one is searched; 0: only by the rules.

    `analysis`: the search is told as well.
    """

    size: int
    komi_half: int
    moves: tuple[int, ...]
    visits: int
    analysis: bool

    @classmethod
    def parse(cls, data: bytes) -> Self:
        """The question in the body of a request; raises BadQuestion."""
        try:
            value = json.loads(data, parse_constant=_refuse_constant)
        except (ValueError, RecursionError):
            raise BadQuestion("The question is not JSON.") from None
        if not isinstance(value, dict) or not _NAMES.issuperset(value) or not value.keys() >= {"size", "komi", "moves"}:
            raise BadQuestion(
                "The question has to be an object with size, komi and moves, and maybe visits and analysis."
            )
        size = _whole(value, "size", SIZES[0], SIZES[-1])
        most = most_komi_half(size) // 2
        komi = value["komi"]
        if type(komi) not in (int, float) or not abs(komi) <= most or 2 * komi != int(2 * komi):
            raise BadQuestion(f"komi has to be a whole or half number from {-most} to {most}.")
        analysis = value.get("analysis", False)
        if type(analysis) is not bool:
            raise BadQuestion("analysis has to be true or false.")
        visits = _whole({"visits": 0, **value}, "visits", 0, MOST_VISITS)
        return cls(size, int(2 * komi), _moves(value["moves"], size * size), visits, analysis)


def _whole(value: Mapping[str, Any], name: str, low: int, high: int) -> int:
    number = value[name]
    if type(number) is not int or not low <= number <= high:
        raise BadQuestion(f"{name} has to be a whole number from {low} to {high}.")
    return number


def _moves(value: Any, points: int) -> tuple[int, ...]:
    if not isinstance(value, list) or len(value) > MOST_MOVES:
        raise BadQuestion(f"moves has to be a list of at most {MOST_MOVES} points.")
    if not all(type(move) is int and 0 <= move <= points for move in value):
        raise BadQuestion(f"Each move has to be a whole number from 0 to {points}, which is the pass.")
    return tuple(value)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(name)
