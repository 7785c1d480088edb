"""Packed rows: games in the form that is kept and drawn from, and minibatches laid out from them.

Spec: docs/spec/rows.md (the bytes), docs/spec/features.md (the planes). Bytes that were damaged since they were made are
refused by `packed_facts` and `gather`, never followed. No numpy here: buffers are anything that exports its memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Final

from native._engine import ffi, lib
from native.errors import verify_status
from native.rows import check_block
from native.rules import Rules

DRAWN_BYTES: Final = 32
"""Of a drawn row: u64 offset and length of its game in the segment, i32 segment, i32 ply, i32 symmetry 0..7, i32 zero."""


@dataclass(frozen=True, slots=True)
class PackedFacts:
    """What a packed game is: `plies` rows of a board; `moves` of the whole game and a `name` that games of the same moves
    share. `bad_policy` and `bad_value`: the first row whose full policy has another sum than 65535, and whose value no game
    has; None when all are good."""

    size: int
    plies: int
    moves: int
    name: bytes
    bad_policy: int | None
    bad_value: int | None


def pack_game(rules: Rules, block: bytes) -> bytes:
    """The packed game of a block. Raises BlockError as `check_block` does."""
    size, plies, used = ffi.new("int32_t *"), ffi.new("int32_t *"), ffi.new("size_t *")
    if lib.go_block_shape(block, len(block), size, plies) != lib.GO_OK or size[0] != rules.rows:
        check_block(rules, block)
    out = bytearray(lib.go_packed_most(size[0], plies[0]))
    status = lib.go_rows_pack(rules.to_c(), block, len(block), ffi.from_buffer("uint8_t[]", out), len(out), used)
    if status != lib.GO_OK:
        check_block(rules, block)
    verify_status(status)
    return bytes(memoryview(out)[: used[0]])


def packed_facts(game: bytes | memoryview) -> PackedFacts:
    """The facts of a packed game. Raises EngineError unless the bytes are one, and nothing else."""
    found = ffi.new("go_packed *")
    verify_status(lib.go_packed_facts(ffi.from_buffer("uint8_t[]", game), len(game), found))
    return PackedFacts(
        size=int(found.size),
        plies=int(found.plies),
        moves=int(found.moves),
        name=bytes(ffi.buffer(found.name)),
        bad_policy=None if found.bad_policy < 0 else int(found.bad_policy),
        bad_value=None if found.bad_value < 0 else int(found.bad_value),
    )


class Segments:
    """Memory with packed games, for `gather`; it stays as it is while this lives."""

    __slots__ = ("_array", "_kept")

    def __init__(self, buffers: Sequence[object]) -> None:
        self._kept = [ffi.from_buffer("uint8_t[]", buffer) for buffer in buffers]
        self._array = ffi.new("go_segment[]", [(kept, len(kept)) for kept in self._kept])

    def __len__(self) -> int:
        return len(self._kept)


@dataclass(frozen=True, slots=True)
class MinibatchBuffers:
    """Where `gather` writes n rows on a canvas of P points, row after row: f32 planes [P][20], u8 legal [P + 1], f32 policy
    and opponent_policy [P + 1], f32 result, root_value and score, f32 ownership [P] and board [P]."""

    planes: object
    legal: object
    policy: object
    opponent_policy: object
    result: object
    root_value: object
    score: object
    ownership: object
    board: object


def gather(segments: Segments, drawn: object, canvas: int, out: MinibatchBuffers) -> None:
    """Lays out the drawn rows (a buffer of DRAWN_BYTES each, native byte order) in their order, without the GIL.

    Raises EngineError for rows outside their segments, boards larger than the canvas and damaged games, ValueError for a
    buffer of another length than the rows need.
    """
    rows = ffi.from_buffer("uint8_t[]", drawn)
    count, rest = divmod(len(rows), DRAWN_BYTES)
    points = canvas * canvas
    lengths = {"planes": 80 * points, "legal": points + 1, "policy": 4 * points + 4, "opponent_policy": 4 * points + 4}
    lengths |= {"ownership": 4 * points, "board": 4 * points}
    buffers = {}
    for field in fields(out):
        buffer = ffi.from_buffer("uint8_t[]", getattr(out, field.name), True)
        if rest or len(buffer) != count * lengths.get(field.name, 4):
            raise ValueError(f"the buffer of {field.name} has {len(buffer)} bytes for {count} rows")
        buffers[field.name] = buffer if field.name == "legal" else ffi.cast("float *", buffer)
    arrays = ffi.new("go_minibatch *", buffers)
    verify_status(
        lib.go_rows_gather(segments._array, len(segments), ffi.cast("go_drawn *", rows), count, canvas, arrays)
    )
