"""Ratings for display: Bradley-Terry over counted games, with error bars; never what a gate decides by.

Source: Bradley and Terry (1952); the maximum is found by Newton's method, errors come from the inverse of the information
matrix there. Players of fixed rating are the anchors. A draw counts as half a win each.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from node.disk.home import Home
from node.matches.stored_state import load_state
from verification.state import LogState

PRIOR_GAMES: Final = 1.0
Z95: Final = 1.959964
SCALE: Final = 400 / math.log(10)
"""Elo of one unit of log strength."""

_ROUNDS: Final = 200
_LONGEST_STEP: Final = 2.0
_CLOSE: Final = 1e-10
_LEAST_PIVOT: Final = 1e-13


@dataclass(frozen=True, slots=True)
class Pairing:
    """Points of player `a` against player `b` in `games` games."""

    a: int
    b: int
    points: float
    games: float


def bradley_terry(
    players: int, pairings: Sequence[Pairing], anchors: Mapping[int, float] | None = None
) -> list[tuple[float, float]]:
    """(Elo, half of its 95 % interval) of each player, with the anchors at their Elo, without error (default: player 0
    at 0; never none).

    One drawn game of prior between the two of each pairing keeps ratings finite when somebody won every game. Who is not
    connected to an anchor by games gets (0, inf).
    """
    fixed = {0: 0.0} if anchors is None else anchors
    free = sorted(connected(players, pairings, fixed) - set(fixed))
    row = {player: number for number, player in enumerate(free)}
    start = sum(fixed.values()) / len(fixed)
    strength = [fixed.get(player, start) / SCALE for player in range(players)]
    for _ in range(_ROUNDS):
        gradient, information = _derivatives(strength, pairings, row)
        step = _solve(information, [[each] for each in gradient])
        longest = max((abs(each[0]) for each in step), default=0.0)
        for player, number in row.items():
            strength[player] += step[number][0] * min(1.0, _LONGEST_STEP / max(longest, _LONGEST_STEP))
        if longest < _CLOSE:
            break
    _, information = _derivatives(strength, pairings, row)
    inverse = _solve(information, [[float(i == j) for j in range(len(free))] for i in range(len(free))])
    errors = {player: math.sqrt(max(0.0, inverse[number][number])) for player, number in row.items()}
    errors.update(dict.fromkeys(fixed, 0.0))
    return [
        (SCALE * strength[each], Z95 * SCALE * errors[each]) if each in errors else (0.0, math.inf)
        for each in range(players)
    ]


def connected(players: int, pairings: Sequence[Pairing], anchors: Iterable[int]) -> set[int]:
    """The players that a chain of pairings links to an anchor, the anchors included."""
    beside: list[set[int]] = [set() for _ in range(players)]
    for pairing in pairings:
        beside[pairing.a].add(pairing.b)
        beside[pairing.b].add(pairing.a)
    reached = set(anchors)
    waiting = list(reached)
    while waiting:
        new = beside[waiting.pop()] - reached
        reached |= new
        waiting += new
    return reached


def _derivatives(
    strength: Sequence[float], pairings: Sequence[Pairing], row: Mapping[int, int]
) -> tuple[list[float], list[list[float]]]:
    """Gradient of the log likelihood by log strength, and the information matrix, of the players in `row`."""
    gradient = [0.0] * len(row)
    information = [[0.0] * len(row) for _ in row]
    for pairing in pairings:
        games = pairing.games + PRIOR_GAMES
        ahead = strength[pairing.a] - strength[pairing.b]
        odds = math.exp(-abs(ahead))
        expected = (1 if ahead >= 0 else odds) / (1 + odds)
        surplus = pairing.points + PRIOR_GAMES / 2 - games * expected
        weight = games * odds / (1 + odds) ** 2
        a, b = row.get(pairing.a), row.get(pairing.b)
        for number, sign in ((a, 1), (b, -1)):
            if number is not None:
                gradient[number] += sign * surplus
                information[number][number] += weight
        if a is not None and b is not None:
            information[a][b] -= weight
            information[b][a] -= weight
    return gradient, information


def _solve(matrix: list[list[float]], right: list[list[float]]) -> list[list[float]]:
    """X with `matrix` X = `right`, for a symmetric positive definite matrix. What is zero is skipped, as most is. A pivot
    that rounding has eaten up, as between anchors much farther apart than games tell, is the least that it could be."""
    n = len(matrix)
    work = [[*row, *other] for row, other in zip(matrix, right, strict=True)]
    for i in range(n):
        scale = max(work[i][i], _LEAST_PIVOT * matrix[i][i])
        work[i] = [value / scale for value in work[i]]
        for j in range(n):
            factor = work[j][i]
            if j != i and factor:
                work[j] = [a - factor * b if b else a for a, b in zip(work[j], work[i], strict=True)]
    return [row[n:] for row in work]


def state_ratings(state: LogState) -> list[dict[str, Any]]:
    """Name, Elo and error of each release after release 0, from the gates that the log holds; release 0 has 0."""
    index = {release.id: number for number, release in enumerate(state.releases.all)}
    players = len(index)
    if players < 2:
        return []
    pairings = []
    for gate in state.gates.all:
        if gate.record is None:
            continue
        released = next((r for r in state.releases.all[1:] if r.train_record == gate.index), None)
        player = index[released.id] if released is not None else players
        if released is None:
            players += 1
        points = sum(k * count for k, count in enumerate(gate.record.counts)) / 2
        pairings.append(Pairing(player, index[gate.base.id], points, 2 * gate.record.pairs))
    rated = bradley_terry(players, pairings)
    return [
        {"name": release.name, "elo": round(rated[number][0], 1), "elo_error": round(rated[number][1], 1)}
        for number, release in enumerate(state.releases.all)
        if number
    ]


def release_ratings(home: Home) -> list[dict[str, Any]]:
    """The ratings of the run in a node's directory."""
    return state_ratings(load_state(home))
