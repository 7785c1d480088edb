"""Training rows as arrays: what a window holds in memory, grouped by board size.

Spec: docs/spec/features.md for the planes. Everything is from the view of the side to move; no symmetry is applied yet.
Row numbers are stable: sizes ascending, within a size the window's order.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
import numpy.typing as npt

PLANES = 20
KIND_FULL = 1


@dataclass(frozen=True, slots=True)
class Rows:
    """n positions of one board size with p = size * size points.

    planes u8 [n, 20, p]; policy and opponent_policy u16 [n, p + 1] in 1/65535, all 0 where there is none; value i8
    (1 win, 0 draw, -1 loss); score i32 in half points; ownership i8 [n, p]; kind u8 (1: full search); root_value i32
    in 2^-24; held_out bool: the row's game only validates.
    """

    size: int
    planes: npt.NDArray[np.uint8]
    policy: npt.NDArray[np.uint16]
    opponent_policy: npt.NDArray[np.uint16]
    value: npt.NDArray[np.int8]
    score: npt.NDArray[np.int32]
    ownership: npt.NDArray[np.int8]
    kind: npt.NDArray[np.uint8]
    root_value: npt.NDArray[np.int32]
    held_out: npt.NDArray[np.bool_]

    def __post_init__(self) -> None:
        points = self.size * self.size
        n = len(self.planes)
        shapes: dict[str, tuple[int, ...]] = {
            "planes": (n, PLANES, points),
            "policy": (n, points + 1),
            "opponent_policy": (n, points + 1),
            "ownership": (n, points),
        }
        for field in fields(self)[1:]:
            shape = getattr(self, field.name).shape
            if shape != shapes.get(field.name, (n,)):
                raise ValueError(f"rows: {field.name} has shape {shape}")

    def __len__(self) -> int:
        return len(self.planes)

    @classmethod
    def join(cls, parts: Sequence[Rows]) -> Self:
        """The rows of all parts (at least one, all of one size), in order."""
        columns: dict[str, Any] = {
            field.name: np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(cls)[1:]
        }
        return cls(parts[0].size, **columns)


@dataclass(frozen=True, slots=True)
class Window:
    """All rows of a window, one `Rows` a board size, sizes ascending."""

    groups: tuple[Rows, ...]

    @classmethod
    def of(cls, parts: Iterable[Rows]) -> Self:
        """The window of these games' rows, in the order given."""
        by_size: dict[int, list[Rows]] = {}
        for part in parts:
            by_size.setdefault(part.size, []).append(part)
        return cls(tuple(Rows.join(by_size[size]) for size in sorted(by_size)))

    def __len__(self) -> int:
        return sum(map(len, self.groups))

    def numbers(self, *, held_out: bool) -> npt.NDArray[np.int64]:
        """Row numbers of the held-out rows, or of all others, ascending."""
        if not self.groups:
            return np.zeros(0, np.int64)
        return np.flatnonzero(np.concatenate([group.held_out for group in self.groups]) == held_out)

    def split(self, numbers: npt.NDArray[np.int64]) -> list[tuple[Rows, npt.NDArray[np.int64], npt.NDArray[np.int64]]]:
        """Where rows lie: for each size with any, its rows, their positions in `numbers`, their indices in the rows."""
        found = []
        start = 0
        for group in self.groups:
            at = np.flatnonzero((numbers >= start) & (numbers < start + len(group)))
            if len(at):
                found.append((group, at, numbers[at] - start))
            start += len(group)
        return found
