"""What a check found: how it stands, what there is, and what mends it."""

from dataclasses import dataclass
from enum import Enum


class Standing(Enum):
    """How something stands. A warning leaves the node working; unknown is what only a running node could say."""

    OK = "ok"
    UNKNOWN = "unknown"
    WARNING = "warning"
    WRONG = "wrong"


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the list; `mend` is a sentence, empty exactly where nothing has to be mended. ValueError else."""

    name: str
    standing: Standing
    detail: str
    mend: str = ""

    def __post_init__(self) -> None:
        if (self.standing is Standing.OK) != (self.mend == ""):
            raise ValueError(f"{self.name}: what is not ok has a mend, and nothing else.")

    def to_json(self) -> dict[str, str]:
        """As `gonode doctor --json` prints it."""
        return {"name": self.name, "standing": self.standing.value, "detail": self.detail, "mend": self.mend}


def ok(name: str, detail: str) -> Finding:
    """Nothing is to be done."""
    return Finding(name, Standing.OK, detail)


def unknown(name: str, detail: str, mend: str) -> Finding:
    """It cannot be seen from here and now."""
    return Finding(name, Standing.UNKNOWN, detail, mend)


def warning(name: str, detail: str, mend: str) -> Finding:
    """The node works, but less well than it could."""
    return Finding(name, Standing.WARNING, detail, mend)


def wrong(name: str, detail: str, mend: str) -> Finding:
    """The node cannot work, or nothing it does would count."""
    return Finding(name, Standing.WRONG, detail, mend)
