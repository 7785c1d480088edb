"""Whatever is changed in a run's public files is seen and named; only what no check needs may be missing."""

from collections.abc import Iterator

import pytest

from protocol.layout import CHECKPOINT, blob_path
from tests.verification.audit.changes import Files, absent_count, audited, kind_of, may_be_absent, try_changes
from tests.verification.remembered import remembered
from tests.verification.world import World


@pytest.fixture(autouse=True)
def once() -> Iterator[None]:
    """Entries that no change touches are the same bytes in each audit."""
    with remembered():
        yield


@pytest.fixture(scope="module")
def files(grown: World) -> Files:
    return grown.public()


@pytest.mark.parametrize("seed", range(3))
def test_random_changes_are_named(seed: int, files: Files) -> None:
    met = try_changes(files, 120, seed)
    assert min(met[kind] for kind in {kind_of(path) for path in files}) >= 5, met
    assert met["flip"] >= 50


def test_bytes_all_over_the_checkpoint_matter(files: Files) -> None:
    data = files[CHECKPOINT]
    for at in range(0, len(data), 4):
        changed = data[:at] + bytes([data[at] ^ (1 << at % 8)]) + data[at + 1 :]
        report = audited({**files, CHECKPOINT: changed})
        assert not report.ok
        assert CHECKPOINT in report.checks[0].detail, at


def needed(world: World) -> set[str]:
    """The blobs without which the newest release cannot be audited."""
    state, release = world.state, world.state.release
    found = {release.network_blob, release.weights_blob, *(each.network_blob for each in state.releases.all[1:])}
    training = state.cycles.training_at(release.train_record)
    gate = state.gates.by_candidate(release.train_record)
    assert training is not None
    assert gate is not None
    window = state.cycles.window_at(training.record.window)
    assert window is not None
    for subject in (*window.window.batches, *(slot.result for slot in gate.slots if slot.result is not None)):
        content = subject.header if hasattr(subject, "header") else subject.result
        found.add(content.blob_digest)
        if subject.opening is not None:
            found.add(subject.opening.blob_digest)
    return {blob_path(digest) for digest in found}


def test_every_missing_file_is_named_unless_no_check_needs_it(grown: World, files: Files) -> None:
    before, passed = absent_count(audited(files)), set()
    for path in files:
        without = {name: data for name, data in files.items() if name != path}
        report = audited(without)
        if report.ok:
            assert may_be_absent(files, path) is not None
            assert absent_count(report) == before + 1
            passed.add(path)
        else:
            assert any(f"File {path}" in check.detail for check in report.checks if check.ok is False), path
    assert passed == {path for path in files if path.startswith("blob/")} - needed(grown)
    assert passed, "the run has files that its newest release does not need"


def test_tiles_of_an_earlier_size_may_be_there_or_not(files: Files) -> None:
    """A folder holds them between two publications."""
    young = World()
    young.register("ada")
    old = {path: data for path, data in young.public().items() if path.startswith("tile/")}
    young.ticks(3)
    both = {**young.public(), **old}
    report = audited(both)
    assert report.ok
    assert len(both) > len(young.public())
    assert all(may_be_absent(both, path) for path in old if path not in young.public())
