"""A query as a checked record: `Query`, `Wishes`. `node.analysis.query_reader` makes it from what a client sent."""

from collections.abc import Mapping
from dataclasses import dataclass

from native.rules import Colour, Rules
from node.analysis.settings import Settings
from node.analysis.values import Move


@dataclass(frozen=True, slots=True)
class Wishes:
    """What answers have beside the moves, and after how many seconds what is known is told; None: at the end alone."""

    ownership: bool = False
    moves_ownership: bool = False
    policy: bool = False
    line_visits: bool = False
    every_s: float | None = None
    first_s: float | None = None

    @property
    def reports(self) -> bool:
        """Whether something is told before the end."""
        return self.first_s is not None


@dataclass(frozen=True, slots=True)
class Query:
    """Positions to search: those after `turns` moves from `stones`, a Colour a point, with `first` to move.

    `rules` have the komi without White's bonus for handicap, of which `bonus` gives the points by the number of stones.
    `barred`: moves that a player may not make at the position itself. `priorities`: one a turn.
    """

    id: str
    rules: Rules
    bonus: str
    stones: bytes
    first: Colour
    moves: tuple[Move, ...]
    turns: tuple[int, ...]
    priorities: tuple[int, ...]
    settings: Settings
    wishes: Wishes
    barred: Mapping[Colour, frozenset[int]]

    def __post_init__(self) -> None:
        if len(self.turns) != len(self.priorities) or not all(0 <= each <= len(self.moves) for each in self.turns):
            raise ValueError("A query's turns are turns of its game, each with a priority.")
        if len(self.stones) != self.rules.points:
            raise ValueError("A query's stones are one value a point.")
