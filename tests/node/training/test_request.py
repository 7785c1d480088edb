"""A request becomes a job: the run's manifest with other numbers, the log's window, and the same job when asked again."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from native.netfile import Architecture
from node.founding.layers import Choices
from node.founding.manifest_file import ManifestFileError
from node.training.admitted import Admitted, NoAdmittedData, load_admitted
from node.training.request import OtherTraining, Prepared, TrainingRequest, folder_of, prepare, training_manifest
from protocol.manifest import Manifest
from tests.node.homes import grown_world, make_home
from tests.verification.world import World
from verification.faults import LogFault
from verification.window import window_of


@pytest.fixture(scope="module")
def admitted(tmp_path_factory: pytest.TempPathFactory) -> Admitted:
    """A coordinator's data; look only."""
    return load_admitted(make_home(grown_world(), tmp_path_factory.mktemp("run") / "coordinator").directory)


def asking(out: Path | None = None, **changes: Any) -> TrainingRequest:
    empty = TrainingRequest(Path("data"), out, Choices(), None, None, None, None, None, "cpu")
    return replace(empty, **changes)


def prepared_of(request: TrainingRequest, admitted: Admitted) -> Prepared:
    manifest = training_manifest(request, admitted)
    return prepare(request, admitted, manifest, folder_of(request, manifest))


def job_of(admitted: Admitted, request: TrainingRequest) -> dict[str, Any]:
    found = json.loads(prepared_of(request, admitted).job.read_bytes())
    assert isinstance(found, dict)
    return found


def test_as_the_run_trains(admitted: Admitted, tmp_path: Path) -> None:
    prepared = prepared_of(asking(tmp_path / "out"), admitted)
    manifest = admitted.state.manifest
    job = json.loads(prepared.job.read_bytes())
    window = window_of(admitted.state.batches.released, manifest.window)
    assert [batch["header_digest"] for batch in job["batches"]] == [batch.digest.hex() for batch in window.batches]
    assert all(Path(batch["path"]).is_file() for batch in job["batches"])
    assert job["shape"] == prepared.shape == manifest.network.shape
    assert job["samples"] == window.rows * manifest.training.samples_per_row_milli // 1000
    assert (job["parent_state"], job["parent_step"], job["device"]) == (None, 0, "cpu")
    assert Manifest.parse(Path(job["manifest"]).read_bytes()) == manifest
    assert (prepared.batches, prepared.rows, prepared.missing) == (len(window.batches), window.rows, 0)
    assert prepared.run == admitted.state.run.hex()


def test_the_trainer_takes_the_job(admitted: Admitted, tmp_path: Path) -> None:
    job = pytest.importorskip("trainer.job").Job.load(prepared_of(asking(tmp_path, steps=7), admitted).job)
    assert (job.steps, job.out) == (7, tmp_path)


def test_numbers_of_its_own(admitted: Admitted, tmp_path: Path) -> None:
    base = admitted.state.manifest
    choices = Choices(("fast", "small"), ("training.minibatch=32", "window.exponent=0.5"))
    request = asking(choices=choices, threads=2, processes=4, network=Architecture(2, 32))
    found = training_manifest(request, admitted)
    assert found.network.shape == "b2c32"
    assert (found.training.minibatch, found.training.threads, found.training.processes) == (32, 2, 4)
    assert (found.training.warmup_steps, found.window.first_rows, found.window.exponent_ppm) == (50, 6000, 500_000)
    assert found.training.momentum_micro == base.training.momentum_micro
    assert replace(found, network=base.network, window=base.window, training=base.training) == base
    assert training_manifest(replace(request, network=None), admitted).network.shape == "b4c64"


def test_how_long(admitted: Admitted, tmp_path: Path) -> None:
    assert job_of(admitted, asking(tmp_path / "a", steps=3))["samples"] == 3 * 64
    assert job_of(admitted, asking(tmp_path / "b", samples=1000))["samples"] == 1000
    capped = asking(tmp_path / "c", choices=Choices((), ("training.samples_per_cycle=20",)))
    assert job_of(admitted, capped)["samples"] == 200
    few, many = asking(tmp_path / "d", steps=10), asking(tmp_path / "e", steps=10_000)
    assert [job_of(admitted, request)["state_every_steps"] for request in (few, many)] == [200, 500]


def test_a_smaller_window(admitted: Admitted, tmp_path: Path) -> None:
    settings = ("window.floor_rows=1", "window.exponent=0")
    prepared = prepared_of(asking(tmp_path, choices=Choices((), settings)), admitted)
    assert prepared.batches == 1


@pytest.mark.parametrize(
    ("choices", "why"),
    [
        (Choices(("9x9",)), "preset 9x9: it says nothing about network, window, training."),
        (Choices(("best",)), "'best' is not a preset"),
        (Choices((), ("name=x",)), "There is no key name here; the top has network, window, training."),
        (Choices((), ("training.lr=1",)), "There is no key training.lr here; training has minibatch, "),
        (Choices((), ("training.minibatch=0",)), "the run, --set training.minibatch=0: training: "),
    ],
)
def test_choices_that_do_not_fit(choices: Choices, why: str, admitted: Admitted) -> None:
    with pytest.raises(ManifestFileError) as caught:
        training_manifest(asking(choices=choices), admitted)
    assert why in str(caught.value)


def test_a_network_that_cannot_play(admitted: Admitted) -> None:
    with pytest.raises(LogFault, match="cannot be played"):
        training_manifest(asking(choices=Choices((), ("network.channels=512",))), admitted)


def test_the_same_request_goes_on_with_its_window(admitted: Admitted, tmp_path: Path) -> None:
    """The log of a running node grows meanwhile."""
    world = World()
    world.register("ada")
    world.cycle()
    request = asking(tmp_path / "out", steps=5)
    first = prepared_of(request, load_admitted(make_home(world, tmp_path / "younger").directory))
    kept = first.job.read_bytes()
    again = prepared_of(request, admitted)
    assert again.batches < len(admitted.state.batches.released)
    assert again == replace(first, is_old=True)
    assert again.job.read_bytes() == kept
    assert prepared_of(asking(tmp_path / "new", steps=5), admitted).batches > again.batches


def test_the_folder_is_named_after_the_network(admitted: Admitted) -> None:
    request = asking(network=Architecture(2, 32))
    assert folder_of(request, training_manifest(request, admitted)) == Path("train-b2c32")


def test_a_training_that_never_saved_a_state_gives_way(admitted: Admitted, tmp_path: Path) -> None:
    """As one that the trainer refused at its start."""
    job_of(admitted, asking(tmp_path, steps=5, device="cuda"))
    job = job_of(admitted, asking(tmp_path, steps=6))
    assert (job["device"], job["samples"]) == ("cpu", 6 * 64)
    assert prepared_of(asking(tmp_path, steps=6), admitted).is_old


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"steps": 6}, "--steps was 5, now 6"),
        ({"steps": None, "samples": 9}, "--steps was 5, now not given"),
        ({"choices": Choices(("fast",))}, "--preset was not given, now fast"),
        ({"network": Architecture(2, 32)}, "--network was not given, now b2c32"),
        ({"device": "cuda"}, "--device was cpu, now cuda"),
        ({"data": Path("elsewhere")}, "--data was "),
    ],
)
def test_another_request_is_refused(change: dict[str, Any], why: str, admitted: Admitted, tmp_path: Path) -> None:
    prepared_of(asking(tmp_path, steps=5), admitted)
    (tmp_path / "train_state-0000000005.bin").write_bytes(b"")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(OtherTraining) as caught:
        prepared_of(replace(asking(tmp_path, steps=5), **change), admitted)
    assert why in str(caught.value)
    assert str(caught.value).endswith("give another --out.")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_folder_that_was_left_half_made(admitted: Admitted, tmp_path: Path) -> None:
    whole = prepared_of(asking(tmp_path, steps=5), admitted)
    (tmp_path / "asked.json").unlink()
    assert prepared_of(asking(tmp_path, steps=6), admitted) == whole  # but for its samples
    assert job_of(admitted, asking(tmp_path, steps=6))["samples"] == 6 * 64
    (tmp_path / "asked.json").write_text("{")
    with pytest.raises(OtherTraining, match=r"asked.json is damaged"):
        prepared_of(asking(tmp_path, steps=6), admitted)


@pytest.mark.parametrize(
    "made", ["[" * 100_000, "{}", "null", '{"shape": "b1c16", "run": "", "batches": 1, "rows": "7", "missing": 0}']
)
def test_a_note_that_says_something_else(admitted: Admitted, tmp_path: Path, made: str) -> None:
    prepared_of(asking(tmp_path, steps=5), admitted)
    kept = json.loads((tmp_path / "asked.json").read_bytes())
    (tmp_path / "asked.json").write_text(f'{{"asked": {json.dumps(kept["asked"])}, "made": {made}}}')
    with pytest.raises(OtherTraining, match=r"asked.json is damaged"):
        prepared_of(asking(tmp_path, steps=5), admitted)


def test_blobs_that_are_not_here(tmp_path: Path) -> None:
    home = make_home(grown_world(), tmp_path / "data")
    data = load_admitted(home.directory)
    first = data.state.batches.released[0]
    data.blobs.path(first.header.blob_digest).unlink()
    prepared = prepared_of(asking(tmp_path / "out"), data)
    assert (prepared.missing, prepared.rows) == (1, sum(b.header.plies for b in data.state.batches.released[1:]))
    shutil.rmtree(home.public / "blob")
    with pytest.raises(NoAdmittedData, match="none of the 4 batches of the window lies here"):
        prepared_of(asking(tmp_path / "other"), data)
