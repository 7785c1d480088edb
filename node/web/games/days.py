"""The files of whole days, `DIR/dumps/DATE.sgf.zst`, and what is known of each: `DayFiles`.

Page: docs/pages.md. A file is made once (`node.web.day_maker`). What is in it is told by a text beside it, which stays
when the file is deleted for room, so that it is not made again; a text that cannot be read counts as none.
"""

import datetime
import json
import re
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Final

from node.disk.files import write_file

FOLDER: Final = "dumps"
DAY_S: Final = 86_400
END: Final = ".sgf.zst"
_TEXT: Final = ".json"
_NAME: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


@dataclass(frozen=True, slots=True)
class DayFile:
    """A day's file: `games` of `batches`, of the `known` ones that the log has of that day; its length and SHA-256.

    `is_kept`: it is there; else it was deleted for room, or not kept for its length.
    """

    games: int
    batches: int
    known: int
    bytes: int
    sha256: str
    is_kept: bool

    def __post_init__(self) -> None:
        numbers = (self.games, self.batches, self.known, self.bytes)
        if not all(type(each) is int and each >= 0 for each in numbers):
            raise ValueError("A number of a day's file is no number.")
        if not re.fullmatch("[0-9a-f]{64}", self.sha256) or not isinstance(self.is_kept, bool):
            raise ValueError("A digest of a day's file is no digest.")


class DayFiles:
    """The folder of a node's directory; days are counted since 1970."""

    def __init__(self, directory: Path) -> None:
        self.folder = directory / FOLDER

    def path(self, day: int) -> Path:
        """Where a day's file lies."""
        return self.folder / f"{name_of(day)}{END}"

    def find(self, day: int) -> DayFile | None:
        """What is known of a day's file; None while it is not made."""
        try:
            values = json.loads(self._text(day).read_bytes())
            found = DayFile(**{field.name: values[field.name] for field in fields(DayFile)})
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return None
        return found if not found.is_kept or self.path(day).is_file() else None

    def store(self, day: int, found: DayFile) -> None:
        """Says what a day's file is, which lies there already if it is kept."""
        if not found.is_kept:
            self.path(day).unlink(missing_ok=True)
        write_file(self._text(day), json.dumps(asdict(found)).encode(), is_durable=False)

    def made(self) -> Iterator[tuple[int, DayFile]]:
        """All that were made, newest first."""
        try:
            names = sorted((path.name for path in self.folder.iterdir() if path.suffix == _TEXT), reverse=True)
        except FileNotFoundError:
            return
        for name in names:
            day = day_of(name.removesuffix(_TEXT))
            found = None if day is None else self.find(day)
            if day is not None and found is not None:
                yield day, found

    def _text(self, day: int) -> Path:
        return self.folder / f"{name_of(day)}{_TEXT}"


def name_of(day: int) -> str:
    """`2023-11-14`; raises ValueError for a day that no calendar has."""
    try:
        return time.strftime("%Y-%m-%d", time.gmtime(day * DAY_S))
    except (OverflowError, OSError) as error:
        raise ValueError("There is no such day.") from error


def day_of(name: str) -> int | None:
    """The day with this name, None where there is none."""
    if not _NAME.fullmatch(name):
        return None
    try:
        year, month, date = map(int, name.split("-"))
        day = (datetime.date(year, month, date) - datetime.date(1970, 1, 1)).days
    except ValueError:
        return None
    return day if day >= 0 else None
