"""The server behind real pipes: every job is answered once, and it ends when its orders do."""

import errno
import io
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from native.network import Kernel, Network
from native.pipe import (
    CANARY_OF_LIFE,
    VERSION,
    Answer,
    AskCanary,
    CanaryAnswer,
    Failed,
    Finished,
    ForgetNetwork,
    LoadNetwork,
    Order,
    Play,
    Ready,
    Replay,
    Splitter,
    Stop,
    parse_answer,
    read_frame,
)
from native.pipe_job import PipeJob
from native.pool import Done, Job, Pool
from native.rules import Rules
from native.search import Player, SearchConfig
from native.server import Server

NET = Network.load(Network.first(bytes(32), 1, 16))


def job(number: int, net: Network | None = NET, cap: int = 24) -> Job:
    player = Player(net, bytes(32))
    config = SearchConfig(visits_full=20, visits_fast=20)
    rules = Rules(7, 7, 13, move_cap=cap)
    return Job(number, number, rules, config, bytes(32), number.to_bytes(32, "big"), player, player)


def long_job(number: int) -> Job:
    """A game that no test waits for the end of."""
    return replace(job(number, None, cap=140), config=SearchConfig(visits_full=60_000))


def played(each: Job) -> Done:
    with Pool(1, Kernel.SCALAR) as pool:
        pool.play(each)
        done = pool.wait(60)
    assert done is not None
    return done


class Engine:
    """An engine's process and both ends of its pipe."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self.process = process

    def say(self, *orders: Order) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(b"".join(order.to_stream() for order in orders))
        self.process.stdin.flush()

    def hear(self) -> Answer | None:
        assert self.process.stdout is not None
        data = read_frame(self.process.stdout)
        return None if data is None else parse_answer(data)

    def close(self) -> int:
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(20)


@contextmanager
def engine(*options: str) -> Iterator[Engine]:
    command = [sys.executable, "-m", "native.serve", *options]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            yield Engine(process)
        finally:
            process.kill()


def test_a_conversation() -> None:
    mine = job(5)
    expected = played(mine)
    other = Network.load(Network.first(bytes([1]) * 32, 1, 16))
    with engine("--kernel", "scalar", "--threads", "2", "--games", "4", "--nice", "1") as it:
        assert it.hear() == Ready(VERSION, "scalar", 2, 4)
        it.say(AskCanary(0), LoadNetwork(NET.digest, NET.file), Play(PipeJob.of(mine)))
        assert it.hear() == CanaryAnswer(0, True, "")
        assert it.hear() == Finished(expected)
        it.say(Replay(PipeJob.of(mine), expected.block))
        answer = it.hear()
        assert isinstance(answer, Finished)
        assert answer.done.is_ok
        assert answer.done.digests == expected.digests

        it.say(Play(PipeJob.of(job(6, other))))
        assert it.hear() == Failed(6, f"The engine does not have the network {other.digest.hex()[:16]}.")
        it.say(LoadNetwork(other.digest, NET.file), Play(PipeJob.of(job(7, other))))
        assert it.hear() == Failed(7, "A network's file is not the one that its digest names.")
        it.say(LoadNetwork(bytes(32), b"no network"), Play(PipeJob(job(8, None), bytes(32), None)))
        answer = it.hear()
        assert isinstance(answer, Failed)
        assert answer.id == 8
        it.say(LoadNetwork(NET.digest, NET.file[:-1]), LoadNetwork(NET.digest, NET.file), Play(PipeJob.of(mine)))
        assert it.hear() == Finished(expected)
        it.say(ForgetNetwork(NET.digest), Play(PipeJob.of(mine)))
        assert isinstance(it.hear(), Failed)
        it.say(Play(PipeJob.of(job(9, None))))
        assert isinstance(it.hear(), Finished)
        assert it.close() == 0


def test_a_network_that_is_forgotten_serves_the_jobs_under_way() -> None:
    mine = job(5)
    with engine() as it:
        it.say(LoadNetwork(NET.digest, NET.file), Play(PipeJob.of(mine)), ForgetNetwork(NET.digest))
        assert isinstance(it.hear(), Ready)
        answer = it.hear()
        assert isinstance(answer, Finished)
        assert answer.done.block == played(mine).block


def test_the_same_number_twice_is_refused() -> None:
    with engine("--kernel", "scalar") as it:
        it.say(Play(PipeJob.of(long_job(1))), Play(PipeJob.of(job(1, None))))
        assert isinstance(it.hear(), Ready)
        assert it.hear() == Failed(1, "A job with id 1 is under way.")
        assert it.close() == 0


def test_stop_answers_every_job() -> None:
    with engine() as it:
        it.say(*(Play(PipeJob.of(job(number, None))) for number in range(19)), Play(PipeJob.of(long_job(19))), Stop())
        assert isinstance(it.hear(), Ready)
        answers = []
        while isinstance(answer := it.hear(), Finished):
            answers.append(answer.done)
        assert answer == CanaryAnswer(CANARY_OF_LIFE, True, "")
        assert it.hear() is None
        assert {done.id for done in answers} == set(range(20))
        assert {done.id: done.is_stopped for done in answers}[19]
        assert it.process.wait(20) == 0


def test_a_stopped_game_goes_on_in_another_engine() -> None:
    mine = replace(job(1, cap=60), config=SearchConfig(visits_full=2000, visits_fast=2000))
    network, begun, lives, pause_s = LoadNetwork(NET.digest, NET.file), b"", 0, 0.06
    while lives < 4 or not begun:
        lives += 1
        with engine() as it:
            assert isinstance(it.hear(), Ready)
            it.say(network, Play(PipeJob.of(mine), begun))
            time.sleep(pause_s)
            it.say(Stop())
            answer = it.hear()
            assert isinstance(answer, Finished)
            assert answer.done.is_stopped
            assert len(answer.done.begun) >= len(begun)
            begun = answer.done.begun
            assert isinstance(it.hear(), CanaryAnswer)
            assert it.hear() is None
        if not begun:  # a busy machine has not searched the first ply
            assert pause_s < 30
            pause_s *= 2
    with engine() as it:
        assert isinstance(it.hear(), Ready)
        it.say(network, Play(PipeJob.of(mine), begun), Play(PipeJob.of(job(2)), begun))
        answers = [it.hear(), it.hear()]
        done = {answer.done.id: answer.done for answer in answers if isinstance(answer, Finished)}
        expected = played(mine)
        assert (done[1].block, done[1].digests) == (expected.block, expected.digests)
        assert done[2].is_mismatch


def test_the_end_of_the_orders_ends_it_in_the_middle_of_games() -> None:
    with engine("--kernel", "scalar") as it:
        it.say(*(Play(PipeJob.of(long_job(number))) for number in range(3)))
        assert isinstance(it.hear(), Ready)
        assert it.close() == 0


def test_nobody_reads_the_answers() -> None:
    """It ends without another order, and without the end of the orders."""
    with engine() as it:
        assert isinstance(it.hear(), Ready)
        assert it.process.stdout is not None
        it.process.stdout.close()
        it.say(Play(PipeJob.of(job(1, None))))
        assert it.process.wait(20) == 0
        assert it.process.stderr is not None
        assert it.process.stderr.read() == b"Nobody takes this engine's answers: Broken pipe.\n"


def test_an_engine_that_cannot_answer_ends() -> None:
    program = (
        "from native.pool import Pool; from native.serve import main\n"
        "def wait(self, timeout_s): raise MemoryError\n"
        "Pool.wait = wait; main()"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.wait(20) == 1
        assert process.stderr is not None
        assert process.stderr.read() == b"The engine cannot answer: MemoryError\n"


def test_a_canary_that_cannot_be_computed_accuses_nobody() -> None:
    program = (
        "from native import serve; from native.errors import EngineError\n"
        "def verify_kernel(kernel): raise EngineError('There is not enough memory.', 2)\n"
        "serve.verify_kernel = verify_kernel; serve.main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], input=AskCanary(1).to_stream(), capture_output=True, timeout=30
    )
    assert (done.returncode, done.stderr) == (1, b"The engine cannot answer: There is not enough memory.\n")
    (ready,) = Splitter().feed(done.stdout)
    assert isinstance(parse_answer(ready), Ready)


def test_nobody_reads_the_answers_and_orders_go_on() -> None:
    with engine("--kernel", "scalar") as it:
        assert isinstance(it.hear(), Ready)
        assert it.process.stdout is not None
        it.process.stdout.close()
        it.say(Play(PipeJob.of(job(1, None))), AskCanary(3))
        assert it.process.wait(20) == 0


class Deaf(io.BytesIO):
    """Takes one answer."""

    def write(self, data: object) -> int:
        if self.tell():
            raise BrokenPipeError(errno.EPIPE, "Broken pipe")
        return super().write(data)  # type: ignore[arg-type]


def test_games_end_when_nobody_takes_the_answers() -> None:
    read, write = os.pipe()
    long = replace(job(2, cap=140), config=SearchConfig(visits_full=60000))
    with os.fdopen(read, "rb") as reader, os.fdopen(write, "wb") as writer, Pool(2, Kernel.SCALAR) as pool:
        given_up: list[Exception] = []
        server = Server(pool, reader, Deaf(), lambda: None, Ready(VERSION, "scalar", 2, 1), given_up.append)
        running = threading.Thread(target=server.run)
        running.start()
        orders = (LoadNetwork(NET.digest, NET.file), Play(PipeJob.of(long)), Play(PipeJob.of(job(1, None))))
        writer.write(b"".join(order.to_stream() for order in orders))
        writer.flush()
        assert server._ended.wait(60)  # by the answer to 1
        done = pool.wait(60)
        assert done is not None
        assert (done.id, done.is_stopped) == (2, True)
        deadline = time.monotonic() + 60
        while not given_up and time.monotonic() < deadline:
            time.sleep(0.01)  # it is called after the games were stopped
        assert [type(error) for error in given_up] == [BrokenPipeError]
        writer.close()
        running.join(20)
        assert not running.is_alive()


def test_an_interrupt_is_the_nodes_affair() -> None:
    with engine() as it:
        assert isinstance(it.hear(), Ready)
        os.kill(it.process.pid, signal.SIGINT)
        it.say(AskCanary(3))
        assert it.hear() == CanaryAnswer(3, True, "")
        assert it.close() == 0


@pytest.mark.parametrize(
    "data", [b"\xff\xff\xff\xff", b"\x01\0\0\0\xc1", b"\x05\0\0\0", Ready(VERSION, "x", 1, 1).to_stream()]
)
def test_bytes_that_are_no_orders(data: bytes) -> None:
    done = subprocess.run([sys.executable, "-m", "native.serve"], input=data, capture_output=True, timeout=30)
    assert done.returncode == 2
    assert done.stderr.count(b"\n") == 1
    assert done.stderr.endswith(b".\n")


@pytest.mark.parametrize("streams", ["<&-", "</dev/null >&-"])
def test_streams_that_are_closed(streams: str) -> None:
    command = ["/bin/sh", "-c", f'"{sys.executable}" -m native.serve {streams}']
    done = subprocess.run(command, capture_output=True, timeout=30)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr == b"Standard input and output are no pipe to a node: Bad file descriptor.\n"


@pytest.mark.parametrize(
    "options",
    [["--kernel", "abacus"], ["--threads", "0"], ["--threads", "x"], ["--nice", "20"], ["--speed", "9"], ["x"]],
)
def test_options_that_it_cannot_follow(options: list[str]) -> None:
    command = [sys.executable, "-m", "native.serve", *options]
    done = subprocess.run(command, input=b"", capture_output=True, timeout=30)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.count(b"\n") == 1
