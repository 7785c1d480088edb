"""Audit, what is replayed: drawn among what no earlier audit replayed, and how sure that makes.

Spec: `docs/spec/audit.md` ("Sampling"). Earlier and new draws together are one draw without replacement, as long as nothing
wrong was found.
"""

from collections.abc import Callable, Sequence
from math import floor, prod
from random import Random
from typing import TypeVar

T = TypeVar("T")


def draw(places: Sequence[T], is_known: Callable[[T], bool], count: int | None, rng: Random) -> tuple[list[T], int]:
    """`count` of the places that are not known (None: all of these), and how many are known."""
    fresh = [place for place in places if not is_known(place)]
    chosen = fresh if count is None else rng.sample(fresh, min(count, len(fresh)))
    return chosen, len(places) - len(fresh)


def confidence(total: int, looked_at: int) -> str:
    """How likely wrong ones would have been found, as a sentence; nothing where all were looked at."""
    if looked_at >= total:
        return ""
    wrong = -(-total // 100)
    what = "1 % of them were" if total >= 100 else "one of them was"
    chance = min(99, floor(100 * probability(total, looked_at, wrong))) / 100  # never certain
    return f" If {what} wrong, this would have been found with probability {chance:.2f}."


def probability(total: int, looked_at: int, wrong: int) -> float:
    """The chance that `looked_at` of `total`, drawn without replacement, hold at least one of the `wrong` ones."""
    few, many = sorted((looked_at, wrong))
    return 1 - prod(max(0, total - many - number) / (total - number) for number in range(few))
