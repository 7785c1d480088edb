"""An engine whose leaves torch evaluates: its games are the native pool's, and it ends with its node."""

import hashlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import Mock

import pytest
import torch

from native.canary import WrongMachine, verify_outputs
from native.network import Kernel, Network
from native.pipe import (
    VERSION,
    Answer,
    AskCanary,
    CanaryAnswer,
    Failed,
    Finished,
    LoadNetwork,
    Order,
    Play,
    Ready,
    Replay,
    Stop,
    parse_answer,
    read_frame,
)
from native.pipe_job import PipeJob
from native.pool import Done, Job, Pool
from native.rules import Rules
from native.search import Player, SearchConfig
from trainer.serving import evaluator
from trainer.serving.evaluator import NotExact, Outputs
from trainer.serving.leaves import MAX_NETWORKS, Evaluators, Leaves

CONFIG = SearchConfig(
    visits_full=24,
    visits_fast=12,
    full_share_ppm=500_000,
    noise_weight_ppm=250_000,
    noise_alpha_micro=10_000_000,
    temperature_start_micro=800_000,
    temperature_end_micro=200_000,
    temperature_halflife=9,
)
FILES = (Network.first(bytes(32), 2, 16), Network.first(bytes([1]) * 32, 1, 32))
NETWORKS = tuple(map(Network.load, FILES))
WITHIN_S = 60


def job_of(number: int, size: int = 7) -> Job:
    """Self-play of either network, gate games, uniform evaluation: one after another."""
    rules = Rules(size, size, 15, pass_alive=True, settled_end=True, move_cap=40)
    pairs = ((NETWORKS[0], NETWORKS[0]), (NETWORKS[0], NETWORKS[1]), (NETWORKS[1], NETWORKS[1]), (None, None))
    black, white = (Player(network, bytes(32)) for network in pairs[number % len(pairs)])
    seed = hashlib.sha256(bytes([number])).digest()
    return Job(number, number, rules, CONFIG, bytes(32), seed, black, white, 0, (8, 16))


def jobs() -> list[Job]:
    """Games on two board sizes."""
    return [job_of(number, 7 if number < 8 else 9) for number in range(12)]


@pytest.fixture(scope="module")
def native_dones() -> dict[int, Done]:
    """The jobs as the scalar kernel plays them."""
    dones = {}
    with Pool(1, Kernel.SCALAR) as pool:
        for job in jobs():
            pool.play(job)
        while pool.pending:
            done = pool.wait(WITHIN_S)
            assert done is not None
            dones[done.id] = done
    return dones


class Engine:
    """A running `trainer.serving.serve`, spoken to as a node would."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process

    def say(self, *orders: Order) -> None:
        assert self.process.stdin is not None
        for order in orders:
            self.process.stdin.write(order.to_stream())
        self.process.stdin.flush()

    def hear(self) -> Answer | None:
        assert self.process.stdout is not None
        frame = read_frame(self.process.stdout)
        return None if frame is None else parse_answer(frame)

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()

    def load(self) -> None:
        self.say(*(LoadNetwork(network.digest, network.file) for network in NETWORKS))

    def done(self) -> Done:
        answer = self.hear()
        assert isinstance(answer, Finished)
        return answer.done


@contextmanager
def engine(*options: str) -> Iterator[Engine]:
    """Starts one; kills it when a test hangs or forgets it."""
    command = [sys.executable, "-m", "trainer.serving.serve", "--device", "cpu", *options]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        late = threading.Timer(WITHIN_S, process.kill)
        late.start()
        try:
            yield Engine(process)
        finally:
            late.cancel()
            process.kill()


def test_games_are_the_native_pools_and_stop_answers_everything(native_dones: dict[int, Done]) -> None:
    with engine("--threads", "2", "--games", "3") as torch_engine:
        assert torch_engine.hear() == Ready(VERSION, "torch-cpu", 2, 3)
        torch_engine.load()
        torch_engine.say(AskCanary(5))
        assert torch_engine.hear() == CanaryAnswer(5, True, "")
        torch_engine.say(*(Play(PipeJob.of(job)) for job in jobs()))
        dones = {done.id: done for done in (torch_engine.done() for _ in jobs())}
        assert {i: (done.block, done.digests) for i, done in dones.items()} == {
            i: (done.block, done.digests) for i, done in native_dones.items()
        }

        block = bytearray(dones[0].block)
        torch_engine.say(Replay(PipeJob.of(job_of(0)), bytes(block)))
        assert torch_engine.done().is_ok
        block[-1] ^= 1
        torch_engine.say(Replay(PipeJob.of(job_of(0)), bytes(block)))
        assert torch_engine.done().is_mismatch

        torch_engine.say(*(Play(PipeJob.of(job)) for job in jobs()), Stop())
        ends = [torch_engine.done() for _ in jobs()]
        assert sorted(done.id for done in ends) == list(range(12))
        assert any(done.is_stopped for done in ends)
        assert torch_engine.hear() == CanaryAnswer(0, True, "")
        assert torch_engine.hear() is None
        assert torch_engine.process.wait(WITHIN_S) == 0


def test_a_killed_engines_games_are_the_next_ones(native_dones: dict[int, Done]) -> None:
    with engine() as first:
        first.hear()
        first.load()
        first.say(*(Play(PipeJob.of(job)) for job in jobs()))
        first.done()
        first.process.kill()
        assert first.process.wait(WITHIN_S) == -signal.SIGKILL
    with engine("--games", "2") as second:
        second.hear()
        second.process.send_signal(signal.SIGINT)  # a terminal's Ctrl-C is the node's affair
        second.load()
        second.say(Play(PipeJob.of(job_of(1))))
        assert second.done().block == native_dones[1].block
        second.say(*(Play(PipeJob.of(job)) for job in jobs()[2:]))
        second.close()  # in the midst of games
        assert second.process.wait(WITHIN_S) == 0


def test_a_network_that_is_none_fails_its_jobs_alone() -> None:
    with engine() as torch_engine:
        torch_engine.hear()
        torch_engine.say(LoadNetwork(NETWORKS[0].digest, b"no network"), Play(PipeJob.of(job_of(0))))
        assert isinstance(torch_engine.hear(), Failed)
        torch_engine.say(Play(PipeJob.of(job_of(3))))
        assert torch_engine.done().is_ok


def refusal(*arguments: str) -> str:
    """What standard error says of a start with status 2."""
    done = subprocess.run([sys.executable, *arguments], stdin=subprocess.DEVNULL, capture_output=True, check=False)
    assert done.returncode == 2, done.stderr
    assert done.stdout == b""
    return done.stderr.decode()


def test_what_the_machine_lacks_is_one_sentence() -> None:
    assert refusal("-m", "trainer.serving.serve", "--device", "tpu") == "A device is one of cpu, cuda, not 'tpu'.\n"
    without = (
        "import sys; sys.modules['torch'] = None; from trainer.serving.serve import main; sys.argv[1:] = []; main()"
    )
    assert refusal("-c", without) == "A device needs torch: install gonode with its extra, `gonode[train]`.\n"


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a CUDA device")
def test_a_machine_without_a_cuda_device_says_so() -> None:
    said = refusal("-m", "trainer.serving.serve", "--device", "cuda")
    assert said == "This machine, or this build of torch, has no CUDA device.\n"


class Broken(Evaluators):
    """A device that fails at its first batch."""

    def run(self, network: Network, size: int, planes: bytes | bytearray) -> Outputs:
        raise RuntimeError("out of memory\nand more")


def test_a_device_that_fails_is_told_at_once() -> None:
    errors: list[Exception] = []
    told = threading.Event()

    def give_up(error: Exception) -> None:
        errors.append(error)
        told.set()

    with Pool.outside(1, 1) as pool, Leaves(pool, Broken(torch.device("cpu")), give_up):
        pool.play(job_of(0))
        assert told.wait(WITHIN_S)
    assert str(errors[0]).startswith("out of memory")


def test_a_failing_device_ends_the_process_with_one_sentence() -> None:
    code = "from trainer.serving.serve import _give_up; _give_up('cpu', RuntimeError('out of memory\\nand more'))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert done.returncode == 1
    assert done.stderr == f"The device cpu failed: out of memory{os.linesep}".encode()


def test_a_device_that_begins_to_compute_wrongly_fails_its_canaries(monkeypatch: pytest.MonkeyPatch) -> None:
    evaluators = Evaluators(torch.device("cpu"))
    verify_outputs(evaluators.outputs)
    evaluators = Evaluators(torch.device("cpu"))
    monkeypatch.setattr(evaluator, "verify_exact", Mock(side_effect=NotExact("This device is unwell.")))
    with pytest.raises(WrongMachine, match="unwell"):
        verify_outputs(evaluators.outputs)


def test_a_device_keeps_a_few_networks() -> None:
    evaluators, planes = Evaluators(torch.device("cpu")), bytes(20 * 49)
    wanted = evaluators.outputs(NETWORKS[0], 7, planes)
    for number in range(MAX_NETWORKS + 1):
        evaluators.run(Network.load(Network.first(bytes([number]) * 32, 1, 16)), 7, planes)
    assert len(evaluators._kept) == MAX_NETWORKS
    assert evaluators.outputs(NETWORKS[0], 7, planes) == wanted
