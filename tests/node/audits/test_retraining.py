"""Training repeated from what is published: honest cycles bit for bit, lies by name, other machines by their distance."""

import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

import pytest
import torch

from node.audits import retraining
from node.audits.retraining import Retraining, environment_of
from node.disk.blob_store import BlobStore
from node.training.errors import TrainingFailed
from node.training.events import parse_event
from node.training.job_file import TrainingJob
from node.training.result import load_result
from node.training.train_record import Begun, train_record
from node.training.trainer_process import Report
from protocol.blob import blob_digest
from protocol.layout import blob_path
from protocol.manifest import Manifest
from protocol.window import StatePoint, TrainRecord
from tests.verification.manifests import digest_of, small_manifest
from tests.verification.memory_reader import MemoryReader
from tests.verification.world import World
from trainer import compare, cycle
from trainer.errors import BadTensors, TrainerError
from trainer.events import Events
from trainer.job import Job
from verification import training
from verification.audit.audit import AuditOptions, Check, audit
from verification.audit.folder import AuditFault, Folder
from verification.audit.repetition import Distance, Task
from verification.audit.retrain import audit_retrain
from verification.cycles import WindowInfo
from verification.identities import BatchInfo
from verification.training import CyclePlan, cycle_samples, plan_of

EVERY = 10
"""Steps between recorded states in these tests."""
WRONG_SEED = digest_of("wrong seed")

Lie = Callable[[TrainRecord], TrainRecord]


def manifest() -> Manifest:
    """Cycles of a few dozen steps, gated without a game."""
    small = small_manifest()
    policy = replace(
        small.training,
        minibatch=16,
        quantised_share_ppm=300_000,
        held_out_ppm=400_000,
        most_policy_divergence_micro=1_000_000,
        most_value_error_micro=1_000_000,
        least_same_move_ppm=0,
    )
    window = replace(small.window, first_rows=150, floor_rows=60)
    return replace(small, training=policy, window=window, gate=replace(small.gate, kind="always"))


async def inline(job: Path, report: Report, stop_within_s: float, environment: dict[str, str]) -> None:
    """A cycle in this process, as `node.training.trainer_process.train`."""
    stream = io.StringIO()
    try:
        cycle.run(Job.load(job), Events(stream), lambda: False)
    except TrainerError as error:
        raise TrainingFailed(str(error), error.exit_status, error.name) from error
    for line in stream.getvalue().splitlines():
        event = parse_event(line.encode())
        if event is not None:
            await report(event)


def inline_compared(job: Path, folder: Path) -> Distance:
    """The comparison in this process, as `node.audits.retraining.compared`."""
    try:
        return retraining.distance_of(compare.compare(Job.load(job), folder, Events(io.StringIO())))
    except BadTensors as error:
        raise AuditFault(f"what is logged cannot be compared with. {error}") from error


@pytest.fixture(scope="module", autouse=True)
def short_cycles() -> Iterator[None]:
    """States at few steps."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (training, retraining):
            patch.setattr(module, "STATE_EVERY_STEPS", EVERY)
        yield


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """The trainer in this process."""
    monkeypatch.setattr(retraining, "train", inline)
    monkeypatch.setattr(retraining, "compared", inline_compared)
    monkeypatch.setattr(retraining, "WORKERS", 0)


@dataclass(frozen=True)
class Trained:
    """What a cycle gave: its record and the files that it names."""

    record: TrainRecord
    blobs: dict[bytes, bytes]


class Runs:
    """Runs of two cycles with the same bytes but for what the second coordinator lies about; trainings are done once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._done: dict[str, Trained] = {}

    def run(self, lie: Lie = lambda record: record, how: str = "", more: tuple[bytes, ...] = ()) -> World:
        """The second cycle is trained as `how` says, and its record is changed by `lie`; `more` blobs are published."""
        world = World(manifest())
        ada = world.register("ada")
        for number in (1, 2):
            while world.state.due_window() is None:
                world.batch(ada)
            world.commit()
            window = world.state.windows[-1]
            name = f"{number}{how}" if number == 2 else "1"
            if name not in self._done:
                self._done[name] = self._train(world, window, name, how if number == 2 else "")
            done = self._done[name]
            world.blobs |= done.blobs
            record = done.record if number == 1 else lie(done.record)
            world.networks[record.network] = done.blobs[done.record.network_blob]
            world.log(record, world.coordinator)
            world.share_set()
            assert world.gate()
        for blob in more:
            world.put(blob)
        return world

    def _train(self, world: World, window: WindowInfo, name: str, how: str) -> Trained:
        out = self._folder / name
        blobs = BlobStore(out / "public")
        for blob in world.blobs.values():
            blobs.put(blob)
        last = world.state.trainings[-1].record if world.state.trainings else None
        seed = world.state.cycles.seed(window)
        assert seed is not None
        job = TrainingJob(
            out=out,
            manifest=window.manifest,
            batches=swapped(world, window) if how == "swapped" else window.window.batches,
            blobs=blobs,
            parent_state=None if last is None else blobs.path(last.state),
            parent_step=0 if last is None else last.steps,
            shape=world.state.cycles.shape,
            seed=WRONG_SEED if how == "seed" else seed,
            samples=cycle_samples(world.state.cycles, window, last, is_grown=False),
            device="cpu",
            state_every_steps=EVERY,
            workers=0,
            cache=out / "rows",
        )
        cycle.run(Job.load(job.store()), Events(io.StringIO()), lambda: False)
        kept: dict[bytes, bytes] = {}

        def put(data: bytes) -> bytes:
            kept[blob_digest(data)] = data
            return blob_digest(data)

        parent, samples = (None, 0) if last is None else (last.state, last.samples)
        begun = Begun(window, world.state.release.id, parent, seed, samples)
        return Trained(train_record(begun, out, load_result(out), put), kept)


def swapped(world: World, window: WindowInfo) -> tuple[BatchInfo, ...]:
    """The window's batches, but the first is another one of the run."""
    mine = window.window.batches
    other = next(batch for batch in world.state.batches.all if batch not in mine)
    return (other, *mine[1:])


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    return Runs(tmp_path_factory.mktemp("runs"))


@pytest.fixture(scope="module")
def honest(runs: Runs) -> World:
    """Nobody lies; look only."""
    return runs.run()


def plan(world: World) -> CyclePlan:
    """The second cycle's."""
    found = plan_of(world.state, world.state.trainings[-1].index)
    assert found is not None
    return found


def retrained(world: World, *, whole: bool = True, seed: int = 0, without: tuple[bytes, ...] = ()) -> Check:
    """The check's answer about the newest release, as if some blobs were not published."""
    gone = {blob_path(digest) for digest in without}
    files = {path: data for path, data in world.public().items() if path not in gone}
    folder = Folder(MemoryReader(files))
    return audit_retrain(folder, world.state, world.state.release, Retraining(), Random(seed), is_whole=whole)


def test_every_segment_and_the_whole_cycle_repeat_bit_for_bit(honest: World, here: None) -> None:
    found = plan(honest)
    assert len(found.segments()) >= 3
    assert found.segments()[0].parent == honest.state.trainings[0].record.state
    heard: list[tuple[int, int]] = []
    for segment in found.segments():
        again = Retraining()(Task(found, segment, honest.blobs.get, lambda done, of: heard.append((done, of))))
        assert again.state == segment.state, segment
        assert (again.record, again.distance) == (None, None)
        assert again.machine.torch == found.record.torch
    assert heard[-1] == (found.steps, found.steps)
    whole = retrained(honest)
    assert whole.ok is True
    assert "Cycle 2, whole, repeated bit for bit: " in whole.detail
    assert f"{len(found.segments())} train states, weights, network, losses and rounding are" in whole.detail


def test_the_first_cycle_begins_with_the_seeded_network(honest: World, here: None) -> None:
    folder = Folder(MemoryReader(honest.public()))
    first = honest.state.releases.all[1]
    for seed, whole in ((1, True), (2, False)):
        check = audit_retrain(folder, honest.state, first, Retraining(), Random(seed), is_whole=whole)
        assert check.ok is True, check.detail
        assert check.detail.startswith("Cycle 1, ")
    zero = audit_retrain(folder, honest.state, honest.state.releases.all[0], Retraining(), Random(1), is_whole=True)
    assert (zero.ok, zero.detail) == (True, "Release 0 is not trained.")


def test_the_audit_repeats_by_the_trainers_own_process(honest: World) -> None:
    """A segment of the log's choice, beside all other checks; nothing is replaced but the states' distance."""
    report = audit(MemoryReader(honest.public()), AuditOptions(repeat=Retraining(), sample=1, seed=4))
    answer = {check.name: check for check in report.checks}["retrain"]
    assert answer.ok is True, answer.detail
    assert "repeated bit for bit" in answer.detail
    assert report.ok, [check for check in report.checks if check.ok is False]


def test_a_state_that_is_other_bytes_fails(runs: Runs, here: None) -> None:
    other = b"other bytes"

    def lie(record: TrainRecord) -> TrainRecord:
        last = StatePoint(record.steps, blob_digest(other))
        return replace(record, states=(*record.states[:-1], last), state=last.state)

    world = runs.run(lie, more=(other,))
    check = retrained(world)
    assert check.ok is False
    assert f"the train state after step {world.state.trainings[-1].record.steps}" in check.detail
    assert "the network" not in check.detail
    claimed = retrained(runs.run(lambda record: replace(lie(record), torch="1.0.0"), more=(other,)))
    assert claimed.ok is False
    assert "cannot be compared with" in claimed.detail


def test_a_state_between_that_is_none_fails_before_and_after_it(runs: Runs, here: None) -> None:
    other = b"other bytes"

    def lie(record: TrainRecord) -> TrainRecord:
        point = StatePoint(record.states[0].step, blob_digest(other))
        return replace(record, states=(point, *record.states[1:]))

    world = runs.run(lie, more=(other,))
    told: dict[bool | None, set[str]] = {}
    for seed in range(12):
        check = retrained(world, whole=False, seed=seed)
        told.setdefault(check.ok, set()).add(check.detail)
    assert any("steps 10 to 20" in detail or "cannot be trained" in detail for detail in told[False]), told
    assert any("steps 0 to 10" in detail for detail in told[False]), told


@pytest.mark.parametrize("how", ["seed", "swapped"])
def test_training_with_another_seed_or_batch_fails(runs: Runs, here: None, how: str) -> None:
    world = runs.run(how=how)
    first = world.state.trainings[-1].record.states[0].step
    whole = retrained(world)
    assert whole.ok is False
    for name in (f"the train state after step {first}", "the network", "the weights", "the losses"):
        assert name in whole.detail
    assert "Weights differ by" in whole.detail
    segment = retrained(world, whole=False)
    assert segment.ok is False
    assert f"than the train record at entry {world.state.trainings[-1].index} says" in segment.detail


def test_claimed_numbers_fail(runs: Runs, here: None) -> None:
    lies: dict[str, Lie] = {
        "what rounding cost": lambda record: replace(
            record, rounding=replace(record.rounding, policy_divergence_micro=1)
        ),
        "the losses": lambda record: replace(record, losses=replace(record.losses, value_micro=1)),
        "the losses on held-out rows": lambda record: replace(
            record, held_out=replace(record.held_out, policy_micro=1)
        ),
    }
    for name, lie in lies.items():
        world = runs.run(lie)
        check = retrained(world)
        assert check.ok is False
        assert check.detail.endswith(f"says: {name}.")
    assert retrained(world, whole=False).ok is True


def test_counts_that_the_log_does_not_give_fail_untrained(runs: Runs) -> None:
    check = retrained(runs.run(lambda record: replace(record, samples=record.samples + 16)))
    assert check.ok is False
    assert "is not what the log gives" in check.detail


def test_batches_that_could_be_read_were_not_left_out(runs: Runs, here: None) -> None:
    check = retrained(runs.run(lambda record: replace(record, batches=record.batches - 1, skipped=1)))
    assert check.ok is False
    assert "says that 1 of the window's batches could not be read; here 0 cannot." in check.detail


def test_another_torch_build_that_gives_the_same_is_said(runs: Runs, here: None) -> None:
    check = retrained(runs.run(lambda record: replace(record, torch="1.0.0")))
    assert check.ok is True
    assert "repeated bit for bit, though with another machine (torch " in check.detail
    assert "1.0.0 in the record)" in check.detail


@pytest.mark.parametrize("whole", [True, False])
def test_another_torch_build_gives_the_distance(runs: Runs, here: None, whole: bool) -> None:
    world = runs.run(lambda record: replace(record, torch="1.0.0"), how="seed")
    check = retrained(world, whole=whole)
    assert check.ok is True
    assert check.detail.startswith("Claimed, not verified: Cycle 2, ")
    assert "Weights differ by " in check.detail
    assert ("nats" in check.detail) == ("losses by at most" in check.detail) == whole
    state = world.state.trainings[-1].record.states
    gone = retrained(world, whole=whole, without=tuple(point.state for point in state))
    assert gone.ok is True
    assert "The logged train state is not here to compare with" in gone.detail


def test_missing_states_and_batches_answer_neither_yes_nor_no(honest: World, here: None) -> None:
    record, parent = honest.state.trainings[-1].record, honest.state.trainings[0].record.state
    whole = retrained(honest, without=(parent,))
    assert whole.ok is None
    assert f"the train state {parent.hex()[:16]}, and none is here" in whole.detail
    segment = retrained(honest, whole=False, without=(parent,))
    assert segment.ok is True
    assert "steps 0 to" not in segment.detail
    none = retrained(honest, whole=False, without=(parent, *(point.state for point in record.states)))
    assert none.ok is None
    assert "one of the train states" in none.detail
    batch = honest.state.windows[-1].window.batches[0]
    lost = retrained(honest, without=(batch.header.blob_digest,))
    assert lost.ok is None
    assert f"the batch of entry {batch.index}" in lost.detail


def test_a_missing_device_is_another_machine(runs: Runs, here: None) -> None:
    if torch.cuda.is_available():
        pytest.skip("there is one here")
    check = retrained(runs.run(lambda record: replace(record, device="cuda"), how="seed"))
    assert check.ok is True
    assert "Claimed, not verified: " in check.detail
    assert "cpu here, cuda in the record" in check.detail


def test_the_kernels_of_the_record_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONEDNN_MAX_CPU_ISA", "AVX512_CORE")
    monkeypatch.delenv("ATEN_CPU_CAPABILITY", raising=False)
    text = "cpu=AVX2 ATEN_CPU_CAPABILITY=avx2 ONEDNN_MAX_CPU_ISA=default MKL_ENABLE_INSTRUCTIONS=a;b processor=X"
    found = environment_of(text)
    assert found["ATEN_CPU_CAPABILITY"] == "avx2"
    assert "ONEDNN_MAX_CPU_ISA" not in found
    assert "MKL_ENABLE_INSTRUCTIONS" not in found
    assert environment_of("test")["ONEDNN_MAX_CPU_ISA"] == "AVX512_CORE"
