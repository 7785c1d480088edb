"""One game as JSON and as SGF: moves, captures and searches are those of its block; SGF reads back; names lead to it."""

import json
from dataclasses import replace
from random import Random

import pytest

from native.game import Game
from native.rules import Colour
from node.disk.home import Home
from node.exchange.replay import play_record, record_rules
from node.exchange.sgf_reader import parse_record
from node.web.game_sgf import game_sgf
from node.web.games import schema as games_file
from node.web.games.played import played
from node.web.games.schema import put_beside
from node.web.model.schema import NAME, reading
from node.web.queries.game import answer, batch_row
from node.web.queries.records import to_json
from protocol.batch import Batch, game_leaf, unpack_batch
from protocol.errors import ProtocolError
from protocol.game_block import GameBlock
from protocol.merkle import leaf_hash
from tests.node.web.pages import visiting
from tests.verification.world import World
from verification.setup import game_rules


def batches(world: World) -> list[tuple[int, bytes, Batch]]:
    """Entry, header digest and games of each batch."""
    return [(each.index, each.digest, world.content(each)) for each in world.state.batches.all]


def longest(world: World) -> GameBlock:
    """The game of most moves."""
    return max((block for _, _, batch in batches(world) for block in batch.games), key=lambda block: block.header.moves)


async def test_a_training_game(shown: Home, shown_world: World) -> None:
    entry, digest, batch = batches(shown_world)[0]
    block, name = batch.games[1], leaf_hash(batch.leaves[1]).hex()
    async with visiting(shown) as visitor:
        found = (await visitor.get(f"/api/v1/games/{name}")).json()["answer"]
        moved = await visitor.get(f"/api/v1/games/{name[:10]}")
    assert moved.headers["location"] == f"/api/v1/games/{name}"
    header = shown_world.state.batches.all[0].header
    assert (found["hash"], found["kind"], found["fate"]) == (name, "training", "verified")
    assert (found["batch"]["index"], found["batch"]["digest"]) == (entry, digest.hex())
    assert (found["counter"], found["number"]) == (block.header.counter, 1)
    assert found["release"]["id"] == header.release.hex()
    assert found["contributor"]["key"] == header.peer.hex()
    assert found["contributor"]["name"] in ("ada", "bob")
    assert (found["size"], found["komi"], found["result"]) == (
        block.header.size,
        block.header.komi_half / 2,
        block.header.outcome,
    )
    assert [move["point"] for move in found["moves"]] == list(block.moves)
    assert found["fault"] == ""
    require_searches(found, block)


def require_searches(found: dict[str, object], block: GameBlock) -> None:
    """The moves' searches are the block's, from Black's view."""
    moves = found["moves"]
    assert isinstance(moves, list)
    for ply, move in enumerate(moves):
        assert move["colour"] == ("white" if ply % 2 else "black")
        search = move["search"]
        if ply not in block.plies:
            assert search is None
            continue
        full = bool(block.kinds[ply - block.header.opening_moves])
        assert search["kind"] == ("full" if full else "fast")
        assert tuple(search["visits"]) == block.visits(ply)
        assert (None if search["policy"] is None else sum(search["policy"])) == (65535 if full else None)
        winrate = (1 + block.value(ply) / 2**24) / 2
        assert search["black_winrate"] == pytest.approx(1 - winrate if ply % 2 else winrate, abs=1e-4)
        assert search["black_score"] == pytest.approx((-1) ** ply * block.score(ply) / 4096, abs=0.01)


async def test_a_gate_game_names_both_sides(shown: Home, shown_world: World) -> None:
    info = next(each for each in shown_world.state.gates.results if each.verdict is not None)
    batch = unpack_batch(shown_world.blobs[info.result.blob_digest], info.result.raw_len)
    gate = shown_world.state.gates.by_candidate(info.assignment.candidate)
    assert gate is not None
    async with visiting(shown) as visitor:
        for number, leaf in enumerate(batch.leaves[:2]):
            found = (await visitor.get(f"/api/v1/games/{leaf_hash(leaf).hex()}")).json()["answer"]
            assert found["kind"] == "gate"
            assert found["release"]["id"] == gate.base.id.hex()
            sides = (found["black"], found["white"])
            assert sides[number]["candidate"] == gate.index
            assert sides[1 - number]["release"] == gate.base.number
            assert found["contributor"]["key"] == info.result.player.hex()


async def test_a_board_is_made_of_moves_and_captures(shown: Home, shown_world: World) -> None:
    rules = shown_world.manifest.rules
    async with visiting(shown) as visitor:
        for _, _, batch in batches(shown_world)[:4]:
            for block, leaf in zip(batch.games, batch.leaves, strict=True):
                found = (await visitor.get(f"/api/v1/games/{leaf_hash(leaf).hex()}")).json()["answer"]
                board = [0] * block.header.size**2
                game = Game(game_rules(rules, block.header.size, block.header.komi_half))
                for move in found["moves"]:
                    game.play(move["point"])
                    if move["point"] < len(board):
                        board[move["point"]] = Colour[move["colour"].upper()]
                    for point in move["captured"]:
                        board[point] = 0
                    assert bytes(board) == game.stones()
                assert sum(found["ownership"]) - found["komi"] == block.header.score_half / 2


def test_what_a_move_captures(shown_world: World) -> None:
    block = longest(shown_world)
    size = block.header.size
    rules = game_rules(shown_world.manifest.rules, size, block.header.komi_half)
    caught = [1, 0, size, *block.moves[3:]]  # the stone in the corner
    assert [line.captured for line in played(GameBlock.parse(with_moves(block, caught)), rules).moves[:3]] == [
        (),
        (),
        (0,),
    ]
    size2 = size * size
    own = [2, 0, size, size2, size + 1, 1, *block.moves[6:]]  # White's two in the corner are taken by White itself
    found = played(GameBlock.parse(with_moves(block, own)), replace(rules, suicide=True))
    assert found.moves[5].captured == (0, 1)
    own_illegal = played(GameBlock.parse(with_moves(block, own)), replace(rules, suicide=False))
    assert "suicide" in own_illegal.fault


async def test_sgf_reads_back(shown: Home, shown_world: World) -> None:
    block = longest(shown_world)
    name = leaf_hash(game_leaf(block)).hex()
    async with visiting(shown) as visitor:
        answer = await visitor.get(f"/games/{name}.sgf")
        again = await visitor.get(f"/games/{name}.sgf", headers={"If-None-Match": answer.headers["etag"]})
        moved = await visitor.get(f"/games/{name[:8]}.sgf")
    assert answer.headers["content-type"] == "application/x-go-sgf"
    assert again.status_code == 304
    assert moved.headers["location"] == f"/games/{name}.sgf"
    record = parse_record(answer.content)
    assert [move.point for move in record.moves] == list(block.moves)
    assert (record.rows, record.komi_half, record.result) == (
        block.header.size,
        block.header.komi_half,
        block.header.outcome,
    )
    assert play_record(record, record_rules(record)).num_moves == block.header.moves
    searched = [move.comment for move in record.moves[block.header.opening_moves :]]
    assert all("search" in comment and "visits" in comment for comment in searched)
    assert answer.text.count("SBKV[") == answer.text.count("SBKS[") == block.header.plies
    assert name in answer.text
    assert "FF[4]" in answer.text


async def test_what_is_not_here(shown: Home) -> None:
    async with visiting(shown) as visitor:
        for path in (f"/games/{'0' * 64}", f"/games/{'0' * 64}.sgf", "/games/xyz", "/games/abc.sgf"):
            assert (await visitor.get(path)).status_code == 404, path


def test_a_block_that_breaks_the_rules_is_shown_up_to_there(shown_world: World) -> None:
    block = longest(shown_world)
    rules = game_rules(shown_world.manifest.rules, block.header.size, block.header.komi_half)
    moves = list(block.moves)
    moves[4] = moves[1]
    bad = GameBlock.parse(with_moves(block, moves))
    found = played(bad, rules)
    assert (len(found.moves), found.fault[:6]) == (4, "Move 5")
    assert "occupied" in found.fault
    passed = [block.header.size**2] * block.header.moves
    found = played(GameBlock.parse(with_moves(block, passed)), rules)
    assert (len(found.moves), found.fault) == (2, "Move 3 comes after the end of the game.")
    wild = GameBlock.parse(replace(block.header, komi_half=-32768).encode() + block.raw[24:])
    assert to_json(played(wild, rules))["moves"]


def test_whatever_a_block_says_is_told(shown: Home, shown_world: World) -> None:
    block, rng, told = longest(shown_world), Random(6), 0
    with reading(shown.directory / NAME) as db:
        put_beside(db, shown.directory / games_file.NAME)
        row = db.execute(batch_row("c.kind = ?") + " LIMIT 1", ("training",)).fetchone()
        for _ in range(300):
            data = bytearray(block.raw)
            for _ in range(rng.choice((1, 2, 10))):
                data[8 + rng.randrange(rng.choice((16, block.header.moves_end - 8, len(data) - 8)))] = rng.randrange(
                    256
                )
            try:
                bad = GameBlock.parse(bytes(data))
            except ProtocolError:
                continue
            found = answer(db, row, bytes(32), bad)
            assert json.dumps(to_json(found), allow_nan=False)
            assert len(parse_record(game_sgf(found)).moves) == len(found.moves)
            told += bool(found.moves)
    assert told > 50


def with_moves(block: GameBlock, moves: list[int]) -> bytes:
    """The block with other moves."""
    data = b"".join(move.to_bytes(2, "little") for move in moves)
    return block.raw[:24] + data + block.raw[block.header.moves_end :]
