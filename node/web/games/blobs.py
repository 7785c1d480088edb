"""Blobs of games as they lie in the public folder, and what is in them: `Content`, `read_batch`, `read_game`.

Specs: docs/spec/blob.md, docs/spec/batch.md. Nobody has to have verified these blobs, nor are they changed here: each is
hashed when it is read, and opened within the lengths that its signer named, for which the run's limits hold. One that is no
batch raises `NoGames`, whatever its bytes are.
"""

import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from protocol import merkle
from protocol.batch import HEAD_BYTES, Batch, BatchLimits, game_leaf, parse_batch
from protocol.blob import verify_blob
from protocol.compress import decompress
from protocol.errors import BadDigest, ProtocolError
from protocol.game_block import GameBlock
from protocol.layout import blob_path

MAX_GAMES: Final = 1024
_ONE_AT_A_TIME: Final = threading.Lock()


class NoGames(ValueError):
    """One sentence about a blob that is not the batch that the log names, or is none."""


class Missing(NoGames):
    """The blob is not here, or is damaged."""


@dataclass(frozen=True, slots=True)
class Content:
    """What the log says of a blob with games: the entry that names it, and what was signed."""

    entry: int
    blob: bytes
    blob_bytes: int
    raw_bytes: int
    root: bytes
    first_counter: int
    games: int


@dataclass(frozen=True, slots=True)
class PlacedGame:
    """A game of a batch: where its block begins in the raw content, and its name, the hash of its leaf."""

    offset: int
    hash: bytes
    block: GameBlock


def read_batch(public: Path, content: Content) -> tuple[PlacedGame, ...]:
    """All games of a blob, which are those that were signed; raises NoGames, OSError."""
    try:
        batch = parse_batch(_raw(public, content), BatchLimits(MAX_GAMES, content.raw_bytes))
    except ProtocolError as error:
        raise NoGames(f"The batch cannot be read: {error}") from error
    if len(batch.games) != content.games:
        raise NoGames(f"The batch has {len(batch.games)} games; {content.games} are signed.")
    if batch.games[0].header.counter != content.first_counter:
        raise NoGames("The batch begins with another game than was signed.")
    hashes = [merkle.leaf_hash(leaf) for leaf in batch.leaves]
    if merkle.root_of_hashes(hashes) != content.root:
        raise NoGames("The games do not hash to the root that is signed.")
    return tuple(
        PlacedGame(offset, name, block)
        for offset, name, block in zip(_offsets(batch), hashes, batch.games, strict=True)
    )


def read_game(public: Path, content: Content, offset: int, name: bytes) -> GameBlock:
    """The game with this name, which `read_batch` found at an offset; raises NoGames, OSError.

    Of all who ask one is answered at a time, so that many questions at once do not open many blobs at once.
    """
    try:
        with _ONE_AT_A_TIME:
            block = GameBlock.parse(memoryview(_raw(public, content))[offset:])
    except ProtocolError as error:
        raise NoGames(f"The game cannot be read: {error}") from error
    if merkle.leaf_hash(game_leaf(block)) != name:
        raise NoGames("The game is not the one that its name says.")
    return block


def _raw(public: Path, content: Content) -> bytes:
    path = public / blob_path(content.blob)
    try:
        with path.open("rb") as file:
            data = file.read(content.blob_bytes + 1)
    except FileNotFoundError:
        raise Missing("The blob of this batch is not here any more.") from None
    try:
        verify_blob(data, content.blob)
    except BadDigest:
        raise Missing("The blob of this batch is damaged on this machine.") from None
    try:
        return decompress(data, content.raw_bytes)
    except ProtocolError as error:
        raise NoGames(f"The batch cannot be read: {error}") from error


def _offsets(batch: Batch) -> list[int]:
    """Where the games' blocks begin in the raw content."""
    offsets, at = [], HEAD_BYTES
    for game in batch.games:
        offsets.append(at)
        at += len(game.raw)
    return offsets
