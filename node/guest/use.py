"""Play on a machine that nobody uses."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class Unused:
    """Play rests while somebody uses the machine, and where nothing tells whether somebody does."""

    name: ClassVar[str] = "on-idle"
    is_unused: Callable[[], bool | None]

    def waiting_for(self) -> str | None:
        """See `Rule.waiting_for`."""
        return None if self.is_unused() else "nobody to have used this machine for five minutes (--on-idle)"
