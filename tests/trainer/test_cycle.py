"""Whole cycles, as the coordinator starts them: learning, resuming after any death, and saying what is wrong."""

import dataclasses
import hashlib
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from native.network import Kernel, Network
from protocol.blob import blob_digest
from tests.trainer.conftest import job_maker
from trainer.__main__ import main
from trainer.cycle import RESULT, run, state_name
from trainer.errors import BadJob, BadTensors, Interrupted, LossNotFinite, LossSpike, NoRows
from trainer.events import Events
from trainer.export import NETWORK, WEIGHTS
from trainer.job import Job
from trainer.learning.learner import Learner
from trainer.learning.state import TrainState
from trainer.learning.tensors import TensorFile
from trainer.metrics import METRICS

Batches = list[dict[str, Any]]
Command = Callable[[list[str]], tuple[int, str, str]]
HOME = Path(__file__).parents[2]


def cycle(path: Path, is_stopping: Callable[[], bool] = lambda: False) -> list[dict[str, Any]]:
    """Runs a job in this process; its events."""
    stream = io.StringIO()
    run(Job.load(path), Events(stream), is_stopping)
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def interrupt_after(path: Path, steps: int) -> None:
    """Runs a job in this process for so many more steps, and then as after Ctrl-C."""
    asked = iter(range(10**6))
    first = len(Job.load(path).batches)  # before each batch of the window it is asked too
    with pytest.raises(Interrupted, match=r"Interrupted after \d+ of"):
        cycle(path, lambda: next(asked) >= first + steps)


def files(path: Path) -> dict[str, str]:
    """The files a job left, by SHA-256; what TensorBoard reads has times in it and is not repeatable."""
    out = Path(json.loads(path.read_text())["out"])
    return {
        file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in sorted(out.iterdir()) if file.is_file()
    }


def result_of(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((Path(json.loads(path.read_text())["out"]) / RESULT).read_text())
    return found


def start(path: Path) -> subprocess.Popen[str]:
    """The job as a process of its own."""
    command = [sys.executable, "-m", "trainer", "cycle", str(path)]
    return subprocess.Popen(command, cwd=HOME, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_for(found: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    """Until something is there while the process lives."""
    until = time.monotonic() + 60
    while not found():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < until
        time.sleep(0.002)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory, batches: Batches) -> Path:
    """A job of 60 steps that is done; look only."""
    path = job_maker(tmp_path_factory.mktemp("plain"))(batches)
    cycle(path)
    return path


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Iterator[Command]:
    """Runs the command line in this process: exit status, standard output, standard error."""
    kept = [(number, signal.getsignal(number)) for number in (signal.SIGINT, signal.SIGTERM)]

    def run_it(arguments: list[str]) -> tuple[int, str, str]:
        status = main(arguments)
        found = capsys.readouterr()
        return status, found.out, found.err

    yield run_it
    for number, handler in kept:
        signal.signal(number, handler)


def test_a_cycle_learns_and_its_network_plays(make_job: Any, batches: Batches) -> None:
    path = make_job(batches, SAMPLES=32 * 150, STATE_EVERY_STEPS=60)
    events = cycle(path)
    assert [event["event"] for event in events if event["event"] != "progress"] == ["exporting", "done"]
    result = result_of(path)
    out = Path(json.loads(path.read_text())["out"])
    assert sorted(files(path)) == sorted(
        [METRICS, NETWORK, WEIGHTS, RESULT, *(state_name(step) for step in (60, 120, 150))]
    )
    assert [point["step"] for point in result["states"]] == [60, 120, 150]
    for point in result["states"]:
        assert files(path)[state_name(point["step"])] == point["digest"]
    for name in ("network", "weights", "state"):
        assert files(path)[result[name]["path"]] == result[name]["digest"]

    first, *lines = [json.loads(line) for line in (out / METRICS).read_text().splitlines()]
    assert first == {"job": result["job"]}
    assert [line["step"] for line in lines] == list(range(10, 151, 10))
    for part in ("loss", "policy_loss", "opponent_policy_loss", "value_loss", "ownership_loss"):
        assert lines[-1][part] < lines[0][part]
    untrained = {"value_loss": 0.6931, "ownership_loss": 0.6931}
    for part, before in untrained.items():
        assert result["held_out_losses"][part] < before
    assert result["rounding"]["policy_divergence"] < 0.005
    assert (result["step"], result["steps"], result["samples"]) == (150, 150, 4800)

    network = Network.load((out / NETWORK).read_bytes())
    assert network.architecture.encode() == "b2c16"
    output = network.evaluate(Kernel.SCALAR, 7, 7, bytes(20 * 49))
    assert len(output[0].policy) == 50
    weights = TensorFile.parse((out / WEIGHTS).read_bytes())
    assert weights.facts == {"kind": "weights", "network": "b2c16", "step": 150}
    assert all(np.isfinite(array).all() for array in weights.tensors.values())


def test_the_same_job_gives_the_same_bytes(make_job: Any, batches: Batches, plain: Path) -> None:
    again = make_job(batches, "again")
    cycle(again)
    assert files(again) == files(plain)
    other = make_job(batches, "other", SEED="07" * 32)
    cycle(other)
    assert files(other)[NETWORK] != files(plain)[NETWORK]


def test_a_finished_job_is_not_done_again_unless_a_file_is_gone(make_job: Any, batches: Batches) -> None:
    path = make_job(batches)
    cycle(path)
    before = files(path)
    out = Path(json.loads(path.read_text())["out"])
    assert [event["event"] for event in cycle(path)] == ["done"]
    (out / NETWORK).write_bytes(b"damaged")
    assert [event["event"] for event in cycle(path)] == ["exporting", "done"]
    assert files(path) == before


def test_boards_of_two_sizes_train_together(make_job: Any, mixed_batches: Batches) -> None:
    path = make_job(mixed_batches, SAMPLES=32 * 40)
    cycle(path)
    result = result_of(path)
    assert result["rounding"]["rows"] == 256
    assert result["rounding"]["policy_divergence"] < 0.01
    network = Network.load((Path(json.loads(path.read_text())["out"]) / NETWORK).read_bytes())
    for size in (7, 9):
        assert len(network.evaluate(Kernel.SCALAR, size, size, bytes(20 * size * size))[0].policy) == size * size + 1


def test_a_cycle_goes_on_from_its_parents_state(make_job: Any, batches: Batches, plain: Path, tmp_path: Path) -> None:
    parent = plain.parent / "out" / result_of(plain)["state"]["path"]
    second = make_job(batches, "second", PARENT_STATE=str(parent), PARENT_STEP=60, SEED="05" * 32)
    cycle(second)
    result = result_of(second)
    assert (result["step"], result["steps"]) == (120, 60)
    assert result["parent_state"] == blob_digest(parent.read_bytes()).hex()
    assert [point["step"] for point in result["states"]] == [85, 110, 120]
    assert result["losses"]["loss"] < result_of(plain)["losses"]["loss"]
    wrong = make_job(batches, "wrong", PARENT_STATE=str(parent), PARENT_STEP=59)
    with pytest.raises(BadJob, match="step 60, not 59"):
        cycle(wrong)
    damaged = tmp_path / "damaged"
    damaged.write_bytes(parent.read_bytes()[:-1])
    with pytest.raises(BadJob, match="damaged"):
        cycle(make_job(batches, "wrong", PARENT_STATE=str(damaged), PARENT_STEP=60))


def test_an_interruption_saves_and_the_same_job_goes_on(make_job: Any, batches: Batches, plain: Path) -> None:
    cut = make_job(batches, "cut")
    for steps in (0, 33, 7, 12):
        interrupt_after(cut, steps)
    cycle(cut)
    assert files(cut) == files(plain)


def test_a_killed_cycle_ends_in_the_same_bytes(make_job: Any, batches: Batches) -> None:
    whole, killed = make_job(batches, "whole", SAMPLES=32 * 120), make_job(batches, "killed", SAMPLES=32 * 120)
    cycle(whole)
    out = Path(json.loads(killed.read_text())["out"])
    process = start(killed)
    for moment in (METRICS, state_name(75), NETWORK):
        wait_for((out / moment).exists, process)
        process.send_signal(signal.SIGSTOP)
        following = start(killed)
        assert following.stdout is not None
        told = json.loads(following.stdout.readline())
        assert (told["event"], told["text"][:28]) == ("note", "Another training is at work ")
        process.kill()
        process.communicate()
        assert process.returncode == -signal.SIGKILL
        process = following
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 0, stderr
    assert json.loads(stdout.splitlines()[-1])["event"] == "done"
    assert files(killed) == files(whole)


def test_sigint_exits_130_with_a_state(make_job: Any, batches: Batches) -> None:
    path = make_job(batches, SAMPLES=32 * 100_000, STATE_EVERY_STEPS=10**6)
    out = Path(json.loads(path.read_text())["out"])
    process = start(path)
    wait_for(lambda: (out / METRICS).exists() and (out / METRICS).stat().st_size > 100, process)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    assert len(stderr.splitlines()) == 1
    assert [file.name for file in out.glob("train_state-*")]


def test_a_cycle_whose_watcher_died_ends_in_silence(make_job: Any, batches: Batches) -> None:
    process = start(make_job(batches, SAMPLES=32 * 100_000))
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert process.wait(60) == 130
    assert process.stderr.read() == ""
    process.stderr.close()


def test_a_batch_that_cannot_be_read_is_named_and_skipped(make_job: Any, batches: Batches, tmp_path: Path) -> None:
    damaged = dict(batches[3], path=str(tmp_path / "damaged"))
    data = bytearray(Path(batches[3]["path"]).read_bytes())
    data[40] ^= 1
    (tmp_path / "damaged").write_bytes(data)
    missing = dict(batches[4], path=str(tmp_path / "missing"))
    short = dict(batches[5], raw_len=batches[5]["raw_len"] - 1)
    path = make_job([*batches[:3], damaged, missing, short, *batches[6:]])
    skipped = [event for event in cycle(path) if event["event"] == "skipped"]
    assert [event["batch"] for event in skipped] == [batches[i]["header_digest"][:16] for i in (3, 4, 5)]
    assert [word in event["why"] for word, event in zip(("not blob", "No such file", "limit"), skipped, strict=True)]
    result = result_of(path)
    assert [item["batch"] for item in result["skipped"]] == [batches[i]["header_digest"] for i in (3, 4, 5)]
    without = make_job([*batches[:3], *batches[6:]], "without")
    cycle(without)
    assert result_of(without)["rows"] == result["rows"]
    assert result_of(without)["headers_used"] == result["headers_used"]
    with pytest.raises(NoRows):
        cycle(make_job([damaged], "none"))


def test_games_that_break_the_rules_are_skipped(make_job: Any, batches: Batches, tmp_path: Path) -> None:
    from protocol.batch import parse_batch
    from protocol.blob import blob_digest
    from protocol.compress import compress, decompress

    raw = bytearray(decompress(Path(batches[0]["path"]).read_bytes(), 2**24))
    first = parse_batch(bytes(raw)).games[0]
    second_move = 16 + 24 + 2
    raw[second_move : second_move + 2] = raw[second_move - 2 : second_move]
    blob = compress(bytes(raw))
    (tmp_path / "forged").write_bytes(blob)
    forged = dict(batches[0], path=str(tmp_path / "forged"), blob_digest=blob_digest(blob).hex())
    skipped = [event for event in cycle(make_job([forged, *batches[1:]])) if event["event"] == "skipped"]
    assert first.header.plies > 2
    assert len(skipped) == 1
    assert "ply 1" in skipped[0]["why"]


def test_a_loss_that_explodes_stops_the_cycle_at_the_last_good_state(
    make_job: Any, batches: Batches, command: Command
) -> None:
    path = make_job(batches, learning_rate_micro=4_000_000_000, warmup_steps=0, gradient_clip_micro=0)
    with pytest.raises((LossNotFinite, LossSpike), match="last good state is that of step 0"):
        cycle(path)
    out = Path(json.loads(path.read_text())["out"])
    assert not (out / RESULT).exists()
    status, stdout, stderr = command(["cycle", str(path)])
    assert status == 1
    event = json.loads(stdout.splitlines()[-1])
    assert event["event"] == "failed"
    assert event["error"] in ("loss-not-finite", "loss-spike")
    assert len(stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "word"),
    [(["cycle", "nowhere.json"], "cannot be read"), (["cycle"], "Usage"), (["train", "job.json"], "Usage")],
)
def test_bad_input_is_one_sentence_and_status_2(arguments: list[str], word: str, command: Command) -> None:
    status, _, stderr = command(arguments)
    assert status == 2
    assert len(stderr.splitlines()) == 1
    assert word in stderr


def test_without_torch_it_says_what_to_install(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    status, _, stderr = command(["cycle", "job.json"])
    assert status == 2
    assert "gonode[train]" in stderr
    assert len(stderr.splitlines()) == 1


def test_a_folder_that_cannot_be_made(make_job: Any, batches: Batches, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(BadJob, match="cannot be made"):
        cycle(make_job(batches, OUT=str(tmp_path / "file" / "out")))


def test_a_parent_with_other_losses_is_refused(plain: Path) -> None:
    state, _ = TrainState.load(plain.parent / "out" / result_of(plain)["state"]["path"])
    with pytest.raises(BadTensors, match="other running losses"):
        Learner.resume(Job.load(plain).manifest, dataclasses.replace(state, running=state.running[:5]))


def test_states_of_another_job_are_not_taken(make_job: Any, batches: Batches) -> None:
    path = make_job(batches)
    cycle(path)
    expected = files(path)
    out = Path(json.loads(path.read_text())["out"])
    kept = out.parent / "kept"
    os.rename(out, kept)
    cycle(make_job(batches, SEED="09" * 32))
    other = files(path)
    shutil.copy(kept / state_name(25), out / state_name(25))
    cycle(make_job(batches, SEED="09" * 32))
    assert files(path)[NETWORK] == other[NETWORK]
    (out / state_name(25)).unlink()
    cycle(make_job(batches))
    assert files(path) == expected
