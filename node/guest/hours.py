"""The hours in which a guest plays, by the local clock: `22-7`, `22:30-7:15`.

Invariants: the first minute is in, the last one out; hours that begin later than they end go over midnight.
"""

import re
from dataclasses import dataclass
from typing import Self

DAY_MIN = 24 * 60
_HOURS = re.compile(r"([0-9]{1,2})(?::([0-9]{2}))?-([0-9]{1,2})(?::([0-9]{2}))?")


@dataclass(frozen=True, slots=True)
class Hours:
    """From minute `first` of the day to before minute `end`, both below a day's; ValueError where nothing lies between."""

    first: int
    end: int

    def __post_init__(self) -> None:
        if not (0 <= self.first < DAY_MIN and 0 <= self.end < DAY_MIN) or self.first == self.end:
            raise ValueError("Hours are two different times of the day, such as 22-7 or 8:30-17.")

    @classmethod
    def parse(cls, text: str) -> Self:
        """Reads `22-7`; hour 24 is midnight. ValueError with one sentence for anything else."""
        found = _HOURS.fullmatch(text.strip())
        if found is None:
            raise ValueError(f"{text!r} are no hours, such as 22-7 or 8:30-17.")
        first_hour, first_minute, end_hour, end_minute = (int(part or 0) for part in found.groups())
        for hour, minute in ((first_hour, first_minute), (end_hour, end_minute)):
            if minute > 59 or 60 * hour + minute > DAY_MIN:
                raise ValueError(f"{text!r} are no hours of a day.")
        return cls((60 * first_hour + first_minute) % DAY_MIN, (60 * end_hour + end_minute) % DAY_MIN)

    def encode(self) -> str:
        """The text that `parse` reads back."""
        return f"{time_of(self.first)}-{time_of(self.end)}"

    def is_within(self, minute: int) -> bool:
        """Whether a minute of the day is one of them."""
        return (minute - self.first) % DAY_MIN < (self.end - self.first) % DAY_MIN


def time_of(minute: int) -> str:
    """A minute of the day as people write it."""
    return f"{minute // 60}:{minute % 60:02}"
