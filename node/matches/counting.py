"""Games that the engines count, as GoMill has it by default: `agreed`.

The rules of a run want dead stones captured. Engines that pass before that agree on what is dead; so each that lists
`final_score` is asked, and what they agree on is the result. Where they do not, the rules count, and the game says so.
"""

import re
from collections.abc import Sequence

from node.exchange.values import parse_result

_COUNT = re.compile(r"0|[BW]\+(?:[0-9]{1,4}(?:\.[0-9]{1,2})?)?")
_HALVES = re.compile(r"0|[BW]\+(?:[0-9]{1,4}(?:\.5)?)?")


def parse_count(answer: str) -> str | None:
    """An engine's answer to `final_score` as SGF writes results, without a margin if that is no half; None if it is none."""
    words = answer.split()
    result = parse_result(words[0]) if words else ""
    if not _COUNT.fullmatch(result):
        return None
    return result if _HALVES.fullmatch(result) else result[:2]


def agreed(counts: Sequence[str | None]) -> str | None:
    """What all who counted say: the winner, with the margin where that is the same; None when nobody counted or two
    winners are named."""
    found = {count for count in counts if count is not None}
    winners = {count[:2] for count in found}
    if len(winners) != 1:
        return None
    return found.pop() if len(found) == 1 else winners.pop()


def dispute(counts: Sequence[str | None]) -> str:
    """Why the rules counted, in a sentence."""
    said = [count for count in counts if count is not None]
    if not said:
        return "Counted by the rules: no engine counted."
    return f"Counted by the rules: the engines said {' and '.join(said)}."
