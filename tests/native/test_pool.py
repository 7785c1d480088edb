"""The pool through its Python face: games that do not depend on threads, order or kernel; replays that find each edit."""

import struct
import threading
from collections.abc import Iterator
from dataclasses import replace

import pytest

from native.errors import EngineError
from native.game import Game
from native.network import Kernel, Network
from native.pool import Done, Job, Pool
from native.rows import check_block, read_rows
from native.rules import Rules, Scoring
from native.search import Player, search_ply
from protocol.game_block import GameBlock
from tests.native.begun import begun_of
from tests.vectors.search_generate import SELF_PLAY

RULES = Rules(7, 7, 13, pass_alive=True, settled_end=True, move_cap=30)
CONFIG = replace(SELF_PLAY, visits_full=24, visits_fast=8)
CONFIG_DIGEST = bytes([7]) * 32


@pytest.fixture(scope="module")
def players() -> tuple[Player, Player]:
    networks = [Network.load(Network.first(bytes([i]) * 32, 1, 16)) for i in range(2)]
    return Player(networks[0], bytes([1]) * 32), Player(networks[1], bytes([2]) * 32)


def job(counter: int, player: Player, **changes: object) -> Job:
    seed = counter.to_bytes(32, "little")
    made = Job(counter, counter, RULES, CONFIG, CONFIG_DIGEST, seed, player, player, opening=5, opening_moves=(24, 16))
    return replace(made, **changes)  # type: ignore[arg-type]


def take(pool: Pool) -> Done:
    done = pool.wait(60)
    assert done is not None
    return done


def play(jobs: list[Job], threads: int = 1, kernel: Kernel = Kernel.BEST, games: int = 1) -> dict[int, Done]:
    with Pool(threads, kernel, games) as pool:
        for one in jobs:
            pool.play(one)
        return {done.id: done for done in (take(pool) for _ in jobs)}


@pytest.fixture(scope="module")
def honest(players: tuple[Player, Player]) -> Done:
    """A played game to replay."""
    return play([job(3, players[0])])[3]


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool(1, Kernel.BEST) as pool:
        yield pool


# ---- playing -----------------------------------------------------------------------------------------------


def test_a_begun_game_is_played_on(players: tuple[Player, Player], honest: Done, pool: Pool) -> None:
    mine = job(3, players[0])
    for plies in range(0, honest.plies, 5):
        pool.play(mine, begun_of(honest, plies))
        done = take(pool)
        assert (done.block, done.digests, done.plies) == (honest.block, honest.digests, honest.plies)
        assert done.visits == honest.visits
        assert plies == 0 or done.evaluations <= honest.evaluations
    ended = begun_of(honest, honest.plies)
    for data in (honest.block, ended, begun_of(honest, 7)[:-1], b"no game"):
        pool.play(mine, data)
        assert take(pool).is_mismatch
    pool.play(job(4, players[0]), begun_of(honest, 7))
    assert take(pool).is_mismatch


def test_games_depend_on_their_jobs_alone(players: tuple[Player, Player]) -> None:
    jobs = [job(counter, players[0]) for counter in range(6)]
    one = play(jobs, threads=1)
    assert play(jobs[::-1], threads=2) == one
    assert play(jobs[3:] + jobs[:3], threads=2, kernel=Kernel.SCALAR) == one
    assert play(jobs, threads=1, games=8) == one
    assert play(jobs[::-1], threads=4, games=2) == one
    assert len({done.block for done in one.values()}) == 6
    for done in one.values():
        assert done.is_ok
        assert done.plies == len(done.digests)
        assert done.visits >= 8 * done.plies
        assert 0 < done.evaluations < done.visits


def test_a_block_is_what_rules_protocol_and_trainer_read(players: tuple[Player, Player], honest: Done) -> None:
    check_block(RULES, honest.block)
    block = GameBlock.parse(honest.block)
    header = block.header
    assert (header.counter, header.size, header.opening, header.opening_moves) == (3, 7, 5, 2)
    assert header.komi_half == 13
    assert header.block_bytes == len(honest.block)
    assert block.moves[:2] == (24, 16)
    assert header.plies == honest.plies
    assert read_rows(RULES, honest.block).kind == block.kinds


def test_a_game_is_its_plies_searched_one_by_one(players: tuple[Player, Player], honest: Done) -> None:
    block = GameBlock.parse(honest.block)
    game = Game(RULES)
    for move in block.moves[:2]:
        game.play(move)
    for ply, digest in zip(block.plies, honest.digests, strict=True):
        found = search_ply(players[0], Kernel.SCALAR, CONFIG, CONFIG_DIGEST, (3).to_bytes(32, "little"), game)
        assert found.record() == block.record(ply)
        assert found.digest == digest
        game.play(found.move)
    assert game.end == block.header.end
    assert game.score_half() == block.header.score_half


def test_gate_games_use_the_network_to_move(players: tuple[Player, Player], pool: Pool) -> None:
    black, white = players
    mixed = job(1, black, white=white)
    pool.play(mixed)
    done = take(pool)
    block = GameBlock.parse(done.block)
    game = Game(RULES)
    for move in block.moves[:2]:
        game.play(move)
    for ply in block.plies[:4]:
        player = black if ply % 2 == 0 else white
        found = search_ply(player, Kernel.BEST, CONFIG, CONFIG_DIGEST, mixed.game_seed, game)
        assert found.record() == block.record(ply)
        game.play(found.move)
    pool.replay(mixed, done.block)
    assert take(pool).is_ok
    pool.replay(job(1, black), done.block)
    assert take(pool).bad_ply == 3


def test_uniform_games_need_no_network(pool: Pool) -> None:
    pool.play(job(0, Player(None, bytes(32)), opening_moves=()))
    done = take(pool)
    assert done.is_ok
    assert done.evaluations == 0
    check_block(RULES, done.block)


# ---- replay ------------------------------------------------------------------------------------------------


def column_offsets(block: GameBlock, ply: int) -> dict[str, int]:
    """Where the fields of a searched ply lie in its block."""
    header, index = block.header, ply - block.header.opening_moves
    n, row = header.plies, 2 * header.points
    kind = header.moves_end
    visits = kind + n
    policy = visits + row * n
    value = policy + row * n
    return {
        "move": 24 + 2 * ply,
        "kind": kind + index,
        "visits": visits + row * index + 2 * (ply % header.points),
        "policy": policy + row * index + 2 * (ply % header.points),
        "value": value + 4 * index,
        "score": value + 4 * n + 4 * index,
        "trace": value + 8 * n + 32 * index + 13,
    }


@pytest.mark.parametrize("kernel", Kernel.available())
def test_an_honest_block_replays(players: tuple[Player, Player], honest: Done, kernel: Kernel) -> None:
    with Pool(1, kernel) as pool:
        pool.replay(job(3, players[0]), honest.block)
        done = take(pool)
    assert done.is_ok
    assert done.bad_ply == -1
    assert done.digests == honest.digests
    assert done.block == b""
    assert done.evaluations == honest.evaluations


@pytest.mark.parametrize("field", ["move", "kind", "visits", "policy", "value", "score", "trace"])
@pytest.mark.parametrize("place", ["first", "middle", "last"])
def test_an_edit_is_found_at_its_ply(
    players: tuple[Player, Player], honest: Done, pool: Pool, field: str, place: str
) -> None:
    block = GameBlock.parse(honest.block)
    plies = block.plies
    ply = {"first": plies[0], "middle": plies[len(plies) // 2], "last": plies[-1]}[place]
    edited = bytearray(honest.block)
    edited[column_offsets(block, ply)[field]] ^= 1
    pool.replay(job(3, players[0]), bytes(edited))
    done = take(pool)
    assert done.is_mismatch
    assert done.bad_ply == ply
    assert done.plies == ply - plies[0] + 1
    assert done.digests == honest.digests[: done.plies]
    assert str(ply) in done.sentence


def edited_header(block: bytes, **changes: int) -> bytes:
    return replace(GameBlock.parse(block).header, **changes).encode() + block[24:]  # type: ignore[arg-type]


def test_header_edits_are_found_outside_the_plies(players: tuple[Player, Player], honest: Done, pool: Pool) -> None:
    header = GameBlock.parse(honest.block).header
    away = 2 if header.score_half > 0 else -2
    edits = [
        edited_header(honest.block, counter=4),
        edited_header(honest.block, end=header.end % 3 + 1),
        edited_header(honest.block, result=(header.result + 1) % 3),
        edited_header(honest.block, score_half=header.score_half + away),
        edited_header(honest.block, opening=6),
        honest.block[:24] + struct.pack("<H", 25) + honest.block[26:],
        honest.block[:-1],
        honest.block + b"\0",
        b"",
    ]
    for edit in edits:
        pool.replay(job(3, players[0]), edit)
        done = take(pool)
        assert done.is_mismatch
        assert done.bad_ply == -2


def test_a_block_cut_before_the_end_is_found(players: tuple[Player, Player], honest: Done, pool: Pool) -> None:
    """Every kept ply is honest, but the game was not over."""
    block = GameBlock.parse(honest.block)
    keep, n, row = honest.plies - 3, honest.plies, 2 * block.header.points
    raw, at = honest.block, block.header.moves_end
    header = replace(block.header, moves=block.header.moves - 3)
    cut = header.encode() + raw[24 : at - 6]
    for width in (1, row, row, 4, 4, 32):
        cut += raw[at : at + width * keep]
        at += width * n
    pool.replay(job(3, players[0]), cut)
    done = take(pool)
    assert done.is_mismatch
    assert done.bad_ply == -2
    assert done.plies == keep


@pytest.mark.parametrize(
    "change",
    [
        {"game_seed": bytes([9]) * 32},
        {"config_digest": bytes(32)},
        {"config": replace(CONFIG, cpuct_micro=1_600_000)},
    ],
    ids=lambda change: next(iter(change)),
)
def test_another_job_is_another_game(
    players: tuple[Player, Player], honest: Done, pool: Pool, change: dict[str, object]
) -> None:
    pool.replay(job(3, players[0], **change), honest.block)
    done = take(pool)
    assert done.is_mismatch
    assert done.bad_ply >= 2


# ---- jobs, stop, close -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        {"rules": Rules(7, 9, 13, move_cap=10)},
        {"rules": Rules(7, 7, 13)},
        {"rules": Rules(7, 7, 13, scoring=Scoring.TERRITORY, move_cap=10)},
        {"opening_moves": (50,)},
        {"opening_moves": tuple(range(65))},
        {"game_seed": b"x"},
        {"id": -1},
    ],
    ids=str,
)
def test_a_job_that_cannot_be_played_is_refused(players: tuple[Player, Player], change: dict[str, object]) -> None:
    with pytest.raises(EngineError):
        job(0, players[0], **change)


def test_an_illegal_opening_comes_back_with_its_reason(players: tuple[Player, Player], pool: Pool) -> None:
    pool.play(job(0, players[0], opening_moves=(3, 3)))
    done = take(pool)
    assert not done.is_ok
    assert not done.is_mismatch
    assert (done.plies, done.block, done.digests) == (0, b"", ())
    assert done.sentence.endswith(".")


def test_one_id_is_under_way_once(players: tuple[Player, Player]) -> None:
    with Pool(1, Kernel.BEST) as pool:
        pool.play(job(0, players[0]))
        with pytest.raises(EngineError, match="under way"):
            pool.play(job(0, players[0]))
        assert pool.pending == 1
        assert take(pool).is_ok
        assert pool.pending == 0
        pool.play(job(0, players[0]))
        assert take(pool).is_ok


def test_stop_ends_long_searches_soon(players: tuple[Player, Player]) -> None:
    long = replace(CONFIG, visits_full=65535, visits_fast=65535)
    with Pool(2, Kernel.SCALAR) as pool:
        for counter in range(4):
            pool.play(job(counter, players[0], config=long))
        assert pool.wait(0.05) is None
        pool.stop()
        dones = [take(pool) for _ in range(4)]
        assert all(done.is_stopped and done.block == b"" for done in dones)
        with pytest.raises(EngineError):
            pool.play(job(9, players[0]))


def test_close_while_games_run(players: tuple[Player, Player]) -> None:
    pool = Pool(2, Kernel.SCALAR)
    for counter in range(5):
        pool.play(job(counter, players[0], config=replace(CONFIG, visits_full=65535, visits_fast=65535)))
    pool.close()
    pool.close()
    with pytest.raises(EngineError, match="closed"):
        pool.wait(0)


def test_wait_blocks_without_the_gil(players: tuple[Player, Player]) -> None:
    """Python code goes on while another thread waits in the engine."""
    with Pool(1, Kernel.BEST) as pool:
        waited: list[Done | None] = []
        waiter = threading.Thread(target=lambda: waited.append(pool.wait(60)))
        waiter.start()
        pool.play(job(0, players[0]))
        waiter.join(60)
        assert waited[0] is not None
        assert waited[0].is_ok


def test_bad_pools_are_refused() -> None:
    for threads, games in ((0, 1), (1025, 1), (1, 0), (1, 1025)):
        with pytest.raises(EngineError, match="1 to 1024"):
            Pool(threads, Kernel.BEST, games)
    missing = [kernel for kernel in Kernel if kernel not in Kernel.available() and kernel != Kernel.BEST]
    for kernel in missing:
        with pytest.raises(EngineError):
            Pool(1, kernel)
