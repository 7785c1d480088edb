"""Packed games: they hold what a block's rows say, for any game, symmetry and canvas; other bytes are refused."""

from __future__ import annotations

import struct
from array import array
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from native.errors import BlockError, EngineError
from native.game import FEATURE_PLANES, Game
from native.packed import DRAWN_BYTES, MinibatchBuffers, Segments, gather, pack_game, packed_facts
from native.rows import read_rows
from native.rules import End, Ko, Rules
from tests.native.blocks import game_block

RULES = Rules(4, 4, 3, pass_alive=True, settled_end=True, move_cap=48)
MOVES = [5, 10, 6, 9, 4, 8, 7, 11, 16, 16]
BLOCK = game_block(RULES, MOVES, opening_moves=2, kinds=bytes([1, 0, 1, 1, 0, 1, 1, 1]))
GAME = pack_game(RULES, BLOCK)
PLIES = 8


def drawn(rows: list[tuple[int, int, int, int]]) -> bytes:
    """Rows of (offset, length, ply, symmetry) in segment 0."""
    return b"".join(struct.pack("=QQiiii", at, length, 0, ply, k, 0) for at, length, ply, k in rows)


def buffers(count: int, canvas: int) -> MinibatchBuffers:
    """Arrays of the right lengths, filled with nonsense."""
    points = canvas * canvas
    floats = {
        "planes": 20 * points,
        "policy": points + 1,
        "opponent_policy": points + 1,
        "ownership": points,
        "board": points,
    }
    named = {
        name: array("f", [7.0] * (count * floats.get(name, 1))) for name in (*floats, "result", "root_value", "score")
    }
    return MinibatchBuffers(**named, legal=bytearray(b"\7" * (count * (points + 1))))


def source(size: int, k: int, row: int, col: int) -> int:
    """The point of a row's own board that symmetry k takes to this place."""
    r, c = size - 1 - row if k & 1 else row, size - 1 - col if k & 2 else col
    return c * size + r if k & 4 else r * size + c


@st.composite
def games(draw: st.DrawFn) -> tuple[Rules, bytes]:
    """A random game of any size from 2 to 9, and its block."""
    size = draw(st.integers(2, 9))
    ko = draw(st.sampled_from(list(Ko)))
    rules = Rules(size, size, draw(st.integers(-20, 20)), ko=ko, suicide=draw(st.booleans()), move_cap=40)
    game, moves, chance = Game(rules), [], Random(draw(st.integers(0, 2**32)))
    while game.end == End.NONE:
        legal = [move for move, fine in enumerate(game.legal()) if fine]
        moves.append(chance.choice(legal))
        game.play(moves[-1])
    opening = draw(st.integers(0, min(3, len(moves) - 1)))
    kinds = bytes(chance.choice((0, 1)) for _ in moves[opening:])
    return rules, game_block(rules, moves, opening_moves=opening, kinds=kinds)


@settings(max_examples=30, deadline=None)
@given(games(), st.integers(0, 7), st.integers(0, 3))
def test_any_game_is_laid_out_as_its_rows_say(played: tuple[Rules, bytes], k: int, more: int) -> None:
    rules, block = played
    packed, rows = pack_game(rules, block), read_rows(rules, block)
    facts = packed_facts(packed)
    assert (facts.size, facts.plies, facts.bad_policy, facts.bad_value) == (rows.size, rows.plies, None, None)
    size, n, points, canvas = rows.size, rows.plies, rows.size**2, rows.size + more
    out = buffers(n, canvas)
    gather(Segments([b"xyz" + packed]), drawn([(3, len(packed), ply, k) for ply in range(n)]), canvas, out)
    planes, ownership = memoryview(out.planes), memoryview(out.ownership)  # type: ignore[arg-type]
    policies = {name: memoryview(getattr(out, name)) for name in ("policy", "opponent_policy")}
    for ply in range(n):
        for cell in range(canvas * canvas):
            row, col = divmod(cell, canvas)
            on = row < size and col < size
            at = source(size, k, row, col) if on else 0
            got = planes[(ply * canvas**2 + cell) * 20 : (ply * canvas**2 + cell + 1) * 20].tolist()
            wanted = [
                rows.planes[(ply * 20 + plane) * points + at] / 64 if on else 0.0 for plane in range(FEATURE_PLANES)
            ]
            assert got == wanted
            owned = struct.unpack_from("b", rows.ownership, ply * points + at)[0] if on else 0
            assert ownership[ply * canvas**2 + cell] == owned
            for name, policy in policies.items():
                raw = struct.unpack_from("=H", getattr(rows, name), 2 * (ply * (points + 1) + at))[0] if on else 0
                assert policy[ply * (canvas**2 + 1) + cell] == pytest.approx(raw / 65535, rel=1e-6)
        assert out.result[ply] == struct.unpack_from("b", rows.value, ply)[0]  # type: ignore[index]
        assert out.score[ply] == struct.unpack_from("=i", rows.score, 4 * ply)[0] / 2  # type: ignore[index]
        assert out.root_value[ply] == struct.unpack_from("=i", rows.root_value, 4 * ply)[0] / 2**24  # type: ignore[index]


def test_games_of_the_same_moves_have_one_name() -> None:
    facts = packed_facts(GAME)
    assert (facts.size, facts.plies, facts.moves) == (4, PLIES, len(MOVES))
    assert len(facts.name) == 16
    assert packed_facts(pack_game(RULES, game_block(RULES, MOVES))).name == facts.name
    other = [5, 10, 6, 9, 4, 8, 11, 7, 16, 16]
    assert packed_facts(pack_game(RULES, game_block(RULES, other))).name != facts.name


def test_a_packed_game_takes_a_tenth_of_its_planes() -> None:
    rules = Rules(9, 9, 15, move_cap=60)
    game = Game(rules)
    moves = list(range(0, 81, 2))
    for move in moves:
        game.play(move)
    block = game_block(rules, [*moves, 81, 81])
    assert len(pack_game(rules, block)) < read_rows(rules, block).plies * 20 * 81 / 10


def test_a_block_that_breaks_the_rules_is_named() -> None:
    with pytest.raises(BlockError, match="ply 1"):
        pack_game(RULES, game_block(RULES, MOVES)[:26] + BLOCK[24:26] + game_block(RULES, MOVES)[28:])
    for block in (b"", BLOCK[:-1], BLOCK + b"\0"):
        with pytest.raises(BlockError):
            pack_game(RULES, block)
    with pytest.raises(BlockError):
        pack_game(Rules(5, 5, 3), BLOCK)


@given(st.binary(max_size=300))
def test_any_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(EngineError):
        packed_facts(data)


@given(st.integers(0, len(GAME) - 1), st.integers(1, 255), st.integers(0, PLIES - 1))
def test_any_changed_byte_is_judged_or_laid_out(offset: int, flip: int, ply: int) -> None:
    damaged = bytearray(GAME)
    damaged[offset] ^= flip
    try:
        facts = packed_facts(bytes(damaged))
    except EngineError:
        facts = None
    try:
        gather(Segments([bytes(damaged)]), drawn([(0, len(damaged), ply, 3)]), 4, buffers(1, 4))
    except EngineError:
        assert facts is None or (facts.size, facts.plies) != (4, PLIES)


def test_rows_outside_are_refused() -> None:
    segments, whole = Segments([GAME]), len(GAME)
    for row in [(1, whole, 0, 0), (0, whole + 1, 0, 0), (0, whole, PLIES, 0), (0, whole, -1, 0), (0, whole, 0, 8)]:
        with pytest.raises(EngineError):
            gather(segments, drawn([row]), 4, buffers(1, 4))
    with pytest.raises(EngineError):
        gather(segments, drawn([(0, whole, 0, 0)]), 3, buffers(1, 3))


def test_buffers_of_another_length_are_refused() -> None:
    assert len(drawn([(0, 0, 0, 0)])) == DRAWN_BYTES
    rows = drawn([(0, len(GAME), 0, 0)])
    for count, canvas, given_rows in ((2, 4, rows), (1, 5, rows), (1, 4, rows[:-1])):
        with pytest.raises(ValueError, match="buffer"):
            gather(Segments([GAME]), given_rows, 4, buffers(count, canvas))
