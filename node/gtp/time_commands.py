"""Commands about time: GTP's own, KGS's and KataGo's settings, what is left, and the processor's time.

Sources: GTP version 2, draft 2, section 4.2; kgsGtp's extensions; KataGo's docs/GTP_Extensions.md.
"""

import time
from collections.abc import Sequence
from typing import Final

from node.gtp.clock import NO_LIMIT, Clock, TimeSettings
from node.gtp.command import Command
from node.gtp.errors import Failure
from node.gtp.line import Request
from node.gtp.session import Session
from node.gtp.values import argument, colour_of, limit_of, seconds_of, shown, whole_of

KGS_KINDS: Final = ("none", "absolute", "byoyomi", "canadian")
KATAGO_KINDS: Final = (*KGS_KINDS, "fischer", "fischer-capped")


def time_settings(session: Session, request: Request) -> str:
    """`time_settings MAIN PERIOD STONES`: Canadian; 0 0 0 is no time, a period without stones no limit."""
    main_s = _main_s(request.arguments)
    period_s = seconds_of(argument(request.arguments, 1, "the time of a period"), "A period's time")
    stones = _count(argument(request.arguments, 2, "the stones of a period"), "A number of stones")
    session.clock = Clock(TimeSettings(main_s, period_s, stones if period_s else 0))
    return ""


def kgs_time_settings(session: Session, request: Request) -> str:
    """`kgs-time_settings none | absolute MAIN | byoyomi MAIN PERIOD PERIODS | canadian MAIN PERIOD STONES`."""
    return _of_kind(session, request, KGS_KINDS)


def kata_time_settings(session: Session, request: Request) -> str:
    """`kata-time_settings`: as `kgs-time_settings`, and `fischer MAIN INCREMENT | fischer-capped MAIN INCREMENT LIMIT MOVE`.

    LIMIT bounds what the clock can hold, MOVE the time of one move; below 0 neither does.
    """
    return _of_kind(session, request, KATAGO_KINDS)


def kata_list_time_settings(session: Session, request: Request) -> str:
    """The kinds that `kata-time_settings` knows, on one line."""
    return " ".join(KATAGO_KINDS)


def time_left(session: Session, request: Request) -> str:
    """`time_left COLOUR TIME STONES`."""
    colour = colour_of(argument(request.arguments, 0, "a colour"))
    left_s = seconds_of(argument(request.arguments, 1, "the time left"), "Time left")
    session.clock.set_left(colour, left_s, _count(argument(request.arguments, 2, "the stones"), "A number of stones"))
    return ""


def cputime(session: Session, request: Request) -> str:
    """`cputime`, `gomill-cpu_time`: the seconds that this process has had of its processors."""
    return f"{time.process_time():.3f}"


def _of_kind(session: Session, request: Request, kinds: Sequence[str]) -> str:
    kind, *rest = [argument(request.arguments, 0, "the kind of time"), *request.arguments[1:]]
    if kind not in kinds:
        raise Failure(f"The kind of time is {', '.join(kinds[:-1])} or {kinds[-1]}, not {shown(kind)}.")
    if kind == "none":
        told = NO_LIMIT
    elif kind == "absolute":
        told = TimeSettings(_main_s(rest))
    elif kind.startswith("fischer"):
        told = _fischer(rest, is_capped=kind != "fischer")
    else:
        told = _periods(rest, is_byoyomi=kind == "byoyomi")
    session.clock = Clock(told)
    return ""


def _periods(values: Sequence[str], *, is_byoyomi: bool) -> TimeSettings:
    main_s = _main_s(values)
    period_s = seconds_of(argument(values, 1, "the time of a period"), "A period's time")
    count = _count(argument(values, 2, "how many there are"), "A number of periods or stones")
    if not (period_s and count):
        return TimeSettings(main_s)
    return TimeSettings(main_s, period_s, periods=count) if is_byoyomi else TimeSettings(main_s, period_s, count)


def _fischer(values: Sequence[str], *, is_capped: bool) -> TimeSettings:
    main_s = _main_s(values)
    increment_s = seconds_of(argument(values, 1, "the increment"), "An increment")
    most_s = limit_of(argument(values, 2, "the most that the clock holds"), "A limit") if is_capped else None
    move_s = limit_of(argument(values, 3, "the most time of a move"), "A limit") if is_capped else None
    if most_s is not None and most_s < main_s:
        raise Failure("The clock cannot hold less than its main time.")
    return TimeSettings(main_s, increment_s=increment_s, most_s=most_s, move_s=move_s)


def _main_s(values: Sequence[str]) -> float:
    return seconds_of(argument(values, 0, "the main time"), "Main time")


def _count(text: str, what: str) -> int:
    count = whole_of(text, what)
    if count < 0:
        raise Failure(f"{what} is not below 0.")
    return count


COMMANDS: Final[dict[str, Command]] = {
    "time_settings": time_settings,
    "kgs-time_settings": kgs_time_settings,
    "kata-time_settings": kata_time_settings,
    "kata-list_time_settings": kata_list_time_settings,
    "time_left": time_left,
    "cputime": cputime,
    "gomill-cpu_time": cputime,
}
