"""All rows that a cycle trains on, packed and mapped: `Window`, of which minibatches are drawn.

Spec: docs/spec/rows.md, docs/spec/train-state.md ("Draws"). Row numbers are stable: sizes ascending, within a size the
window's order, then game, then ply. Five million rows are about a gigabyte that need not be in memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

import numpy as np
import numpy.typing as npt

from native.errors import EngineError
from native.packed import DRAWN_BYTES, MinibatchBuffers, PackedFacts, Segments, gather, packed_facts
from trainer.data.segment import Scratch, Segment
from trainer.errors import BadRows

GAME: Final = np.dtype(
    [
        *(("offset", np.uint64), ("length", np.uint64), ("name", "V16"), ("segment", np.int32), ("batch", np.int32)),
        *(("number", np.int32), ("size", np.int32), ("plies", np.int32), ("moves", np.int32)),
        *(("bad_policy", np.int32), ("bad_value", np.int32), ("held_out", np.bool_)),
    ]
)
"""A packed game: where it lies; its batch, number in it, and facts (`native.packed.PackedFacts`; bad ones -1 for none)."""

DRAWN: Final = np.dtype(
    [
        *(("offset", np.uint64), ("length", np.uint64), ("segment", np.int32), ("ply", np.int32)),
        *(("symmetry", np.int32), ("zero", np.int32)),
    ]
)
assert DRAWN.itemsize == DRAWN_BYTES

Games = npt.NDArray[np.void]


def games_of(facts: Sequence[PackedFacts], lengths: Sequence[int], offset: int) -> Games:
    """The table of games that lie one after another from `offset`; their segment and batch are 0."""
    games = np.zeros(len(facts), GAME)
    games["length"] = lengths
    games["offset"] = offset + np.cumsum([0, *lengths], dtype=np.uint64)[:-1]
    games["number"] = np.arange(len(facts))
    for name in ("size", "plies", "moves"):
        games[name] = [getattr(fact, name) for fact in facts]
    for name in ("bad_policy", "bad_value"):
        games[name] = [-1 if (bad := getattr(fact, name)) is None else bad for fact in facts]
    games["name"] = np.frombuffer(b"".join(fact.name for fact in facts), "V16")
    return games


@dataclass(frozen=True, slots=True)
class Drawn:
    """Rows drawn under their symmetries: where they lie, and their boards' sizes."""

    rows: npt.NDArray[np.void]
    sizes: npt.NDArray[np.int32]

    @property
    def canvas(self) -> int:
        """The side of the largest board."""
        return int(self.sizes.max())

    @property
    def whole(self) -> bool:
        """Whether every board fills the canvas."""
        return bool((self.sizes == self.canvas).all())


class Window:
    """The rows of all games of a window. It can be pickled for a process that `descriptors` are passed to."""

    def __init__(
        self, games: Games, segments: Sequence[Segment], batches: Sequence[str] = (), keeping: object = None
    ) -> None:
        """`games` in the window's order; `batches`: how people are told of them; `keeping` lives as long as this."""
        self.games: Games = games[np.argsort(games["size"], kind="stable")]
        self.segments, self.batches, self._keeping = tuple(segments), tuple(batches), keeping
        self._ends = np.cumsum(self.games["plies"], dtype=np.int64)
        self._mapped = Segments([segment.map() for segment in segments])

    @classmethod
    def of(cls, games: Iterable[bytes], held_out: Sequence[bool] | None = None) -> Self:
        """A window of packed games (at least one), kept in a temporary file. Raises EngineError for other bytes."""
        listed = list(games)
        scratch = Scratch()
        for game in listed:
            scratch.add(game)
        table = games_of([packed_facts(game) for game in listed], [len(game) for game in listed], 0)
        table["held_out"] = False if held_out is None else held_out
        return cls(table, [scratch.segment()], ["memory"], scratch)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.games, self.segments, self.batches)

    def __len__(self) -> int:
        return int(self._ends[-1]) if len(self._ends) else 0

    @property
    def descriptors(self) -> tuple[int, ...]:
        """Open files that another process has to be passed."""
        return tuple(segment.source for segment in self.segments if not isinstance(segment.source, Path))

    @property
    def sizes(self) -> tuple[int, ...]:
        """The board sizes, ascending."""
        return tuple(np.unique(self.games["size"]).tolist())

    def numbers(self, *, held_out: bool) -> npt.NDArray[np.int64]:
        """Row numbers of the held-out rows, or of all others, ascending."""
        return np.flatnonzero(np.repeat(self.games["held_out"], self.games["plies"]) == held_out)

    def split(self, numbers: npt.NDArray[np.int64]) -> list[tuple[int, npt.NDArray[np.int64], npt.NDArray[np.int64]]]:
        """For each board size with any of these rows, ascending: the size, their positions in `numbers`, their numbers."""
        sizes = self.games["size"][self._games_of(numbers)]
        places = [(int(size), np.flatnonzero(sizes == size)) for size in np.unique(sizes)]
        return [(size, at, numbers[at]) for size, at in places]

    def draw(self, numbers: npt.NDArray[np.int64], symmetries: npt.NDArray[np.int64]) -> Drawn:
        """These rows (at least one) under these symmetries (0..7)."""
        at = self._games_of(numbers)
        games = self.games[at]
        rows = np.zeros(len(numbers), DRAWN)
        rows["ply"] = numbers - (self._ends[at] - games["plies"])
        rows["symmetry"] = symmetries
        for name in ("offset", "length", "segment"):
            rows[name] = games[name]
        return Drawn(rows, games["size"])

    def lay_out(self, drawn: Drawn, buffers: MinibatchBuffers) -> None:
        """Writes the rows on their canvas; without the GIL. Raises BadRows when their bytes were damaged meanwhile."""
        try:
            gather(self._mapped, drawn.rows, drawn.canvas, buffers)
        except EngineError as error:
            raise BadRows("The window's rows were damaged after they had been read.") from error

    def _games_of(self, numbers: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        if len(numbers) and not 0 <= int(numbers.min()) <= int(numbers.max()) < len(self):
            raise IndexError("a row outside the window")
        return np.searchsorted(self._ends, numbers, "right").astype(np.int64)
