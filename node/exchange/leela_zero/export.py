"""Games as a folder of training files: 32 games a file, as Leela Zero keeps them, and which games were left out and why."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from node.disk.files import write_file
from node.exchange.errors import ReplayError, SgfError, TrainingFileError
from node.exchange.leela_zero.files import pack_file
from node.exchange.leela_zero.position import TrainingPosition
from node.exchange.left_out import MOST_NAMED, LeftOut
from protocol.words import counted

GAMES_A_FILE: Final = 32


@dataclass(frozen=True, slots=True)
class Source:
    """A game by the name that people know it by; `positions` raises TrainingFileError, SgfError or ReplayError."""

    name: str
    positions: Callable[[], list[TrainingPosition]]


@dataclass(frozen=True, slots=True)
class Exported:
    """What was written; of what was left out the first MOST_NAMED games."""

    games: int
    positions: int
    files: tuple[Path, ...]
    games_left_out: int
    left_out: tuple[LeftOut, ...]


def export_games(sources: Iterable[Source], out: Path) -> Exported:
    """Writes `games.N.gz` into `out`, which is made or has to be empty.

    Raises TrainingFileError when it is not, or when there is no game that a training file can hold; OSError.
    """
    out.mkdir(parents=True, exist_ok=True)
    if any(out.iterdir()):
        raise TrainingFileError(f"{out}: something is in this folder; give another --out.")
    games = positions = left = 0
    files: list[Path] = []
    left_out: list[LeftOut] = []
    waiting: list[list[TrainingPosition]] = []

    def write() -> None:
        path = out / f"games.{len(files)}.gz"
        write_file(path, pack_file(position for each in waiting for position in each))
        files.append(path)
        waiting.clear()

    for source in sources:
        try:
            found = source.positions()
            if not found:
                raise TrainingFileError("The game has no position to train on.")
        except (TrainingFileError, SgfError, ReplayError) as error:
            left += 1
            left_out += [LeftOut(source.name, str(error))] * (len(left_out) < MOST_NAMED)
            continue
        games, positions = games + 1, positions + len(found)
        waiting.append(found)
        if len(waiting) == GAMES_A_FILE:
            write()
    if waiting:
        write()
    if not left and not games:
        raise TrainingFileError("There is no game to export.")
    if not games:
        first = left_out[0]
        raise TrainingFileError(f"None of {counted(left, 'game')} can be exported. {first.name}: {first.reason}")
    return Exported(games, positions, tuple(files), left, tuple(left_out))
