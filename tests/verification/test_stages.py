"""Visits of the curriculum: self-play of a release searches with those of the stage at its step, and nobody with others."""

from dataclasses import replace

import pytest

from protocol.manifest import Manifest
from protocol.proof import PLY
from tests.verification import edits
from tests.verification.manifests import small_manifest
from tests.verification.test_proof import check, content_of, proof_of
from tests.verification.world import World
from verification.admission import check_games, total_visits
from verification.faults import Rejected
from verification.proof_builder import Evidence
from verification.setup import config_digest, selfplay_series

EARLY, LATE = (12, 6), (20, 9)


def staged(full: int = LATE[0], fast: int = LATE[1]) -> Manifest:
    """A manifest whose stage from step 100 on has these visits."""
    manifest = small_manifest()
    (first,) = manifest.stages
    return replace(manifest, stages=(first, replace(first, from_step=100, visits_full=full, visits_fast=fast)))


@pytest.fixture(scope="module")
def world() -> World:
    """A run whose release 1 is of step 100, and a player who has played with both releases."""
    world = World(staged())
    ada = world.register("ada")
    world.cycle()
    world.batch(ada)
    return world


def sums(world: World, number: int) -> set[int]:
    """Visits of the root's children in all searches of the games with a release."""
    release = world.state.releases.all[number]
    batches = [batch for batch in world.state.batches.all if batch.header.release == release.id]
    blocks = [block for batch in batches for block in content_of(world, batch).games]
    return {sum(block.visits(ply)) for block in blocks for ply in block.plies}


def test_self_play_follows_the_stage_of_the_release(world: World) -> None:
    assert [release.steps for release in world.state.releases.all] == [0, 100]
    assert sums(world, 0) == {each - 1 for each in EARLY}
    assert sums(world, 1) == {each - 1 for each in LATE}


def test_the_headers_config_stays_what_the_manifest_says(world: World) -> None:
    batches = world.state.batches.all
    assert {batch.header.release for batch in batches} == {release.id for release in world.state.releases.all}
    assert {batch.header.config for batch in batches} == {config_digest(world.manifest.selfplay)}


def test_visits_in_the_header_are_those_of_the_stage(world: World) -> None:
    batch = world.state.batches.all[-1]
    content, blob = content_of(world, batch), world.blobs[batch.header.blob_digest]
    series = selfplay_series(world.state, world.state.release, batch.header.owner)
    assert check_games(batch.header, blob, series).plies == content.plies
    early = replace(batch.header, visits=total_visits(content, world.manifest.selfplay))
    with pytest.raises(Rejected, match="The header says"):
        check_games(early, blob, series)


def test_games_with_the_visits_of_another_stage_are_rejected(world: World) -> None:
    ada, release = world.peers["ada"], world.state.release
    series = selfplay_series(world.state, release, ada.public)
    counter = world.state.next_counter(ada.public, release.id)
    early = replace(series, steps=0)
    blocks = world.play_blocks([early.job(counter + k, world.player(release)) for k in range(2)])
    header = world.header(ada, blocks)
    with pytest.raises(Rejected, match="visits, not") as rejected:
        check_games(header, world.blobs[header.blob_digest], series)
    assert rejected.value.label == "visits sum"


def test_a_wrong_ply_of_a_later_stage_is_proved() -> None:
    world = World(staged())
    ada = world.register("ada")
    world.cycle()
    batch = world.play(ada, edit=edits.of_game(0, edits.value(1)))
    proof = proof_of(world, batch, Evidence(PLY, 0, content_of(world, batch).games[0].plies[1]))
    assert check(world, proof).subject == ada.public


def test_a_stage_says_one_number_or_both() -> None:
    manifest = staged(full=0)
    assert manifest.selfplay_at(99) is manifest.selfplay
    search = manifest.selfplay_at(100)
    assert (search.visits_full, search.visits_fast) == (EARLY[0], LATE[1])
    assert replace(search, visits_fast=EARLY[1]) == manifest.selfplay
