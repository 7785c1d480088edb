"""What the server starts with: `Options`, from its command line and what it says in KataGo's settings."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from node.analysis.settings import SettingError, Settings, override
from node.analysis.values import shown

MOST_THREADS: Final = 256
_THREADS: Final = "numAnalysisThreads"
_WARNS: Final = "warnUnusedFields"
_WORDS: Final = {"true": True, "false": False}


@dataclass(frozen=True, slots=True)
class Options:
    """The settings of queries that say nothing else; `threads` None: as many as the machine has cores.

    `warns`: whether fields that are not known are warned of. `ignored`: settings that are not followed.
    """

    settings: Settings
    threads: int | None
    warns: bool
    ignored: tuple[str, ...]


def options_of(given: Mapping[str, str], flags: Mapping[str, Any], visits: int, root: int) -> Options:
    """From settings `given` in KataGo's form, `flags` of the command line, which count more, and the gates' visits.

    Raises SettingError.
    """
    asked: dict[str, Any] = {**given, **flags}
    threads = _threads(asked.pop(_THREADS, None))
    warns = _WORDS.get(str(asked.pop(_WARNS, "true")).lower())
    if warns is None:
        raise SettingError(f"{_WARNS} has to be true or false.")
    settings, ignored = override(Settings(visits=visits), asked, root)
    return Options(settings, threads, warns, tuple(ignored))


def _threads(value: Any) -> int | None:
    if value is None:
        return None
    text = str(value)
    if not text.isascii() or not text.isdecimal() or len(text) > 5 or not 1 <= int(text) <= MOST_THREADS:
        raise SettingError(f"{_THREADS} has to be from 1 to {MOST_THREADS}, not {shown(text)}.")
    return int(text)
