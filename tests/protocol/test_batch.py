"""Game batches: columns against their definition, every byte committed to, proofs, and hostile bytes."""

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol import batch, merkle
from protocol.batch import BatchLimits, encode_batch, parse_batch, unpack_batch
from protocol.compress import compress
from protocol.errors import BadProof, ParseError, ProtocolError, TooLarge
from protocol.game_block import GameBlock, GameHeader, PlyRecord
from tests.vectors.scenarios_games import example_block

BLOCKS = [example_block(counter, size=3, opening=2, plies=4) for counter in (5, 6, 7)]
RAW = encode_batch(BLOCKS)
GAMES = parse_batch(RAW)


def columns(block: bytes) -> dict[str, object]:
    """A block of `BLOCKS` read straight from the definition."""
    counter, size, end, result, opening, komi, opening_id, score, moves, zero = struct.unpack_from("<QBBBBhHiHH", block)
    points, plies = size * size + 1, moves - opening
    layout = f"<24x{moves}H{plies}B{plies * points}H{plies * points}H{plies}i{plies}i"
    fields = struct.unpack_from(layout, block)
    traces = block[struct.calcsize(layout) :]
    names = [("moves", moves), ("kinds", plies), ("visits", plies * points), ("policy", plies * points)]
    found: dict[str, object] = {
        "header": (counter, size, end, result, opening, komi, opening_id, score, moves),
        "zero": zero,
    }
    for name, length in [*names, ("value", plies), ("score", plies)]:
        found[name], fields = fields[:length], fields[length:]
    return {**found, "traces": [traces[32 * n : 32 * n + 32] for n in range(plies)], "points": points}


@settings(deadline=None, max_examples=80)
@given(st.integers(0, 2**64 - 5), st.integers(1, 19), st.integers(0, 6), st.integers(1, 6), st.integers(0, 3))
def test_batches_round_trip(counter: int, size: int, opening: int, plies: int, games: int) -> None:
    blocks = [example_block(counter + n, size, opening, plies) for n in range(games)]
    raw = encode_batch(blocks)
    found = parse_batch(raw)
    assert [game.raw for game in found.games] == blocks
    assert found.encode() == raw
    assert found.plies == plies * games
    for game in found.games:
        assert GameHeader.parse(game.raw) == game.header
        assert game.header.encode() == game.raw[:24]


@pytest.mark.parametrize("block", BLOCKS)
def test_columns(block: bytes) -> None:
    game, want = GameBlock.parse(block), columns(block)
    header = game.header
    found = (header.counter, header.size, header.end, header.result, header.opening_moves, header.komi_half)
    assert (*found, header.opening, header.score_half, header.moves) == want["header"]
    assert game.moves == want["moves"]
    assert tuple(game.kinds) == want["kinds"]
    points = 10
    for index, ply in enumerate(game.plies):
        visits = want["visits"][points * index : points * index + points]  # type: ignore[index]
        policy = want["policy"][points * index : points * index + points]  # type: ignore[index]
        value, score, trace = want["value"][index], want["score"][index], want["traces"][index]  # type: ignore[index]
        assert (game.visits(ply), game.policy_target(ply)) == (visits, policy)
        assert (game.value(ply), game.score(ply), game.trace_hash(ply)) == (value, score, trace)
        kind, move = game.kinds[index], game.moves[ply]
        record = struct.pack(f"<HHB{points}H{points}Hii", ply, move, kind, *visits, *policy, value, score) + trace
        assert game.record(ply) == record
        assert PlyRecord.parse(record, 3) == PlyRecord(ply, move, kind, visits, policy, value, score, trace)
    assert game.records() == tuple(game.record(ply) for ply in game.plies)


def test_roots_are_those_of_the_definition() -> None:
    leaves = []
    for block, game in zip(BLOCKS, GAMES.games, strict=True):
        root = merkle.root_of(game.record(ply) for ply in game.plies)
        assert batch.ply_root(game) == root
        leaves.append(block[: 24 + 2 * 6] + root)
    assert GAMES.leaves == tuple(leaves)
    assert batch.batch_root(GAMES) == merkle.root_of(leaves)
    assert batch.batch_root(parse_batch(encode_batch([]))) == merkle.EMPTY_ROOT


def test_every_byte_is_committed_to() -> None:
    root = batch.batch_root(GAMES)
    for at in range(len(RAW)):
        changed = RAW[:at] + bytes([RAW[at] ^ 1]) + RAW[at + 1 :]
        try:
            found = parse_batch(changed)
        except ProtocolError:
            continue
        assert batch.batch_root(found) != root


@settings(deadline=None, max_examples=300)
@given(st.binary(max_size=200), st.booleans())
def test_arbitrary_bytes_are_refused_by_name(data: bytes, started: bool) -> None:
    raw = RAW[:16] + data if started else data
    with pytest.raises(ProtocolError):
        parse_batch(raw)
    with pytest.raises(ProtocolError):
        PlyRecord.parse(data, 9)
    with pytest.raises(ProtocolError):
        batch.parse_game_leaf(data)


def test_every_prefix_is_refused() -> None:
    for end in range(len(RAW)):
        with pytest.raises(ParseError):
            parse_batch(RAW[:end])


def test_limits() -> None:
    parse_batch(RAW, BatchLimits(max_games=3, max_raw_bytes=len(RAW)))
    with pytest.raises(TooLarge):
        parse_batch(RAW, BatchLimits(max_games=2))
    with pytest.raises(TooLarge):
        parse_batch(RAW, BatchLimits(max_raw_bytes=len(RAW) - 1))
    with pytest.raises(TooLarge):
        parse_batch(RAW[:8] + (1025).to_bytes(4, "little") + RAW[12:])


def test_blobs() -> None:
    assert unpack_batch(compress(RAW), len(RAW)).encode() == RAW
    with pytest.raises(TooLarge):
        unpack_batch(compress(RAW), len(RAW) - 1)
    for damaged in (RAW, compress(RAW[:-1]), compress(RAW)[:-1], b""):
        with pytest.raises(ParseError):
            unpack_batch(damaged, len(RAW))


def test_proofs_of_every_ply() -> None:
    root = batch.batch_root(GAMES)
    for index, game in enumerate(GAMES.games):
        path = batch.game_path(GAMES, index)
        shown = batch.verify_game(GAMES.leaves[index], index, 3, path, root)
        assert (shown.header, shown.moves) == (game.header, game.moves)
        for ply in game.plies:
            record, ply_path = game.record(ply), batch.ply_path(game, ply)
            assert batch.verify_ply(record, ply_path, shown).visits == game.visits(ply)
            other = (ply - 1).to_bytes(2, "little") + record[2:]
            with pytest.raises(BadProof):
                batch.verify_ply(other, ply_path, shown)
        with pytest.raises(BadProof):
            batch.verify_game(GAMES.leaves[index], (index + 1) % 3, 3, path, root)


def test_a_record_whose_move_is_not_the_games_is_refused() -> None:
    game = GAMES.games[0]
    records = list(game.records())
    records[1] = records[1][:2] + ((game.moves[3] + 1) % 10).to_bytes(2, "little") + records[1][4:]
    tree = merkle.Tree(records)
    shown = batch.GameLeaf(game.header, game.moves, tree.root())
    with pytest.raises(BadProof, match="another move"):
        batch.verify_ply(records[1], tree.inclusion_proof(1), shown)


def test_plies_outside_the_searched_ones() -> None:
    game = GAMES.games[0]
    for ply in (-1, 0, 1, 6):
        for call in (game.visits, game.value, game.record, game.trace_hash, lambda ply: batch.ply_path(game, ply)):
            with pytest.raises(IndexError):
                call(ply)


def test_a_header_that_does_not_fit_its_columns() -> None:
    with pytest.raises(ParseError):
        GameHeader(0, 9, 1, 1, 0, 40_000, 0, 0, 10).encode()
