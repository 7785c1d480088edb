"""Ratings for display: Bradley-Terry over all counted gate games, with error bars; never what a gate decides by.

Source: Bradley and Terry (1952); the maximum is found by the minorise-maximise steps of Hunter (2004), errors come from the
inverse of the information matrix. Release 0 is the anchor at 0. A draw counts as half a win each.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from node.disk.home import Home
from node.matches.stored_state import load_state
from verification.state import LogState

ROUNDS = 2000
PRIOR_GAMES = 1.0
Z95 = 1.959964


@dataclass(frozen=True, slots=True)
class Pairing:
    """Points of player `a` against player `b` in `games` games."""

    a: int
    b: int
    points: float
    games: float


def bradley_terry(players: int, pairings: Sequence[Pairing]) -> list[tuple[float, float]]:
    """(Elo, half of its 95 % interval) of each player above player 0.

    One drawn game of prior between the two of each pairing keeps ratings finite when somebody won every game.
    """
    games = [[0.0] * players for _ in range(players)]
    points = [0.0] * players
    for pairing in pairings:
        total = pairing.games + PRIOR_GAMES
        games[pairing.a][pairing.b] += total
        games[pairing.b][pairing.a] += total
        points[pairing.a] += pairing.points + PRIOR_GAMES / 2
        points[pairing.b] += pairing.games - pairing.points + PRIOR_GAMES / 2
    strength = [1.0] * players
    for _ in range(ROUNDS):
        new = [
            points[i] / total
            if (total := sum(n / (strength[i] + strength[j]) for j, n in enumerate(games[i]) if n)) > 0
            else strength[i]
            for i in range(players)
        ]
        moved = max(abs(math.log(a / b)) for a, b in zip(new, strength, strict=True))
        strength = [each / new[0] for each in new]
        if moved < 1e-10:
            break
    errors = _errors(strength, games)
    scale = 400 / math.log(10)
    return [(scale * math.log(s), Z95 * scale * e) for s, e in zip(strength, errors, strict=True)]


def _errors(strength: Sequence[float], games: Sequence[Sequence[float]]) -> list[float]:
    """Standard errors of log strength with player 0 fixed: the root of the inverse information's diagonal."""
    n = len(strength) - 1
    information = [[0.0] * n for _ in range(n)]
    for i in range(n + 1):
        for j in range(n + 1):
            weight = games[i][j] * strength[i] * strength[j] / (strength[i] + strength[j]) ** 2 if games[i][j] else 0.0
            if i and weight:
                information[i - 1][i - 1] += weight
                if j:
                    information[i - 1][j - 1] -= weight
    return [0.0, *(math.sqrt(max(0.0, inverse)) for inverse in _inverse_diagonal(information))]


def _inverse_diagonal(matrix: list[list[float]]) -> list[float]:
    """The diagonal of the inverse of a positive definite matrix, by elimination; inf where it is singular."""
    n = len(matrix)
    work = [[*row, *(1.0 if i == j else 0.0 for j in range(n))] for i, row in enumerate(matrix)]
    for i in range(n):
        pivot = max(range(i, n), key=lambda row: abs(work[row][i]))
        if abs(work[pivot][i]) < 1e-12:
            return [math.inf] * n
        work[i], work[pivot] = work[pivot], work[i]
        scale = work[i][i]
        work[i] = [value / scale for value in work[i]]
        for j in range(n):
            if j != i and work[j][i]:
                factor = work[j][i]
                work[j] = [a - factor * b for a, b in zip(work[j], work[i], strict=True)]
    return [work[i][n + i] for i in range(n)]


def state_ratings(state: LogState) -> list[dict[str, Any]]:
    """Name, Elo and error of each release after release 0, from the gates that the log holds."""
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
