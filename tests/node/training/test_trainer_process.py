"""The trainer's process as a node watches it: restarted when it dies or hangs, given up without progress."""

import json
import os
import signal
import sys
import threading
import time
from pathlib import Path

import pytest
import trio

from node.training import trainer_process
from node.training.errors import TrainingFailed
from node.training.events import Event, Progress
from node.training.trainer_process import GIVE_UP_AFTER, train

SAID = Progress(1, 9, 2.0, 1.5, 0.5, 4321, 0.0, 8.0)
SAYS = f"echo '{json.dumps(SAID.to_json())}'\n"


def trainer_of(monkeypatch: pytest.MonkeyPatch, folder: Path, script: str) -> None:
    """Makes a shell script the trainer; `$0.lives` has a line for each of its lives."""
    path = folder / "trainer.sh"
    path.write_text(f"#!/bin/sh\necho life >> {path}.lives\n{script}", encoding="ascii")
    path.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(path))


def lives(folder: Path) -> int:
    return len((folder / "trainer.sh.lives").read_text().splitlines())


async def trained(folder: Path) -> list[Event]:
    """What a trainer reports until it is done."""
    reports: list[Event] = []

    async def report(event: Event) -> None:
        reports.append(event)

    with trio.fail_after(30):
        await train(folder / "job.json", report)
    return reports


async def test_one_that_hangs_is_ended_and_started_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(trainer_process, "SILENT_S", 0.5)
    hangs_once = f'[ "$(wc -l < {tmp_path}/trainer.sh.lives)" -gt 1 ] || exec sleep 1000\n'
    trainer_of(monkeypatch, tmp_path, f"{SAYS}{hangs_once}")
    assert await trained(tmp_path) == [SAID, SAID]
    assert lives(tmp_path) == 2


async def test_one_that_hangs_without_progress_is_given_up(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(trainer_process, "SILENT_S", 0.2)
    trainer_of(monkeypatch, tmp_path, "exec sleep 1000\n")
    with pytest.raises(TrainingFailed, match=r"ended 5 times without progress .* said nothing for 0.2 s"):
        await trained(tmp_path)
    assert lives(tmp_path) == GIVE_UP_AFTER


async def test_one_that_talks_may_take_long(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(trainer_process, "SILENT_S", 1.0)
    trainer_of(monkeypatch, tmp_path, f"{SAYS}sleep 0.7\n{SAYS}sleep 0.7\n{SAYS}")
    assert len(await trained(tmp_path)) == 3
    assert lives(tmp_path) == 1


async def test_a_refused_job_is_told_with_its_reason(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    trainer_of(monkeypatch, tmp_path, "echo 'The job names no window.' >&2\nexit 2\n")
    with pytest.raises(TrainingFailed, match=r"^The job names no window\.$"):
        await trained(tmp_path)
    assert lives(tmp_path) == 1


@pytest.mark.parametrize(("status", "is_of_the_job"), [(1, True), (2, False)])
async def test_a_named_error_is_told_with_its_name(
    status: int, is_of_the_job: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    says = 'echo \'{"event": "failed", "why": "It jumped.", "error": "loss-spike"}\'\necho "It jumped." >&2\n'
    trainer_of(monkeypatch, tmp_path, f"{says}exit {status}\n")
    with pytest.raises(TrainingFailed, match=r"^It jumped\.$") as failed:
        await trained(tmp_path)
    assert (failed.value.error, failed.value.is_of_the_job) == ("loss-spike", is_of_the_job)


async def test_what_ends_without_a_word_is_not_of_the_job(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    trainer_of(monkeypatch, tmp_path, "echo 'ZeroDivisionError: division by zero' >&2\nexit 1\n")
    with pytest.raises(TrainingFailed, match="ZeroDivisionError") as failed:
        await trained(tmp_path)
    assert not failed.value.is_of_the_job


async def test_one_that_hangs_takes_its_processes_with_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(trainer_process, "SILENT_S", 0.5)
    child = f"{{ sleep 1000 & echo $! > {tmp_path}/child; wait; }}\n"
    trainer_of(monkeypatch, tmp_path, f"{SAYS}if [ ! -f {tmp_path}/child ]; then {child}fi\n")
    await trained(tmp_path)
    pid = (tmp_path / "child").read_text().strip()
    with trio.fail_after(10):
        while Path(f"/proc/{pid}/stat").exists() and " Z " not in Path(f"/proc/{pid}/stat").read_text():
            await trio.sleep(0.01)


def test_another_interrupt_does_not_wait_for_one_that_hangs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """And leaves nothing behind: the trainer is ended, whatever it does."""
    asked = tmp_path / "asked"
    script = f"trap 'touch {asked}' INT\necho $$ > {tmp_path}/pid\n{SAYS}while :; do sleep 0.1; done\n"
    trainer_of(monkeypatch, tmp_path, script)

    def interrupt_again() -> None:
        while not asked.exists():  # so the trainer is being waited for
            time.sleep(0.01)
        signal.raise_signal(signal.SIGINT)

    async def main() -> None:
        async def report(event: Event) -> None:
            scope.cancel()  # as the first Ctrl-C does
            threading.Thread(target=interrupt_again, daemon=True).start()

        with trio.CancelScope() as scope:
            await train(tmp_path / "job.json", report, 600)

    with pytest.raises(KeyboardInterrupt):
        trio.run(main)
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)
