"""A game that an export leaves out: `LeftOut`."""

from dataclasses import dataclass
from typing import Final

MOST_NAMED: Final = 16
"""Of so many an export says why; it counts the others."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A game that the files cannot hold, and one sentence why."""

    name: str
    reason: str
