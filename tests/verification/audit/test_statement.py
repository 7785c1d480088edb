"""The audit of a release's documents: what differs from what was signed, or is missing, is named."""

import pytest

from protocol.layout import statement_path
from protocol.statement.documents import NAMES, SUMS, Documents
from protocol.statement.sshsig import fingerprint
from tests.verification.manifests import digest_of
from tests.verification.memory_reader import MemoryReader
from tests.verification.world import World
from verification.audit.audit import AuditOptions, audit


def told(files: dict[str, bytes], **options: object) -> dict[str, tuple[bool | None, str]]:
    report = audit(MemoryReader(files), AuditOptions(sample=0, **options))  # type: ignore[arg-type]
    return {check.name: (check.ok, check.detail) for check in report.checks}


def failures(files: dict[str, bytes]) -> dict[str, str]:
    return {name: detail for name, (ok, detail) in told(files).items() if ok is False}


def path_of(world: World, name: str, number: int = -1) -> str:
    release = world.state.releases.all[number]
    return statement_path(release.number, release.name, name)


def test_the_release_says_who_signed_its_documents(grown: World) -> None:
    ok, detail = told(grown.public())["release"]
    assert ok
    key = fingerprint(grown.coordinator.public)
    assert f"Its statement, at entry {grown.state.release.index + 1}, signs {len(NAMES)} documents by {key}." in detail


@pytest.mark.parametrize("name", NAMES)
def test_a_changed_or_missing_document_is_named(grown: World, name: str) -> None:
    files = grown.public()
    path = path_of(grown, name)
    changed = failures({**files, path: files[path] + b"\n"})
    without = failures({other: data for other, data in files.items() if other != path})
    for found in (changed, without):
        assert found.keys() == {"files", "release"}
        assert all(path in detail for detail in found.values())


def test_documents_of_another_release_are_the_files_check(grown: World) -> None:
    files = grown.public()
    path = path_of(grown, SUMS, 1)
    assert failures({**files, path: b""}) == {"files": f"File {path} is not what its statement signs."}


def test_a_document_that_no_statement_signs_is_unknown(grown: World) -> None:
    files = grown.public()
    for name in ("README", "x/SHA256SUMS"):
        path = path_of(grown, name)
        assert failures({**files, path: b"x"}) == {"files": f"File {path} is unknown."}


def test_a_release_without_a_statement_counts() -> None:
    world = World()
    world.register("ada")
    while world.state.due_window() is None:
        world.batch(world.peers["ada"])
    world.train()
    assert world.gate(is_stated=False)
    found = told(world.public())
    assert found["release"][0]
    assert "It has no statement yet." in found["release"][1]
    about = world.documents().about
    lie = Documents(about, digest_of("other weights"), world.coordinator.public).sign(world.coordinator)
    index = world.log(lie, world.coordinator)
    assert failures(world.public()) == {
        "release": f"The statement at entry {index} names other weights than those of release {about.release.name}."
    }
