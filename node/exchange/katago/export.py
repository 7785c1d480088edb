"""Games of a run as a folder of KataGo's training files, and which were left out and why: `export_rows`."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from native.errors import EngineError
from node.disk.files import write_file
from node.exchange.errors import ExportError
from node.exchange.katago.rows import Row, encode_rows, game_rows
from node.exchange.left_out import MOST_NAMED, LeftOut
from node.exchange.run_games import RunGame
from node.exchange.run_sgf import verify_empty
from protocol.words import counted

ROWS_A_FILE: Final = 10_000
"""As many as KataGo's self-play writes."""


@dataclass(frozen=True, slots=True)
class Exported:
    """What was written; of what was left out the first MOST_NAMED games."""

    games: int
    rows: int
    files: tuple[Path, ...]
    games_left_out: int
    left_out: tuple[LeftOut, ...]


def export_rows(games: Iterable[RunGame], out: Path, pos_len: int, rows_a_file: int = ROWS_A_FILE) -> Exported:
    """Writes `rows0.npz` and so on into `out`, which is made or has to be empty.

    Raises ExportError when it is not, or when no game has rows; OSError.
    """
    verify_empty(out)
    count = left = total = 0
    files: list[Path] = []
    left_out: list[LeftOut] = []
    waiting: list[Row] = []

    def write(rows: list[Row]) -> None:
        path = out / f"rows{len(files)}.npz"  # shuffle.py passes over names with an underscore
        write_file(path, encode_rows(rows, pos_len))
        files.append(path)

    for game in games:
        name = game.hash
        try:
            found = list(game_rows(game.rules, game.block, name, pos_len))
            if not found:
                raise ExportError("None of its searches was a full one.")
        except (ExportError, EngineError) as error:
            left += 1
            left_out += [LeftOut(name.hex(), str(error))] * (len(left_out) < MOST_NAMED)
            continue
        count, total = count + 1, total + len(found)
        waiting += found
        while len(waiting) >= rows_a_file:
            write(waiting[:rows_a_file])
            del waiting[:rows_a_file]
    if waiting:
        write(waiting)
    if not count and not left:
        raise ExportError("There is no such game here.")
    if not count:
        raise ExportError(f"None of {counted(left, 'game')} can be exported: {left_out[0].reason}")
    return Exported(count, total, tuple(files), left, tuple(left_out))
