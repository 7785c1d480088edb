"""Ratings for display: Bradley-Terry over counted games, with error bars; never what a gate decides by.

Source: Bradley and Terry (1952); the maximum is found by Newton's method, errors come from the inverse of the information
matrix there. Players of fixed rating are the anchors. A draw counts as half a win each.
"""

import math
from collections import deque
from collections.abc import Mapping, Sequence
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
    strength = _guess(players, pairings, fixed)
    row = {player: number for number, player in enumerate(sorted(set(strength) - set(fixed)))}
    for _ in range(_ROUNDS):
        gradient, information = _derivatives(strength, pairings, row)
        step = _Factors(information).solve(gradient)
        longest = max(map(abs, step), default=0.0)
        for player, number in row.items():
            strength[player] += step[number] * min(1.0, _LONGEST_STEP / max(longest, _LONGEST_STEP))
        if longest < _CLOSE:
            break
    factors = _Factors(_derivatives(strength, pairings, row)[1])
    rated = {player: (elo, 0.0) for player, elo in fixed.items()}
    for player, number in row.items():
        rated[player] = SCALE * strength[player], Z95 * SCALE * math.sqrt(factors.inverse(number))
    return [rated.get(player, (0.0, math.inf)) for player in range(players)]


def _guess(players: int, pairings: Sequence[Pairing], fixed: Mapping[int, float]) -> dict[int, float]:
    """A first log strength of each player whom a chain of pairings links to an anchor: by the pairing it is reached by."""
    beside: list[list[Pairing]] = [[] for _ in range(players)]
    for pairing in pairings:
        beside[pairing.a].append(pairing)
        beside[pairing.b].append(pairing)
    found = {player: elo / SCALE for player, elo in fixed.items()}
    waiting = deque(found)
    while waiting:
        player = waiting.popleft()
        for pairing in beside[player]:
            other, sign = (pairing.b, -1) if pairing.a == player else (pairing.a, 1)
            if other not in found:
                won, lost = pairing.points + PRIOR_GAMES / 2, pairing.games - pairing.points + PRIOR_GAMES / 2
                found[other] = found[player] + sign * math.log(won / lost)
                waiting.append(other)
    return found


def _derivatives(
    strength: Mapping[int, float], pairings: Sequence[Pairing], row: Mapping[int, int]
) -> tuple[list[float], list[dict[int, float]]]:
    """Gradient of the log likelihood by log strength, and the information matrix, of the players in `row`.

    The matrix is symmetric, a mapping of columns a row, from the diagonal on.
    """
    gradient = [0.0] * len(row)
    information = [{number: 0.0} for number in range(len(row))]
    for pairing in pairings:
        if pairing.a not in strength:
            continue
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
            first, second = min(a, b), max(a, b)
            information[first][second] = information[first].get(second, 0.0) - weight
    return gradient, information


class _Factors:
    """A sparse symmetric positive definite matrix, factored: releases in a row meet only their neighbours.

    A pivot that rounding has eaten up, as between anchors much farther apart than games tell, is the least that it could be.
    """

    def __init__(self, matrix: list[dict[int, float]]) -> None:
        """`matrix` is as `_derivatives` gives it, and used up."""
        least = [_LEAST_PIVOT * row[number] for number, row in enumerate(matrix)]
        self._pivots: list[float] = []
        self._rows: list[list[tuple[int, float]]] = []
        for number, row in enumerate(matrix):
            pivot = max(row.pop(number), least[number])
            later = sorted(row.items())
            for place, (column, value) in enumerate(later):
                below = matrix[column]
                for other, beside in later[place:]:
                    below[other] = below.get(other, 0.0) - value * beside / pivot
            self._pivots.append(pivot)
            self._rows.append(later)

    def solve(self, right: Sequence[float]) -> list[float]:
        """x with matrix x = `right`."""
        x = list(right)
        for number, (pivot, row) in enumerate(zip(self._pivots, self._rows, strict=True)):
            if x[number]:
                for column, value in row:
                    x[column] -= value / pivot * x[number]
        for number in reversed(range(len(x))):
            x[number] = (x[number] - sum(value * x[column] for column, value in self._rows[number])) / self._pivots[
                number
            ]
        return x

    def inverse(self, number: int) -> float:
        """An element of the inverse's diagonal."""
        return self.solve([float(each == number) for each in range(len(self._pivots))])[number]


def gate_ratings(state: LogState) -> dict[int, tuple[float, float]]:
    """Elo above release 0, and half of its 95 % interval, of each candidate whose gate is decided, by the log index of its
    train record."""
    gates = [(gate, gate.record) for gate in state.gates.all if gate.record is not None]
    released = {release.train_record: release.id for release in state.releases.all[1:]}
    players = {state.releases.all[0].id: 0}
    players |= {released[gate.index]: number for number, (gate, _) in enumerate(gates, 1) if gate.index in released}
    pairings = []
    for number, (gate, record) in enumerate(gates, 1):
        points = sum(k * count for k, count in enumerate(record.counts)) / 2
        pairings.append(Pairing(number, players[gate.base.id], points, 2 * record.pairs))
    rated = bradley_terry(len(gates) + 1, pairings)
    return {
        gate.index: (round(elo, 1), round(error, 1)) for (gate, _), (elo, error) in zip(gates, rated[1:], strict=True)
    }


def state_ratings(state: LogState) -> list[dict[str, Any]]:
    """Name, Elo and error of each release after release 0, from the gates that the log holds; release 0 has 0."""
    rated = gate_ratings(state) if len(state.releases.all) > 1 else {}
    return [
        {"name": release.name, "elo": rated[release.train_record][0], "elo_error": rated[release.train_record][1]}
        for release in state.releases.all[1:]
    ]


def release_ratings(home: Home) -> list[dict[str, Any]]:
    """The ratings of the run in a node's directory."""
    return state_ratings(load_state(home))
