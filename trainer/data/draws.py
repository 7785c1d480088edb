"""What a cycle draws: the order of rows, a symmetry for each, and who is held out; pure functions of the seed.

Spec: docs/spec/train-state.md ("Draws"). Random words are the raw stream of Philox 4x64 keyed by SHA-256, not a
library's distributions, so that they never change with a library's version. Rows are drawn without replacement; when
all were drawn, in a new order.
"""

from __future__ import annotations

import hashlib

import numpy as np
import numpy.typing as npt

SYMMETRIES = 8


def random_words(seed: bytes, purpose: str, number: int, count: int) -> npt.NDArray[np.uint64]:
    """`count` random u64 words of stream `number` of a purpose."""
    digest = hashlib.sha256(b"gonode/train-draw/v1\0" + seed + purpose.encode() + b"\0" + number.to_bytes(8, "little"))
    generator = np.random.Philox(key=int.from_bytes(digest.digest()[:16], "little"))
    words: npt.NDArray[np.uint64] = np.asarray(generator.random_raw(count), dtype=np.uint64).reshape(count)
    return words


def is_held_out(header_digest: bytes, game: int, held_out_ppm: int) -> bool:
    """Whether game number `game` of a batch only validates. It depends on nothing else, so it never changes."""
    digest = hashlib.sha256(b"gonode/held-out/v1\0" + header_digest + game.to_bytes(4, "little")).digest()
    return int.from_bytes(digest[:8], "little") % 10**6 < held_out_ppm


class Sampler:
    """Which rows minibatch `step` of a cycle holds, and under which symmetries: `rows` of them."""

    def __init__(
        self, seed: bytes, numbers: npt.NDArray[np.int64], minibatch: int, part: tuple[int, int] = (0, 1)
    ) -> None:
        """Draws from `numbers` (at least one); of each minibatch only part k of n equal ones."""
        if not len(numbers) or minibatch % part[1]:
            raise ValueError("nothing to draw from, or no equal parts")
        self._seed, self._numbers, self._minibatch = seed, numbers, minibatch
        self.rows = minibatch // part[1]
        self._part = slice(part[0] * self.rows, (part[0] + 1) * self.rows)
        self._order: tuple[int, npt.NDArray[np.int64]] = (-1, numbers)

    def minibatch(self, step: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Row numbers and symmetries (0..7) of this part of minibatch `step`, counted from 0 within the cycle."""
        n, wanted = len(self._numbers), self._minibatch
        at, parts = step * wanted, []
        while wanted:
            epoch, start = divmod(at, n)
            part = self._epoch(epoch)[start : start + wanted]
            parts.append(part)
            at, wanted = at + len(part), wanted - len(part)
        symmetries = random_words(self._seed, "symmetry", step, self._minibatch) % np.uint64(SYMMETRIES)
        return np.concatenate(parts)[self._part], symmetries.astype(np.int64)[self._part]

    def _epoch(self, epoch: int) -> npt.NDArray[np.int64]:
        if self._order[0] != epoch:
            keys = random_words(self._seed, "order", epoch, len(self._numbers))
            self._order = (epoch, self._numbers[np.argsort(keys, kind="stable")])
        return self._order[1]
