"""How the pairs of a match begin: rules, komi and opening moves, as the run draws them or as the user says.

A pair's setup follows from its number and seed. Openings are the run's own for the size, none (`empty`), or those of a file,
taken in turn: a folder of SGF files, one SGF file with any number of games, or lines of moves (`D4 E5 C3`, Black first; what
follows `#` is left out).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Final

from native.errors import IllegalMove
from native.game import Game
from native.handicap import fixed_points
from native.rules import Colour, Rules
from node.exchange.errors import SgfError
from node.exchange.record import GameRecord, Setup
from node.exchange.sgf_reader import parse_collection
from node.exchange.sgf_text import MAX_BYTES
from node.exchange.values import parse_vertex, vertex
from protocol.manifest import Manifest
from verification.setup import game_rules, gate_setup

RUN: Final = "run"
EMPTY: Final = "empty"
MAX_OPENINGS: Final = 10_000
HANDICAP_KOMI_HALF: Final = 1
"""Half points of komi in games with a handicap, unless it is said."""


class OpeningError(ValueError):
    """One sentence about openings that cannot be played."""


@dataclass(frozen=True, slots=True)
class Setups:
    """`manifest` has one stage, the one that counts; `openings` None: the run's, where it has some for the size.
    `move_limit` None: the run's."""

    manifest: Manifest
    size: int | None
    komi_half: int | None
    openings: tuple[tuple[int, ...], ...] | None
    move_limit: int | None = None

    def __call__(self, pair: int, seed: bytes) -> tuple[Rules, tuple[int, ...]]:
        """Rules and opening moves of a pair."""
        drawn = gate_setup(self.manifest, 0, seed)
        komi_half = drawn.rules.komi_half if self.komi_half is None else self.komi_half
        rules = _rules(self.manifest, self.size or drawn.rules.rows, komi_half, self.move_limit)
        if self.openings is not None:
            return rules, self.openings[pair % len(self.openings)]
        return rules, drawn.opening_moves[: self.move_limit] if rules.rows == drawn.rules.rows else ()

    def digest(self) -> str:
        """16 digits that differ when the setups do."""
        known = (self.manifest.rules, self.manifest.stages, self.manifest.openings_digest(), self.size, self.komi_half)
        limited = () if self.move_limit is None else (self.move_limit,)
        return sha256(repr((*known, self.openings, *limited)).encode()).hexdigest()[:16]

    @property
    def sizes(self) -> frozenset[int]:
        """Of the boards that are played on."""
        return (
            frozenset(board.size for board in self.manifest.stages[0].boards)
            if self.size is None
            else frozenset({self.size})
        )


def make_setups(
    manifest: Manifest,
    steps: int,
    size: int | None,
    komi_half: int | None,
    openings: str,
    *,
    handicap: int = 0,
    move_limit: int | None = None,
) -> Setups:
    """The setups of a match in a run whose release has `steps`: size and komi as the run draws them where they are None.

    `openings` is `run`, `empty` or a path. With a handicap there are none, and komi is 0.5 unless it is given. Raises
    OpeningError, or HandicapError for a handicap that a board does not have.
    """
    stage = manifest.stage(steps)
    if handicap:
        if openings not in (RUN, EMPTY):
            raise OpeningError(f"{openings}: a handicap is an opening of its own, and there can be no other.")
        openings, komi_half = EMPTY, HANDICAP_KOMI_HALF if komi_half is None else komi_half
    moves: tuple[tuple[int, ...], ...] | None = {RUN: None, EMPTY: ((),)}.get(openings)
    if openings not in (RUN, EMPTY):
        size, moves = _read(Path(openings), manifest, size, {board.size for board in stage.boards}, move_limit)
    boards = tuple(board for board in stage.boards if board.size == size) or stage.boards
    alone = replace(manifest, stages=(replace(stage, from_step=0, boards=boards),))
    setups = Setups(alone, size, komi_half, moves, move_limit)
    for each in setups.sizes if handicap else ():
        fixed_points(_rules(manifest, each, 0, None), handicap)
    return setups


def _rules(manifest: Manifest, size: int, komi_half: int, move_limit: int | None) -> Rules:
    rules = game_rules(manifest.rules, size, komi_half)
    return rules if move_limit is None else replace(rules, move_cap=move_limit)


def _read(
    path: Path, manifest: Manifest, size: int | None, sizes: set[int], move_limit: int | None
) -> tuple[int, tuple[tuple[int, ...], ...]]:
    """The size of a file's openings, which is `size` where that is given, and their moves; `sizes` are the run's."""
    if not (path.is_dir() or path.is_file()):
        raise OpeningError(f"{path}: no such file or folder; openings are run, empty, or a file's.")
    found: list[tuple[int, ...]] = []
    for where, moves, own_size in _games(path, size or (min(sizes) if len(sizes) == 1 else None)):
        size = size or own_size
        if own_size != size:
            raise OpeningError(f"{where}: the board has size {own_size}, not {size}.")
        _verify(where, moves, _rules(manifest, size, 0, move_limit))
        found.append(moves)
        if len(found) > MAX_OPENINGS:
            raise OpeningError(f"{path}: there are more than {MAX_OPENINGS} openings.")
    if not found or size is None:
        raise OpeningError(f"{path}: there is no opening here.")
    return size, tuple(found)


def _games(path: Path, size: int | None) -> Iterator[tuple[str, tuple[int, ...], int]]:
    """Where each opening is, its moves, and its board's size; lines of moves are for a board of `size`."""
    if path.is_dir():
        for file in sorted(each for each in path.iterdir() if each.suffix.lower() == ".sgf"):
            yield _sgf_moves(str(file), _sgf_games(file)[0])
    elif path.suffix.lower() == ".sgf":
        for number, record in enumerate(_sgf_games(path), 1):
            yield _sgf_moves(f"{path}, game {number}", record)
    else:
        if size is None:
            raise OpeningError(f"{path}: lines of moves need --size, as the run plays several sizes.")
        for number, line in enumerate(_bytes(path).decode("utf-8", "replace").splitlines(), 1):
            words = line.partition("#")[0].split()
            if words:
                yield f"{path}, line {number}", _line_moves(f"{path}, line {number}", words, size), size


def _bytes(path: Path) -> bytes:
    with path.open("rb") as file:
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise OpeningError(f"{path}: a file of more than {MAX_BYTES} bytes is not read.")
    return data


def _line_moves(where: str, words: Sequence[str], size: int) -> tuple[int, ...]:
    try:
        return tuple(parse_vertex(word, size, size) for word in words)
    except SgfError as error:
        raise OpeningError(f"{where}: {error}") from None


def _sgf_games(path: Path) -> list[GameRecord]:
    try:
        return [tree.record() for tree in parse_collection(_bytes(path))]
    except SgfError as error:
        raise OpeningError(f"{path}: {error}") from None


def _sgf_moves(where: str, record: GameRecord) -> tuple[str, tuple[int, ...], int]:
    if record.rows != record.cols or not 7 <= record.rows <= 19:
        raise OpeningError(f"{where}: the board has to be a square from 7 by 7 to 19 by 19.")
    if record.start.points or any(isinstance(node, Setup) and node.points for node in record.nodes):
        raise OpeningError(f"{where}: an opening is moves alone, and this one puts stones.")
    turns = (Colour.BLACK, Colour.WHITE)
    if any(move.colour != turns[number % 2] for number, move in enumerate(record.moves)):
        raise OpeningError(f"{where}: Black and White have to move by turns, Black first.")
    return where, tuple(move.point for move in record.moves), record.rows


def _verify(where: str, moves: Sequence[int], rules: Rules) -> None:
    game = Game(rules)
    for number, move in enumerate(moves, 1):
        try:
            game.play(move)
        except IllegalMove as error:
            shown = vertex(move, rules.rows, rules.cols)
            raise OpeningError(f"{where}: move {number} ({shown}) is illegal: {error.reason}.") from None
    if game.end:
        raise OpeningError(f"{where}: the game is over after these moves.")
