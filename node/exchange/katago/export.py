"""Games of a run as the folders that KataGo's self-play writes, and which were left out and why: `export_rows`.

`NAME/tdata/*.npz`, NAME being that of the network that played. Not more rows than a file takes wait in memory, however many
games there are.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from native.errors import EngineError
from node.disk.files import write_file
from node.exchange.errors import ExportError
from node.exchange.katago.names import file_name, model_name
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


class RowFiles:
    """Rows by the network that played, written to files as they come: whole ones only, whatever ends the program."""

    def __init__(self, out: Path, pos_len: int, rows_a_file: int) -> None:
        self._out, self._pos_len, self._most = out, pos_len, rows_a_file
        self._waiting: dict[str, list[Row]] = {}
        self.files: list[Path] = []
        self.rows = 0

    def add(self, name: str, rows: list[Row]) -> None:
        """Takes the rows of a game; while more wait than a file holds, the largest file is written. Raises OSError."""
        self.rows += len(rows)
        self._waiting.setdefault(name, []).extend(rows)
        while sum(map(len, self._waiting.values())) >= self._most:
            self._write(max(self._waiting, key=lambda each: len(self._waiting[each])))

    def end(self) -> None:
        """Writes what waits; raises OSError."""
        for name in tuple(self._waiting):
            self._write(name)

    def _write(self, name: str) -> None:
        waiting = self._waiting[name]
        data = encode_rows(waiting[: self._most], self._pos_len)
        del waiting[: self._most]
        if not waiting:
            del self._waiting[name]
        path = self._out / name / "tdata" / file_name(data)
        write_file(path, data)
        self.files.append(path)


def export_rows(
    games: Iterable[RunGame],
    out: Path,
    pos_len: int,
    rows_a_file: int = ROWS_A_FILE,
    hear: Callable[[int], None] = lambda games: None,
) -> Exported:
    """Writes the rows of games, the oldest first, into `out`, which is made or has to be empty; `hear` is told after each
    game how many were read.

    Raises ExportError when the folder is not empty, or when no game has rows; OSError.
    """
    verify_empty(out)
    files, count, left = RowFiles(out, pos_len, rows_a_file), 0, 0
    left_out: list[LeftOut] = []
    for game in games:
        name = game.hash
        try:
            found = list(game_rows(game.rules, game.block, name, pos_len))
            if not found:
                raise ExportError("None of its searches was a full one.")
        except (ExportError, EngineError) as error:
            left += 1
            left_out += [LeftOut(name.hex(), str(error))] * (len(left_out) < MOST_NAMED)
        else:
            count += 1
            files.add(model_name(game.release.name), found)
        hear(count + left)
    files.end()
    if not count and not left:
        raise ExportError("There is no such game here.")
    if not count:
        raise ExportError(f"None of {counted(left, 'game')} can be exported: {left_out[0].reason}")
    return Exported(count, files.rows, tuple(files.files), left, tuple(left_out))
