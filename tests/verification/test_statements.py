"""Release statements in the log: one a release, by the coordinator, over the documents that the log gives."""

from dataclasses import replace
from hashlib import sha256

import pytest

from protocol.statement.documents import Documents
from tests.verification.manifests import digest_of
from tests.verification.test_state import refused
from tests.verification.world import World
from verification.statements import StatementInfo


@pytest.fixture(scope="module")
def released() -> World:
    """A run whose first release has no statement yet; look only."""
    world = World()
    world.register("ada")
    while world.state.due_window() is None:
        world.batch(world.peers["ada"])
    world.train()
    assert world.gate(is_stated=False)
    return world


def test_a_release_waits_for_its_statement(released: World) -> None:
    (about,) = released.state.statements.missing
    release = released.state.release
    assert (about.index, about.release.name) == (release.index, release.name)
    assert about.train == released.state.trainings[-1].record
    assert about.window == released.state.windows[-1].record
    assert released.state.statements.all == ()
    assert released.state.statements.find(release.index) is None


def test_a_statement_is_logged_once(grown: World) -> None:
    """Each release of this run has one, right behind it."""
    state = grown.state
    assert state.statements.missing == ()
    found = [state.statements.find(release.index) for release in state.releases.all[1:]]
    stated = [info for info in found if isinstance(info, StatementInfo)]
    assert [info.index for info in stated] == [release.index + 1 for release in state.releases.all[1:]]
    assert tuple(stated) == state.statements.all
    again = stated[0].record
    assert "no release that waits for one" in refused(grown, again, grown.coordinator)


def test_a_statement_is_about_a_release(released: World) -> None:
    record = replace(released.documents().sign(released.coordinator), release=1)
    assert "about entry 1, which is no release" in refused(released, record, released.coordinator)


def test_a_statement_is_the_coordinators(released: World) -> None:
    record = released.documents().sign(released.coordinator)
    assert "not signed by a coordinator" in refused(released, record, released.verifiers[0])
    other = released.verifiers[0]
    forged = replace(released.documents(), key=other.public).sign(other)
    assert "does not sign the documents" in refused(released, forged, released.coordinator)


def test_a_statement_signs_what_the_log_gives(released: World) -> None:
    documents = released.documents()
    record = documents.sign(released.coordinator)
    for changes in (
        {"weights_sha256": digest_of("other weights")},
        {"provenance_signature": record.sums_signature},
        {"sums_signature": record.provenance_signature},
        {"model_signature": bytes(64)},
        {"model_key": b"\2" + b"\xff" * 32},
    ):
        reason = refused(released, replace(record, **changes), released.coordinator)  # type: ignore[arg-type]
        assert f"does not sign the documents of {released.state.release.name}" in reason
    about = replace(documents.about, train=replace(documents.about.train, torch="2.14.0"))
    other = Documents(about, documents.weights_sha256, documents.key).sign(released.coordinator)
    assert "does not fit the message" in refused(released, other, released.coordinator)


def test_a_statement_may_come_late_and_in_any_order() -> None:
    world = World()
    world.register("ada")
    for _ in range(2):
        while world.state.due_window() is None:
            world.batch(world.peers["ada"])
        world.train()
        assert world.gate(is_stated=False)
    first, second = world.state.statements.missing
    for about in (second, first):
        weights = sha256(world.blobs[about.release.weights_blob]).digest()
        world.log(Documents(about, weights, world.coordinator.public).sign(world.coordinator), world.coordinator)
    assert world.state.statements.missing == ()
    assert {info.record.release for info in world.state.statements.all} == {first.index, second.index}
