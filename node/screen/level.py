"""How much an event matters to whoever runs the node; `--log-level` shows those from one level on.

Spec: `docs/commands.md` ("What a node prints"). An event that is not named here informs.
"""

from enum import IntEnum


class Level(IntEnum):
    """From what nobody needs to read to what somebody has to mend; the numbers are those of `logging`."""

    DEBUG = 10
    INFO = 20
    WARNING = 30
    ERROR = 40

    @property
    def word(self) -> str:
        """Its name in lines and options."""
        return self.name.lower()


_LEVELS = {
    Level.DEBUG: ("copying", "mirrored", "passed-on"),
    Level.WARNING: (
        "ban",
        "cosign-refused",
        "engine",
        "engine-doubt",
        "given-up",
        "lapsed",
        "lost",
        "mirror-full",
        "no-proof",
        "no-reading",
        "no-recovery",
        "proof-fails",
        "refused",
        "rejected",
        "repeat-failed",
        "service",
        "skipped",
        "unsigned",
        "void-epoch",
        "waiting",
    ),
    Level.ERROR: ("alarm", "distrusted", "fault", "root-left-out", "training-failed", "verifier-banned"),
}
_BY_EVENT = {event: level for level, events in _LEVELS.items() for event in events}


def level_of(event: str) -> Level:
    """The level of an event by its name."""
    return _BY_EVENT.get(event, Level.INFO)
