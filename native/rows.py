"""Game blocks read by the rules alone: `check_block` judges one, `read_rows` makes training rows of it.

The bytes of a block are in docs/spec/batch.md; nothing here searches, so visits and values are taken as recorded.
"""

from __future__ import annotations

from dataclasses import dataclass

from native._engine import ffi, lib
from native.errors import BlockError, sentence_of, verify_status
from native.game import FEATURE_PLANES
from native.rules import Rules


@dataclass(frozen=True, slots=True)
class Rows:
    """The searched plies of one game as training rows, symmetry not yet applied, native byte order.

    With n plies on p points, all from the view of each row's side to move:
    planes u8 [n][20][p]; policy and opponent_policy u16 [n][p + 1], sums 65535 or 0 (a fast ply, or no next ply);
    value i8 [n], 1 win, 0 draw, -1 loss; score i32 [n], half points; ownership i8 [n][p], 1 own, -1 opponent;
    kind u8 [n], 1 full search; root_value i32 [n], 2^-24.
    """

    size: int
    plies: int
    planes: bytearray
    policy: bytearray
    opponent_policy: bytearray
    value: bytearray
    score: bytearray
    ownership: bytearray
    kind: bytearray
    root_value: bytearray


def check_block(rules: Rules, block: bytes) -> None:
    """Raises BlockError unless the block is well formed and its moves, end, result and score follow the rules."""
    bad_ply = ffi.new("int32_t *")
    status = lib.go_block_check(rules.to_c(), block, len(block), bad_ply)
    if status == lib.GO_OK:
        return
    if status in (lib.GO_ERR_MEMORY, lib.GO_ERR_ARGUMENT):
        verify_status(status)
    ply = int(bad_ply[0])
    if ply >= 0:
        fault = "Its record is not well formed." if status == lib.GO_ERR_FORMAT else sentence_of(status)
        raise BlockError(f"The game block is wrong at ply {ply}: {fault}", status, ply)
    if status == lib.GO_ERR_MISMATCH:
        raise BlockError("The game block's size, komi, end or score is not what the rules give.", status, None)
    raise BlockError("The bytes are not a game block.", status, None)


def read_rows(rules: Rules, block: bytes) -> Rows:
    """Training rows of every searched ply. Raises BlockError as `check_block` does."""
    size, plies = ffi.new("int32_t *"), ffi.new("int32_t *")
    c_rules = rules.to_c()
    if lib.go_block_shape(block, len(block), size, plies) != lib.GO_OK or size[0] != rules.rows:
        check_block(rules, block)
    n, points = int(plies[0]), int(size[0]) ** 2
    rows = Rows(
        size=int(size[0]),
        plies=n,
        planes=bytearray(n * FEATURE_PLANES * points),
        policy=bytearray(2 * n * (points + 1)),
        opponent_policy=bytearray(2 * n * (points + 1)),
        value=bytearray(n),
        score=bytearray(4 * n),
        ownership=bytearray(n * points),
        kind=bytearray(n),
        root_value=bytearray(4 * n),
    )
    buffers = {
        "planes": ffi.from_buffer("uint8_t[]", rows.planes),
        "policy": ffi.from_buffer("uint16_t[]", rows.policy),
        "opponent_policy": ffi.from_buffer("uint16_t[]", rows.opponent_policy),
        "value": ffi.from_buffer("int8_t[]", rows.value),
        "score": ffi.from_buffer("int32_t[]", rows.score),
        "ownership": ffi.from_buffer("int8_t[]", rows.ownership),
        "kind": ffi.from_buffer("uint8_t[]", rows.kind),
        "root_value": ffi.from_buffer("int32_t[]", rows.root_value),
    }
    count = ffi.new("int32_t *")
    status = lib.go_rows_read(c_rules, block, len(block), ffi.new("go_rows *", buffers), n, count)
    if status != lib.GO_OK:
        check_block(rules, block)
    verify_status(status)
    return rows
