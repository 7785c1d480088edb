"""What each search of a game expected and what came of it, as KataGo's value targets average it: `outlooks`."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from protocol.game_block import DRAW, SCORE_ONE, VALUE_ONE, WHITE_WINS, GameBlock

_SPANS: Final = (0.176, 0.056, 0.016)
_MOST_SCORE: Final = 19 * 19 + 60


@dataclass(frozen=True, slots=True)
class Value:
    """Chance to win (a draw is half a win) and points ahead."""

    win: float
    score: float


@dataclass(frozen=True, slots=True)
class Outlook:
    """Of the position of a search, from its side to move.

    `averaged`: searches from here on and the result, each weighing a share of what is left, 1 / (1 + c * points of the
    board) for c = 0.176, 0.056, 0.016. `now`: this search alone. `variance_time`: moves until the win rate
    changes, times how much.
    """

    final: Value
    averaged: tuple[Value, ...]
    now: Value
    variance_time: float


def outlooks(block: GameBlock) -> Iterator[Outlook]:
    """An outlook a searched ply, in order."""
    header = block.header
    result = 0.0 if header.result == DRAW else -1.0 if header.result == WHITE_WINS else 1.0
    leads, scores = [], []  # Black's
    for ply in block.plies:
        sign = -1 if ply % 2 else 1
        leads.append(sign * block.value(ply) / VALUE_ONE)
        scores.append(sign * block.score(ply) / SCORE_ONE)
    leads.append(result)
    scores.append(header.score_half / 2)
    area = header.size * header.size
    averages = [
        (_averaged(leads, share), _averaged(scores, share)) for share in (1 / (1 + area * span) for span in _SPANS)
    ]
    times = _variance_times(leads)
    for number, ply in enumerate(block.plies):
        sign = -1 if ply % 2 else 1
        yield Outlook(
            final=_value(sign, leads[-1], scores[-1]),
            averaged=tuple(_value(sign, lead[number], score[number]) for lead, score in averages),
            now=_value(sign, leads[number], scores[number]),
            variance_time=times[number],
        )


def _value(sign: int, lead: float, score: float) -> Value:
    lead = max(-1.0, min(1.0, lead))
    return Value((1 + sign * lead) / 2, max(-_MOST_SCORE, min(_MOST_SCORE, sign * score)))


def _averaged(values: list[float], share: float) -> list[float]:
    found = values[-1:]
    for value in reversed(values[:-1]):
        found.append(share * value + (1 - share) * found[-1])
    return found[::-1]


def _variance_times(leads: list[float]) -> list[float]:
    time, variance, found = 0.0, 0.0, [0.0]
    for before, after in zip(reversed(leads[:-1]), reversed(leads[1:]), strict=True):
        variance += (after - before) ** 2
        time += variance
        found.append(time)
    return found[::-1]
