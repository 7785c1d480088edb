"""Game blocks under the rules: rows of good ones, and the fault that each edit of one gives."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from native.errors import BlockError, EngineError
from native.game import FEATURE_PLANES, Game
from native.rows import check_block, read_rows
from native.rules import Colour, End, Rules, Scoring
from tests.native.blocks import game_block

RULES = Rules(4, 4, 3, pass_alive=True, settled_end=True, move_cap=48)
PASS = 16
MOVES = [5, 10, 6, 9, 4, 8, 7, 11, PASS, PASS]
POINTS, WIDTH = 16, 17
BLOCK = game_block(RULES, MOVES, opening_moves=2, kinds=bytes([1, 0, 1, 1, 0, 1, 1, 1]))
PLIES = 8


def test_rows_hold_what_the_game_says() -> None:
    rows = read_rows(RULES, BLOCK)
    assert (rows.size, rows.plies) == (4, PLIES)
    game = Game(RULES)
    for move in MOVES[:2]:
        game.play(move)
    policy = struct.unpack(f"={PLIES * WIDTH}H", rows.policy)
    opponent = struct.unpack(f"={PLIES * WIDTH}H", rows.opponent_policy)
    planes = FEATURE_PLANES * POINTS
    final = Game(RULES)
    for move in MOVES:
        final.play(move)
    for i in range(PLIES):
        assert rows.planes[i * planes : (i + 1) * planes] == game.features()
        own = policy[i * WIDTH : (i + 1) * WIDTH]
        assert sum(own) == (65535 if rows.kind[i] else 0)
        following = policy[(i + 1) * WIDTH : (i + 2) * WIDTH] or (0,) * WIDTH
        assert opponent[i * WIDTH : (i + 1) * WIDTH] == following
        black = game.to_move == Colour.BLACK
        score = struct.unpack_from("=i", rows.score, 4 * i)[0]
        assert score == final.score_half() * (1 if black else -1)
        assert struct.unpack_from("b", rows.value, i)[0] == (score > 0) - (score < 0)
        assert struct.unpack_from("=i", rows.root_value, 4 * i)[0] == 1000 * i - 500
        view = {Colour.EMPTY: 0, game.to_move: 1, game.to_move.other: -1}
        owned = struct.unpack_from(f"{POINTS}b", rows.ownership, i * POINTS)
        assert list(owned) == [view[Colour(own)] for own in final.owner()]
        game.play(MOVES[2 + i])
    assert bytes(rows.kind) == bytes([1, 0, 1, 1, 0, 1, 1, 1])


def edited(offset: int, form: str, value: int) -> bytes:
    block = bytearray(BLOCK)
    struct.pack_into(form, block, offset, value)
    return bytes(block)


MOVE_AT = 24
KIND_AT = MOVE_AT + 2 * len(MOVES)
VISITS_AT = KIND_AT + PLIES
TARGET_AT = VISITS_AT + 2 * PLIES * WIDTH
VALUE_AT = TARGET_AT + 2 * PLIES * WIDTH


@pytest.mark.parametrize(
    ("block", "ply"),
    [
        (b"", None),
        (BLOCK[:23], None),
        (BLOCK[:-1], None),
        (BLOCK + b"\0", None),
        (edited(8, "<B", 5), None),  # size
        (edited(8, "<B", 0), None),
        (edited(9, "<B", End.NONE), None),
        (edited(9, "<B", End.CAP), None),
        (edited(10, "<B", 0), None),  # result
        (edited(11, "<B", 3), None),  # opening moves
        (edited(11, "<B", 10), None),
        (edited(12, "<h", 5), None),  # komi
        (edited(12, "<h", -32768), None),
        (edited(16, "<i", -5), None),  # score
        (edited(16, "<i", 2**31 - 1), None),
        (edited(20, "<H", 9), None),  # moves
        (edited(22, "<H", 1), None),  # the zero field
        (edited(KIND_AT, "<B", 2), None),
        (edited(MOVE_AT, "<H", 17), 0),
        (edited(MOVE_AT + 2, "<H", 5), 1),  # occupied
        (edited(MOVE_AT + 6, "<H", 5), 3),
        (edited(MOVE_AT + 14, "<H", 65535), 7),
        (edited(KIND_AT, "<B", 0), 2),  # a fast ply has no target
        (edited(KIND_AT + 1, "<B", 1), 3),
        (edited(VISITS_AT + 2 * 5, "<H", 1), 2),  # visits on a stone
        (edited(TARGET_AT + 2 * 5, "<H", 1), 2),
        (edited(TARGET_AT + 2 * 6, "<H", 1), 2),  # the sum
        (edited(VALUE_AT + 4, "<i", (1 << 24) + 1), 3),
    ],
)
def test_every_edit_is_named(block: bytes, ply: int | None) -> None:
    for read in (check_block, read_rows):
        with pytest.raises(BlockError) as caught:
            read(RULES, block)
        assert caught.value.ply == ply
        assert str(caught.value).endswith(".")


def test_a_move_after_the_end_is_named() -> None:
    block = game_block(RULES, [*MOVES, 0], end=End.PASSES)
    with pytest.raises(BlockError, match=r"ply 10: The game is over\.") as caught:
        check_block(RULES, block)
    assert caught.value.ply == 10


def test_a_game_that_has_not_ended_is_refused() -> None:
    with pytest.raises(BlockError, match="end or score"):
        check_block(RULES, game_block(RULES, MOVES[:-1], end=End.PASSES))


@pytest.mark.parametrize(
    "rules",
    [Rules(4, 4, 5, move_cap=48), Rules(5, 5, 3, move_cap=48), Rules(4, 4, 3, move_cap=9)],
)
def test_other_rules_give_a_mismatch(rules: Rules) -> None:
    with pytest.raises(BlockError):
        read_rows(rules, BLOCK)


@pytest.mark.parametrize("rules", [Rules(4, 5, 3), Rules(4, 4, 3, scoring=Scoring.TERRITORY)])
def test_rules_that_no_run_has_are_refused(rules: Rules) -> None:
    with pytest.raises(EngineError):
        check_block(rules, BLOCK)


@given(st.binary(max_size=200))
def test_any_bytes_give_one_named_error(data: bytes) -> None:
    with pytest.raises(BlockError):
        read_rows(RULES, data)


@given(st.integers(0, len(BLOCK) - 1), st.integers(1, 255))
def test_any_changed_byte_is_judged(offset: int, flip: int) -> None:
    """Bytes that the rules do not speak of (counter, visits, trace hashes) may change; nothing may crash."""
    block = bytearray(BLOCK)
    block[offset] ^= flip
    try:
        check_block(RULES, bytes(block))
    except BlockError:
        return
    assert offset < 8 or 14 <= offset < 16 or offset >= VISITS_AT
