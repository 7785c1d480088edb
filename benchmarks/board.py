"""How fast the rules are on one core: `python -m benchmarks.board [--quick] [--json]`.

Light playouts a second under each ko rule: from the empty board to two passes or the cap of three moves a point, each move
drawn from the legal ones that fill no own one-point eye. Suicide of two stones or more is allowed, and the score is counted.
The ko rules take turns in short rounds of processor time, so that other load on the machine counts little.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

from benchmarks._run import Row, Summary, arguments, rounds, show
from native.playout import Playouts, play_playouts
from native.rules import Ko, Rules

GAMES = {7: 3000, 9: 2000, 13: 800, 19: 300}
"""Games of a round by side of the board: some tens of milliseconds."""
SEED = bytes(32)


@dataclass(frozen=True, slots=True)
class Round:
    """Games and the processor seconds that they took."""

    played: Playouts
    seconds: float


def work_of(size: int, ko: Ko) -> Callable[[], Round]:
    """Plays one round; always the same games."""
    rules = Rules(size, size, 15, ko=ko, move_cap=3 * size * size)

    def work() -> Round:
        started = time.process_time()
        played = play_playouts(rules, GAMES[size], SEED)
        return Round(played, time.process_time() - started)

    return work


def row_of(size: int, ko: Ko, found: list[Round]) -> Row:
    """What is printed of a board and a ko rule."""
    per_s = Summary.of(GAMES[size] / one.seconds for one in found)
    played = found[0].played
    return {
        "board": f"{size}x{size}",
        "ko": ko.name.lower(),
        "playouts/s": per_s.median,
        "spread": per_s.spread,
        "moves/game": played.moves / played.games,
        "ns/move": 1e9 / per_s.median / played.moves * played.games,
        "black wins": played.black_wins / played.games,
        "rounds": len(found),
        "hash": f"{played.hash:016x}",
    }


def main() -> None:
    """Measures and prints."""
    given = arguments(__doc__)
    sizes = (9, 19) if given.quick else tuple(GAMES)
    rows: list[Row] = []
    for size in sizes:
        found = rounds([work_of(size, ko) for ko in Ko], 1.0 if given.quick else 8.0)
        rows += [row_of(size, ko, some) for ko, some in zip(Ko, found, strict=True)]
    show(rows, given.json)


if __name__ == "__main__":
    main()
