"""A run's games as SGF, what their searches found as comments: one file a game, as the pages give them."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from node.disk.files import write_file
from node.exchange.errors import ExportError
from node.exchange.rule_names import name_rules
from node.exchange.run_games import RunGame, contributor_name
from node.web.game_sgf import game_sgf
from node.web.games.played import ENDS, played
from node.web.model.contents import TRAINING
from node.web.model.sums import VERIFIED
from node.web.queries.game import BatchName, GameAnswer, Person, ReleaseName, Side
from verification.state import LogState


@dataclass(frozen=True, slots=True)
class Written:
    """The file of a game, and the game's name."""

    path: Path
    name: str


def write_games(
    games: Iterable[RunGame], state: LogState, out: Path, encode: Callable[[GameAnswer], bytes] = game_sgf
) -> list[Written]:
    """Writes `ENTRY-NUMBER.sgf` (the batch's log entry, the game's number there) for each game into `out`, which is made or
    has to be empty; `encode` makes a file's bytes. Raises ExportError when it is not, or when there is no game; OSError."""
    verify_empty(out)
    written = []
    for game in games:
        path = out / f"{game.batch.index:08d}-{game.number:03d}.sgf"
        answer = game_answer(game, state)
        write_file(path, encode(answer), is_durable=False)
        written.append(Written(path, answer.hash.hex()))
    if not written:
        raise ExportError("There is no such game here.")
    return written


def verify_empty(out: Path) -> None:
    """Makes a folder to write to; raises ExportError when something is in it, or OSError."""
    out.mkdir(parents=True, exist_ok=True)
    if any(out.iterdir()):
        raise ExportError(f"{out}: something is in this folder; give another --out.")


def game_answer(game: RunGame, state: LogState) -> GameAnswer:
    """What the pages tell of a game; when it was logged is not known here."""
    header, block = game.batch.header, game.block
    moves = played(block, game.rules)
    side = Side(game.release.name, game.release.number, game.release.id, None)
    return GameAnswer(
        hash=game.hash,
        kind=TRAINING,
        batch=BatchName(game.batch.index, game.batch.digest, header.blob_digest),
        number=game.number,
        counter=block.header.counter,
        release=ReleaseName(game.release.number, game.release.id, game.release.name),
        black=side,
        white=side,
        contributor=Person(header.peer, contributor_name(state, header.peer), True),
        fate=VERIFIED,
        size=block.header.size,
        komi=block.header.komi_half / 2,
        rules=name_rules(game.rules),
        end=ENDS[block.header.end],
        result=block.header.outcome,
        opening_moves=block.header.opening_moves,
        unix_s=None,
        fault=moves.fault,
        moves=moves.moves,
        ownership=moves.ownership,
    )
