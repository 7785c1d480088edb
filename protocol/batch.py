"""Game batches: the raw content that a contributor's header names, and what proofs about it are made of.

Spec: docs/spec/batch.md. A batch is "GONODEB1", the number of games, and game blocks (`protocol.game_block`): exactly one
encoding, no trailing bytes, counters without gaps. A leaf of the batch's tree is one game: its header, its moves and the
root over its ply records. What is checked here is form; rules and replays are for others.
"""

import struct
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple

from protocol import merkle
from protocol.compress import decompress
from protocol.errors import BadProof, NotCanonical, ParseError, TooLarge
from protocol.game_block import HEADER_BYTES, GameBlock, GameHeader, PlyRecord

MAGIC: Final = b"GONODEB1"
_BATCH: Final = struct.Struct("<8sII")
HEAD_BYTES: Final = _BATCH.size
"""Bytes before the first game."""


@dataclass(frozen=True, slots=True)
class BatchLimits:
    """What a reader takes at most."""

    max_games: int = 1024
    max_raw_bytes: int = 64 * 1024 * 1024


DEFAULT_LIMITS: Final = BatchLimits()


@dataclass(frozen=True)
class Batch:
    """The games of a batch, in the order of their counters."""

    games: tuple[GameBlock, ...]

    @property
    def plies(self) -> int:
        """The number of searched plies in all games."""
        return sum(game.header.plies for game in self.games)

    @cached_property
    def leaves(self) -> tuple[bytes, ...]:
        """The leaves of the batch's tree: `game_leaf` of each game."""
        return tuple(game_leaf(game) for game in self.games)

    def encode(self) -> bytes:
        """The raw content."""
        return encode_batch(game.raw for game in self.games)


class GameLeaf(NamedTuple):
    """What a game's leaf says: header, moves, and the root over its ply records."""

    header: GameHeader
    moves: tuple[int, ...]
    ply_root: bytes


def parse_batch(raw: bytes, limits: BatchLimits = DEFAULT_LIMITS) -> Batch:
    """The batch with this raw content.

    Raises TooLarge over `limits`, NotCanonical for filled padding, ParseError for anything else that is no batch,
    gaps in the counters included.
    """
    if len(raw) > limits.max_raw_bytes:
        raise TooLarge(f"The batch has {len(raw)} bytes; the limit is {limits.max_raw_bytes}.")
    if len(raw) < _BATCH.size:
        raise ParseError("The batch is cut short in its first 16 bytes.")
    magic, count, zero = _BATCH.unpack_from(raw)
    if magic != MAGIC:
        raise ParseError("The bytes are not a game batch.")
    if zero != 0:
        raise NotCanonical("The reserved bytes of the batch are not zero.")
    if count > limits.max_games:
        raise TooLarge(f"The batch has {count} games; the limit is {limits.max_games}.")
    view = memoryview(raw)
    games: list[GameBlock] = []
    at = _BATCH.size
    for _ in range(count):
        game = GameBlock.parse(view[at:])
        if games and game.header.counter != games[-1].header.counter + 1:
            raise ParseError(f"Game {game.header.counter} follows game {games[-1].header.counter}.")
        games.append(game)
        at += len(game.raw)
    if at != len(raw):
        raise ParseError(f"Bytes follow the {count} games of the batch.")
    return Batch(tuple(games))


def unpack_batch(blob: bytes, max_raw_bytes: int) -> Batch:
    """The batch in a blob that was verified, whose content has at most so many bytes (a header's `raw_len`).

    Raises what `decompress` and `parse_batch` raise, all of it ProtocolError.
    """
    return parse_batch(decompress(blob, max_raw_bytes))


def encode_batch(blocks: Iterable[bytes]) -> bytes:
    """The raw content of a batch of these game blocks."""
    parts = list(blocks)
    return b"".join((_BATCH.pack(MAGIC, len(parts), 0), *parts))


def ply_root(block: GameBlock) -> bytes:
    """The RFC 6962 root over the records of the game's searched plies."""
    return merkle.root_of(block.records())


def game_leaf(block: GameBlock) -> bytes:
    """The game's leaf in its batch: header, moves, ply root."""
    return block.raw[: block.header.moves_end] + ply_root(block)


def parse_game_leaf(data: bytes) -> GameLeaf:
    """What a game's leaf says; raises ParseError or NotCanonical."""
    header = GameHeader.parse(data)
    if len(data) != header.moves_end + merkle.HASH_BYTES:
        raise ParseError("A game's leaf is its header, its moves and 32 bytes.")
    moves = struct.unpack_from(f"<{header.moves}H", data, HEADER_BYTES)
    if max(moves) >= header.points:
        raise ParseError(f"Game {header.counter} has a move outside its board.")
    return GameLeaf(header, moves, data[header.moves_end :])


def batch_root(batch: Batch) -> bytes:
    """The RFC 6962 root over the game leaves: what the signed header commits to."""
    return merkle.root_of(batch.leaves)


def game_path(batch: Batch, index: int) -> tuple[bytes, ...]:
    """The inclusion proof of game number `index` under the batch root."""
    return merkle.Tree(batch.leaves).inclusion_proof(index)


def ply_path(block: GameBlock, ply: int) -> tuple[bytes, ...]:
    """The inclusion proof of the record of `ply` under the game's ply root."""
    if ply not in block.plies:
        raise IndexError(f"game {block.header.counter} has no searched ply {ply}")
    return merkle.Tree(block.records()).inclusion_proof(ply - block.header.opening_moves)


def verify_game(leaf: bytes, index: int, games: int, path: tuple[bytes, ...], root: bytes) -> GameLeaf:
    """The game that `path` shows to be number `index` of `games` under the batch root.

    Raises BadProof when the path does not lead there, ParseError or NotCanonical for a malformed leaf.
    """
    merkle.verify_inclusion(merkle.leaf_hash(leaf), index, games, path, root)
    return parse_game_leaf(leaf)


def verify_ply(record: bytes, path: tuple[bytes, ...], game: GameLeaf) -> PlyRecord:
    """The ply record that `path` shows to be one of `game`'s.

    Raises ParseError for a malformed record, BadProof when it is not that of its own ply, or its move is not the one in
    the game.
    """
    ply = PlyRecord.parse(record, game.header.size)
    index = ply.ply - game.header.opening_moves
    merkle.verify_inclusion(merkle.leaf_hash(record), index, game.header.plies, path, game.ply_root)
    if game.moves[ply.ply] != ply.move:
        raise BadProof(f"The record of ply {ply.ply} has another move than the game.")
    return ply
