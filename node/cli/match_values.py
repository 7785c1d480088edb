"""Values of options of `gonode match`: komi, and the bounds of a test."""

import click

MOST_KOMI = 1000


def half_points(context: click.Context, parameter: click.Parameter, komi: float | None) -> float | None:
    """Komi that can be played with."""
    if komi is not None and not (abs(komi) <= MOST_KOMI and (2 * komi).is_integer()):
        raise click.BadParameter(f"a whole or half number from -{MOST_KOMI} to {MOST_KOMI} is needed.")
    return komi


def bounds(context: click.Context, parameter: click.Parameter, text: str | None) -> tuple[int, int] | None:
    """The bounds of a sequential test, such as 0,30."""
    from verification.gate import MAX_ELO

    if text is None:
        return None
    try:
        low, high = (int(part) for part in text.split(","))
    except ValueError:
        raise click.BadParameter("two whole numbers such as 0,30 are needed.") from None
    if not -MAX_ELO <= low < high <= MAX_ELO:
        raise click.BadParameter(f"the bounds must rise and lie from -{MAX_ELO} to {MAX_ELO}.")
    return low, high
