"""The training window: a pure function of the released batches and the manifest, so that nothing is added or left out.

Spec: `docs/spec/training.md` ("Window"). The window's size follows a power law of all released rows; it takes whole
batches, newest first, until it has that many rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from hashlib import sha256

from protocol.manifest import WindowPolicy
from protocol.seeds import PPM
from verification.identities import BatchInfo


@dataclass(frozen=True, slots=True)
class Window:
    """Batches in header log order; `rows` are theirs, `total_rows` those of all released batches."""

    batches: tuple[BatchInfo, ...]
    games: int
    rows: int
    total_rows: int

    @property
    def headers(self) -> bytes:
        """SHA-256 over the header digests in log order."""
        return sha256(b"".join(batch.digest for batch in self.batches)).digest()


def window_rows(total_rows: int, policy: WindowPolicy) -> int:
    """How many rows a window takes of `total_rows`: floor(F (total / F)^e), at most all, from correctly rounded steps.

    Logarithm, product and exponential are decimal with 40 digits, each rounded once, so that every machine agrees.
    """
    floor = policy.floor_rows
    if total_rows <= floor:
        return total_rows
    context = Context(prec=40)
    ratio = context.divide(Decimal(total_rows), Decimal(floor))
    exponent = context.divide(Decimal(policy.exponent_ppm), Decimal(PPM))
    rows = context.multiply(context.exp(context.multiply(context.ln(ratio), exponent)), Decimal(floor))
    return min(total_rows, int(rows))


def window_of(released: Sequence[BatchInfo], policy: WindowPolicy) -> Window:
    """The window over the batches released so far, which come in header log order; a batch has a row a ply."""
    total = sum(batch.header.plies for batch in released)
    wanted = window_rows(total, policy)
    taken: list[BatchInfo] = []
    rows = 0
    for batch in reversed(released):
        if rows >= wanted:
            break
        taken.append(batch)
        rows += batch.header.plies
    taken.reverse()
    return Window(tuple(taken), sum(batch.header.games for batch in taken), rows, total)


def is_due(total_rows: int, last_total: int | None, policy: WindowPolicy) -> bool:
    """Whether enough new rows are released for the next cycle; `last_total` is the last window's, None before any."""
    if last_total is None:
        return total_rows >= policy.first_rows
    return total_rows >= last_total + policy.new_rows


def rows_missing(total_rows: int, last_total: int | None, policy: WindowPolicy) -> int:
    """How many more released rows the next cycle waits for."""
    wanted = policy.first_rows if last_total is None else last_total + policy.new_rows
    return max(0, wanted - total_rows)
