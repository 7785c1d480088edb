"""How times, sizes and counts are written where room is scarce."""

from typing import Final

_MINUTE: Final = 60
_HOUR: Final = 3600
_DAY: Final = 86_400
_UNITS: Final = ("B", "kB", "MB", "GB", "TB")


def duration(seconds: float) -> str:
    """Two units at most, rounded down: `42s`, `7m`, `3h12m`, `2d5h`; a negative one is none."""
    whole = max(0, int(seconds))
    if whole < _MINUTE:
        return f"{whole}s"
    if whole < _HOUR:
        return f"{whole // _MINUTE}m"
    if whole < _DAY:
        return f"{whole // _HOUR}h{whole % _HOUR // _MINUTE:02d}m"
    return f"{whole // _DAY}d{whole % _DAY // _HOUR}h"


def rate(per_s: float) -> str:
    """Two digits below ten, else whole: `0.42`, `7.3`, `1,204`."""
    if per_s < 0.995:
        return f"{per_s:.2f}"
    return f"{per_s:.1f}" if per_s < 9.95 else f"{per_s:,.0f}"


def size(count_bytes: int) -> str:
    """In units of 1,000: `900 B`, `1.2 MB`."""
    value, units = float(count_bytes), list(_UNITS)
    while value >= 999.5 and len(units) > 1:
        value /= 1000
        units.pop(0)
    return f"{value:.0f} {units[0]}" if units[0] == "B" or value >= 9.95 else f"{value:.1f} {units[0]}"
