"""Pools that are evaluated outside, through their Python face: the same games, and what goes wrong."""

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import cast

import pytest

from native._engine import ffi, lib
from native.errors import EngineError
from native.network import Evaluator, Kernel, Network
from native.pool import Done, Job, Pool, Pull
from native.rules import Rules
from native.search import Player
from tests.vectors.search_generate import SELF_PLAY

CONFIG = replace(SELF_PLAY, visits_full=24, visits_fast=8)
SIDES = (7, 9, 5)
OUTPUT_BYTES = 726 * 4


@pytest.fixture(scope="module")
def players() -> list[Player]:
    networks = [Network.load(Network.first(bytes([i]) * 32, 1, 16)) for i in range(2)]
    return [Player(network, bytes([i]) * 32) for i, network in enumerate((*networks, None))]


def job(counter: int, black: Player, white: Player, side: int) -> Job:
    rules = Rules(side, side, 13, pass_alive=True, settled_end=True, move_cap=24)
    return Job(counter, counter, rules, CONFIG, bytes([7]) * 32, counter.to_bytes(32, "little"), black, white)


@pytest.fixture(scope="module")
def jobs(players: list[Player]) -> list[Job]:
    """Both networks, uniform players and three board sizes."""
    return [job(i, players[i % 3], players[i // 2 % 3], SIDES[i // 3 % 3]) for i in range(12)]


@pytest.fixture(scope="module")
def inside(jobs: list[Job]) -> dict[int, Done]:
    with Pool(1, Kernel.BEST) as pool:
        return play(pool, jobs)


def play(pool: Pool, jobs: list[Job]) -> dict[int, Done]:
    for one in jobs:
        pool.play(one)
    dones = [pool.wait(60) for _ in jobs]
    return {done.id: done for done in dones if done is not None}


def evaluate(pull: Pull) -> memoryview:
    """What the engine itself says, as bytes."""
    outputs, count = Evaluator(pull.network, Kernel.BEST).run_raw(pull.size, pull.size, bytes(pull.planes))
    assert count == pull.count
    return memoryview(ffi.buffer(outputs, count * ffi.sizeof("go_output")))


class Server:
    """Evaluates for a pool on a thread of its own."""

    def __init__(self, pool: Pool) -> None:
        self.counts: list[int] = []
        self._pool = pool
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._work)

    def _work(self) -> None:
        while not self._ended.is_set():
            pull = self._pool.pull(0.02)
            if pull is not None:
                self.counts.append(pull.count)
                self._pool.push(pull, evaluate(pull))

    @contextmanager
    def running(self) -> Iterator[None]:
        self._thread.start()
        try:
            yield
        finally:
            self._ended.set()
            self._thread.join()


@pytest.mark.parametrize(("threads", "games"), [(1, 1), (1, 8), (2, 3), (4, 32)])
def test_the_games_are_those_of_a_kernel(jobs: list[Job], inside: dict[int, Done], threads: int, games: int) -> None:
    with Pool.outside(threads, games) as pool:
        server = Server(pool)
        with server.running():
            assert play(pool, jobs) == inside
    assert sum(server.counts) == sum(done.evaluations for done in inside.values())


def test_several_threads_may_pull(jobs: list[Job], inside: dict[int, Done]) -> None:
    with Pool.outside(2, 6) as pool, ExitStack() as running:
        for _ in range(4):
            running.enter_context(Server(pool).running())
        assert play(pool, jobs) == inside


def test_a_buffer_that_another_thread_took_is_made_anew(players: list[Player]) -> None:
    class Taken(list[bytearray]):
        """Empty, though a look before said otherwise."""

        def __bool__(self) -> bool:
            return True

    with Pool.outside(1, 1) as pool:
        pool._spare = Taken()
        assert pool.pull(0) is None
        assert len(pool._spare) == 1


def test_blocks_replay_outside(jobs: list[Job], inside: dict[int, Done]) -> None:
    """Honest ones and edited ones, side by side."""
    with Pool.outside(1, 6) as pool, Server(pool).running():
        for one in jobs:
            block = bytearray(inside[one.id].block)
            block[-1] ^= one.id % 2  # the trace of the last ply
            pool.replay(one, bytes(block))
        for _ in jobs:
            done = pool.wait(60)
            assert done is not None
            assert done.digests == inside[done.id].digests
            if done.id % 2:
                assert done.is_mismatch
                assert done.bad_ply == done.plies - 1
            else:
                assert done.is_ok


def test_a_pull_has_whole_positions(players: list[Player]) -> None:
    with Pool.outside(1, 8) as pool:
        assert pool.pull(0) is None
        for i in range(8):
            pool.play(job(i, players[0], players[0], 9))
        pull = pool.pull(60)
        assert pull is not None
        assert pull.network is players[0].network
        assert (pull.size, len(pull.planes)) == (9, pull.count * lib.GO_FEATURE_PLANES * 81)
        assert 1 <= pull.count <= 8
        assert pull.planes[:81] == bytes([64]) * 81  # the plane of the board
        pool.push(pull, evaluate(pull))


def test_wrong_pushes_are_refused(players: list[Player]) -> None:
    with Pool.outside(1, 1) as pool:
        pool.play(job(0, players[0], players[0], 7))
        pull = pool.pull(60)
        assert pull is not None
        outputs = evaluate(pull)
        for wrong in (b"", outputs[:-4], bytes(outputs) + bytes(OUTPUT_BYTES)):
            with pytest.raises(EngineError, match="bytes of outputs"):
                pool.push(pull, wrong)
        with pytest.raises(EngineError, match="once"):
            pool.push(replace(pull, ticket=pull.ticket + 1), outputs)
        with pytest.raises(EngineError, match="once"):
            pool.push(replace(pull, count=2), bytes(2 * OUTPUT_BYTES))
        pool.push(pull, outputs)
        with pytest.raises(EngineError, match="once"):
            pool.push(pull, outputs)


def test_a_pool_with_a_kernel_has_nothing_to_pull(jobs: list[Job]) -> None:
    with Pool(1, Kernel.BEST) as pool:
        with pytest.raises(EngineError, match="by itself"):
            pool.pull(0)
        with pytest.raises(EngineError, match="once"):
            pool.push(Pull(1, cast(Network, jobs[0].black.network), 7, 1, bytearray()), bytes(OUTPUT_BYTES))


def test_stop_with_positions_out(players: list[Player]) -> None:
    with Pool.outside(2, 4) as pool:
        for i in range(20):
            pool.play(job(i, players[0], players[1], 7))
        pull = pool.pull(60)
        assert pull is not None
        pool.stop()
        dones = [pool.wait(60) for _ in range(20)]
        assert all(done is not None and done.is_stopped for done in dones)
        pool.push(pull, evaluate(pull))  # too late, and no harm
        assert pool.pull(0) is None


def test_close_with_positions_out(players: list[Player]) -> None:
    pool = Pool.outside(2, 4)
    for i in range(20):
        pool.play(job(i, players[0], players[1], 7))
    assert pool.pull(60) is not None
    pool.close()
    with pytest.raises(EngineError, match="closed"):
        pool.pull(0)
