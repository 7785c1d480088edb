"""Whether a window is fit to be trained on: `verify_window`.

Spec: docs/spec/train-state.md ("Poisoned windows"). A bad batch is left out when it is read; what is refused here is a
window that training would learn nonsense from although each of its batches could be read.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from trainer.data.rows import Window
from trainer.errors import NoRows, PolicyNotFinite, RepeatedGame, ValueOffRange

REPEATED_MOVES: Final = 10
REPEATED_MOST: Final = 8
_REPEATED_SHARE: Final = 100


def verify_window(window: Window) -> None:
    """Raises a PoisonedWindow: NoRows, PolicyNotFinite, ValueOffRange or RepeatedGame, with the batch and the game."""
    if not len(window.numbers(held_out=False)):
        raise NoRows("The window has no rows to train on.")
    games = window.games
    for game in games[games["bad_policy"] >= 0][:1]:
        raise PolicyNotFinite(
            f"The policy target of {_place(window, game, 'bad_policy')} is no distribution: the shares of a full search "
            "have to be finite and sum to 1."
        )
    for game in games[games["bad_value"] >= 0][:1]:
        raise ValueOffRange(f"The value or score of {_place(window, game, 'bad_value')} is one that no position has.")
    _verify_variety(window)


def _verify_variety(window: Window) -> None:
    """One game, played over and over, is no data; short games may well repeat."""
    games = window.games[window.games["moves"] >= REPEATED_MOVES]
    if not len(games):
        return
    counts = Counter(zip(games["size"].tolist(), games["name"].tolist(), strict=True))
    (size, name), count = counts.most_common(1)[0]
    most = max(REPEATED_MOST, len(window.games) // _REPEATED_SHARE)
    if count <= most:
        return
    same: npt.NDArray[Any] = np.array([game["size"] == size and game["name"].tobytes() == name for game in games])
    raise RepeatedGame(
        f"The same game stands {count} times in the window of {len(window.games)} games, at most {most} are allowed: "
        f"the first is {_place(window, games[same][0])}."
    )


def _place(window: Window, game: np.void, ply: str = "") -> str:
    row = f"row {game[ply]} of " if ply else ""
    return f"{row}game {game['number']} of batch {window.batches[int(game['batch'])]}"
