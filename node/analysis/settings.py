"""What searches and answers are like: `Settings`, from options, a config file of KataGo's and a query's `overrideSettings`.

Of KataGo's settings those are followed that mean the same here; the names of all others are handed back, so that the
client hears of them. A value that is what happens here anyhow is no news.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from native.rules import Colour
from native.search import Root, SearchConfig
from node.analysis.values import player_called, shown

MICRO: Final = 10**6
MOST_VISITS_ASKED: Final = 1 << 50
MOST_SECONDS: Final = 1e20
MOST_LINE: Final = 1000

SIDE_TO_MOVE: Final = Colour.EMPTY
"""As a perspective: each position is told for who is to move."""


class SettingError(ValueError):
    """A value that a setting cannot have; one sentence."""


@dataclass(frozen=True, slots=True)
class Settings:
    """`visits` at most, within `time_s` where that is said; lines of `line` moves after the first one.

    The last three are KataGo's numbers for the root, and cpuct, in millionths; None: as the run's gates have them.
    """

    perspective: Colour = Colour.BLACK
    visits: int = 100
    time_s: float | None = None
    line: int = 15
    cpuct_micro: int | None = None
    root_fpu_micro: int | None = None
    root_temperature_micro: int | None = None

    def applied(self, config: SearchConfig) -> SearchConfig:
        """The gates' search with these numbers."""
        changes = {
            "cpuct_micro": self.cpuct_micro,
            "root_fpu_reduction_micro": self.root_fpu_micro,
            "root_temperature_micro": self.root_temperature_micro,
        }
        return replace(config, **{name: number for name, number in changes.items() if number is not None})


_NO_NEWS: Final[dict[str, tuple[float, ...]]] = {
    "wideRootNoise": (0,),
    "antiMirror": (0,),
    "playoutDoublingAdvantage": (0,),
    "ignorePreRootHistory": (0,),
    "rootNumSymmetriesToSample": (1,),
    "conservativePass": (1,),
    "numSearchThreads": (1,),
    "rootNoiseEnabled": (0,),
}
"""Settings of KataGo's that are not followed, and the values that say what happens here anyhow."""


def override(settings: Settings, changes: Mapping[str, Any], root: int) -> tuple[Settings, list[str]]:
    """The settings after some of KataGo's, and the names of those that are not followed; raises SettingError.

    `root`: how the root of the searches divides its visits, which says what can be followed.
    """
    ignored = []
    for name, value in changes.items():
        if name == "reportAnalysisWinratesAs":
            settings = replace(settings, perspective=perspective_called(value))
        elif name == "maxVisits":
            settings = replace(settings, visits=int(_number(name, value, 1, MOST_VISITS_ASKED)))
        elif name == "maxTime":
            settings = replace(settings, time_s=_number(name, value, 0, MOST_SECONDS))
        elif name == "analysisPVLen":
            settings = replace(settings, line=int(_number(name, value, 1, MOST_LINE)))
        elif name == "cpuctExploration":
            settings = replace(settings, cpuct_micro=_micro(name, value, 0, 10))
        elif name in ("rootPolicyTemperature", "rootPolicyTemperatureEarly"):
            settings = replace(settings, root_temperature_micro=_micro(name, value, 0.01, 100))
        elif name == "rootFpuReductionMax" and root == Root.PUCT:
            settings = replace(settings, root_fpu_micro=_micro(name, value, 0, 2))
        elif name not in _NO_NEWS or not _is_one_of(value, _NO_NEWS[name]):
            ignored.append(name)
    return settings, ignored


def perspective_called(value: Any) -> Colour:
    """`BLACK`, `WHITE` or `SIDETOMOVE`, in either case; raises SettingError."""
    text = value if isinstance(value, str) else ""
    found = SIDE_TO_MOVE if text.lower() == "sidetomove" else player_called(text)
    if found is None:
        raise SettingError(f"Could not parse config value for reportAnalysisWinratesAs: {shown(str(value))}")
    return found


def _is_one_of(value: Any, numbers: tuple[float, ...]) -> bool:
    word = {"true": True, "false": False}.get(value.strip().lower(), value) if isinstance(value, str) else value
    try:
        return isinstance(word, str | int | float) and float(word) in numbers
    except (ValueError, OverflowError):
        return False


def _number(name: str, value: Any, least: float, most: float) -> float:
    number = math.nan
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        try:
            number = float(value)
        except (ValueError, OverflowError):
            number = math.nan
    if not least <= number <= most:
        raise SettingError(f"{name} has to be from {least:g} to {most:g}, not {shown(str(value))}")
    return number


def _micro(name: str, value: Any, least: float, most: float) -> int:
    return round(MICRO * _number(name, value, least, most))
