"""Handicap: where black's stones go before white's first move, and what white gets for them (docs/spec/rules.md).

Placement follows the Go Text Protocol, version 2, sections 4.1.1 (fixed) and 4.1.2 (free). Runs play without handicap.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from enum import Enum

from native.errors import EngineError
from native.game import Game
from native.rules import MAX_KOMI_HALF, Colour, Rules, Scoring

LEAST_STONES = 2
LEAST_FIXED_SIDE = 7
FOURTH_LINE_SIDE = 13
"""From this side on corner stones stand on the fourth line, on smaller boards on the third."""


class HandicapError(EngineError):
    """Handicap stones that the rules do not allow."""


class HandicapBonus(Enum):
    """Points that area scoring gives white for n handicap stones."""

    NONE = "none"
    STONES_LESS_ONE = "n-1"
    STONES = "n"

    def points(self, stones: int) -> int:
        """The points for this many stones."""
        if self == HandicapBonus.NONE:
            return 0
        return stones if self == HandicapBonus.STONES else max(stones - 1, 0)


def most_fixed_stones(rules: Rules) -> int:
    """How many stones can be placed the fixed way: 9, 4 on a board of even side or of side 7, else 0."""
    side = rules.rows
    if side != rules.cols or side < LEAST_FIXED_SIDE:
        return 0
    return 4 if side % 2 == 0 or side == LEAST_FIXED_SIDE else 9


def most_free_stones(rules: Rules) -> int:
    """How many stones can be placed freely: all points but one, and none where two do not fit."""
    return rules.points - 1 if rules.points > LEAST_STONES else 0


def fixed_points(rules: Rules, stones: int) -> tuple[int, ...]:
    """The points of a fixed handicap, in the order in which stones are added. HandicapError for another number."""
    most = most_fixed_stones(rules)
    if not LEAST_STONES <= stones <= most:
        allowed = f"takes {LEAST_STONES} to {most}" if most else "has no"
        raise HandicapError(f"A board of {rules.rows} by {rules.cols} {allowed} fixed handicap stones, not {stones}.")
    side = rules.rows
    low = 3 if side >= FOURTH_LINE_SIDE else 2
    middle, high = side // 2, side - 1 - low
    # (row, column) from the top left.
    corners = [(high, low), (low, high), (low, low), (high, high)]
    sides = [(middle, low), (middle, high), (low, middle), (high, middle)]
    placed = [*corners, *sides][: stones - stones % 2 if stones > 4 else stones]
    if stones > 4 and stones % 2:
        placed.append((middle, middle))
    return tuple(row * side + col for row, col in placed)


def free_points(rules: Rules, stones: int) -> tuple[int, ...]:
    """A placement of any number of stones from 2 to `most_free_stones`: fixed points as far as they go, and then always
    the point farthest from every stone and from the board's edge, among equals one away from the edge, then the lowest.
    HandicapError for another number."""
    _verify_count(rules, stones)
    fixed = min(stones, most_fixed_stones(rules))
    placed = list(fixed_points(rules, fixed)) if fixed else []
    places = [divmod(p, rules.cols) for p in range(rules.points)]
    edge = [min(row + 1, rules.rows - row, col + 1, rules.cols - col) for row, col in places]
    room = list(edge)
    for number in range(stones):
        if number == len(placed):
            placed.append(max(range(rules.points), key=lambda p: (room[p], edge[p], -p)))
        row, col = places[placed[number]]
        room = [min(free, abs(row - r) + abs(col - c)) for free, (r, c) in zip(room, places, strict=True)]
    return tuple(placed)


def verify_free_points(rules: Rules, points: Sequence[int]) -> None:
    """Raises HandicapError unless `points` may all get a stone: 2 to `most_free_stones` of them, on the board, each once."""
    _verify_count(rules, len(points))
    for point in points:
        if not 0 <= point < rules.points:
            raise HandicapError(f"Handicap stones go on the board, and {point} is not a point of it.")
    if len(set(points)) != len(points):
        raise HandicapError("A point cannot get two handicap stones.")


def handicap_rules(rules: Rules, stones: int, bonus: HandicapBonus) -> Rules:
    """The same rules with white's bonus in the komi, which is all that a score or a network has to know of it.

    Raises HandicapError for a bonus under territory scoring, where handicap stones are no points for black.
    """
    points = bonus.points(stones)
    if points and rules.scoring != Scoring.AREA:
        raise HandicapError("White gets points for handicap stones under area scoring only.")
    komi_half = rules.komi_half + 2 * points
    if komi_half > MAX_KOMI_HALF:
        raise HandicapError(f"A komi of {rules.komi_half} half points leaves no room for the bonus of handicap stones.")
    return replace(rules, komi_half=komi_half)


def handicap_game(rules: Rules, points: Sequence[int], bonus: HandicapBonus = HandicapBonus.NONE) -> Game:
    """A new game with black stones on `points`, white to move; the stones are no moves. HandicapError as above."""
    verify_free_points(rules, points)
    stones = bytearray(rules.points)
    for point in points:
        stones[point] = Colour.BLACK
    return Game(handicap_rules(rules, len(points), bonus), bytes(stones), Colour.WHITE)


def _verify_count(rules: Rules, stones: int) -> None:
    most = most_free_stones(rules)
    if not LEAST_STONES <= stones <= most:
        allowed = f"takes {LEAST_STONES} to {most}" if most else "has no room for"
        raise HandicapError(f"A board of {rules.rows} by {rules.cols} {allowed} handicap stones, not {stones}.")
