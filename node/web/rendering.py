"""Answers as HTML: the templates, and how numbers, times and names are said in them.

Page: docs/pages.md. Every word of the log is escaped, for the environment escapes everything. No digit is shown that is not
known: an Elo is whole, a rate has two figures.
"""

import time
from collections.abc import Mapping
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined

from protocol.seeds import PPM

SHORT: Final = 8
"""So many hexadecimal digits of a name are shown; the link has all."""
UNKNOWN: Final = "\N{EN DASH}"
_UNITS: Final = ("B", "KiB", "MiB", "GiB")


def environment() -> Environment:
    """The templates with their filters."""
    found = Environment(
        loader=PackageLoader("node.web", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters.update(
        count=count,
        things=things,
        figures=figures,
        when=when,
        hexed=hexed,
        short=short,
        size=size,
        elo=elo,
        share=share,
        lasting=lasting,
        first_page=first_page,
    )
    return found


def render(found: Environment, template: str, values: Mapping[str, Any]) -> str:
    """A page."""
    return found.get_template(template).render(**values)


def count(number: int | None) -> str:
    """A number of things: 1,234,567; a dash where it is not known."""
    return UNKNOWN if number is None else f"{number:,}"


def things(number: int, noun: str, plural: str = "") -> str:
    """1 batch, 1,200 batches."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def figures(number: float | None) -> str:
    """A measured number with two figures, or three from 100 on where they are whole."""
    if number is None:
        return UNKNOWN
    return f"{number:,.0f}" if abs(number) >= 10 else f"{number:.2g}"


def when(unix_s: int | None) -> str:
    """A time in UTC."""
    if unix_s is None:
        return "time not known"
    try:
        return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(unix_s))
    except (OverflowError, ValueError, OSError):
        return "time not known"


def hexed(data: bytes) -> str:
    """Bytes in full."""
    return data.hex()


def short(data: bytes) -> str:
    """The first digits of a name."""
    return data.hex()[:SHORT]


def size(length: int) -> str:
    """A length in bytes, of three figures."""
    value, unit = float(length), 0
    while value >= 1000 and unit < len(_UNITS) - 1:
        value, unit = value / 1024, unit + 1
    return f"{length} B" if unit == 0 else f"{value:.3g} {_UNITS[unit]}"


def elo(value: float | None, error: float | None = None) -> str:
    """An Elo with half of its 95 % interval, both whole."""
    if value is None:
        return UNKNOWN
    whole = f"{round(value):+d}" if round(value) else "0"
    return f"{whole} ± {error:.0f}" if error else whole


def share(ppm: int | None) -> str:
    """A share of a million, in per cent."""
    return UNKNOWN if ppm is None else f"{100 * ppm / PPM:.3g} %"


def first_page(query: Mapping[str, str]) -> dict[str, str]:
    """The query of the page with which a list begins."""
    return {name: value for name, value in query.items() if name != "before"}


def lasting(seconds: float | None) -> str:
    """How long something took or takes."""
    if seconds is None:
        return UNKNOWN
    for unit, length in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} s"
