"""The audit: an honest run passes, and whatever is changed in its public folder is found and named."""

from dataclasses import replace
from time import perf_counter

import pytest

from protocol.batch import unpack_batch
from protocol.blob import blob_digest
from protocol.checkpoint import Checkpoint, SignedNote
from protocol.epoch import Share, ShareSet
from protocol.layout import CHECKPOINT, MANIFEST, ROOT, blob_path, release_path
from protocol.proof import PLY, Ban
from tests.protocol.tile_files import tiles_for
from tests.verification import edits
from tests.verification.manifests import SEARCH, digest_of, small_manifest
from tests.verification.memory_reader import MemoryReader
from tests.verification.test_proof import content_of, proof_of
from tests.verification.world import World
from verification.audit.audit import CHECKS, AuditOptions, AuditReport, Check, audit
from verification.identities import BatchInfo
from verification.proof_builder import Evidence, evidence_of
from verification.replay import Replayed


@pytest.fixture(scope="module")
def files(grown: World) -> dict[str, bytes]:
    return grown.public()


def audited(files: dict[str, bytes], **options: object) -> AuditReport:
    return audit(MemoryReader(files), AuditOptions(**options))  # type: ignore[arg-type]


def failures(report: AuditReport) -> dict[str, str]:
    return {check.name: check.detail for check in report.checks if check.ok is False}


def test_an_honest_run_passes(grown: World, files: dict[str, bytes]) -> None:
    seen: list[Check] = []
    report = audit(MemoryReader(files), AuditOptions(run=grown.run, full=True), seen.append)
    assert failures(report) == {}
    assert report.ok
    assert report.release == grown.state.release.name
    assert tuple(check.name for check in report.checks) == CHECKS
    assert tuple(seen) == report.checks
    assert {check.name: check.ok for check in report.checks}["retrain"] is None


@pytest.mark.parametrize("number", [0, 1, 2])
def test_every_release_can_be_audited(grown: World, files: dict[str, bytes], number: int) -> None:
    name = grown.state.releases.all[number].name
    report = audited(files, release=name)
    assert failures(report) == {}
    assert report.release == name


def test_a_changed_verdict_is_named(grown: World, files: dict[str, bytes]) -> None:
    index = next(n for n, entry in enumerate(grown.entries) if b"gonode.verdict.v1" in entry)
    entry = grown.entries[index]
    entries = list(grown.entries)
    entries[index] = entry.replace(b"accept", b"reject", 1)
    assert entries[index] != entry
    tiles = dict(tiles_for(0, len(entries), grown.state.tree, entries))
    told = failures(audited({**files, **tiles}))
    assert f"entry {index} (verdict) is not the one" in told["head"]


def test_a_working_folder_may_hold_blobs_before_their_entries(files: dict[str, bytes]) -> None:
    early = {blob_path(blob_digest(b"early")): b"early"}
    assert "names no such blob" in failures(audited({**files, **early}))["files"]
    report = audited({**files, **early}, is_working=True)
    assert report.ok
    assert "1 blobs are of entries that the head does not cover" in report.checks[1].detail
    damaged = dict.fromkeys(early, b"other")
    assert "content that its name says" in failures(audited({**files, **damaged}, is_working=True))["files"]


def test_missing_and_unknown_files_are_named(grown: World, files: dict[str, bytes]) -> None:
    batch = grown.state.windows[-1].window.batches[0]
    path = blob_path(batch.header.blob_digest)
    without = {name: data for name, data in files.items() if name != path}
    assert path in failures(audited(without))["window"]
    network = blob_path(grown.state.release.network_blob)
    without = {name: data for name, data in files.items() if name != network}
    told = failures(audited(without))
    assert network in told["release"]
    assert network in told["chain"]
    for path in (
        "notes.txt",
        "blob/00/" + "00" * 32,
        "blob/zz",
        "release/00009-best",
        "tile/0/005",
        "tile/0/x",
        "tile/9",
    ):
        told = failures(audited({**files, path: b"x"}))
        assert path in told["files"], path
    none = audited({})
    assert not none.ok
    assert failures(none) == {"head": "File checkpoint is missing."}
    tile = next(name for name in files if name.startswith("tile/entries"))
    without = {name: data for name, data in files.items() if name != tile}
    size = Checkpoint.parse(SignedNote.parse(files[CHECKPOINT]).text).size
    assert failures(audited(without)) == {"head": f"File {tile} is missing, but the checkpoint is of {size} entries."}


def test_what_the_log_alone_makes_may_not_be_missing(grown: World, files: dict[str, bytes]) -> None:
    released = [release_path(release.number, release.name) for release in grown.state.releases.all[1:]]
    for path in (ROOT, MANIFEST, *released):
        without = {name: data for name, data in files.items() if name != path}
        assert failures(audited(without)) == {"files": f"File {path} is missing."}


def test_blobs_that_are_not_here_are_counted(grown: World, files: dict[str, bytes]) -> None:
    def gone(report: AuditReport) -> int:
        return int(report.checks[1].detail.rpartition("Named blobs that are not here: ")[2].rstrip("."))

    opening = grown.state.gates.all[0].slots[0].result
    assert opening is not None
    path = blob_path(opening.result.blob_digest)
    without = {name: data for name, data in files.items() if name != path}
    report = audited(without)
    assert report.ok, "an earlier release's gate games are not asked for"
    assert gone(report) == gone(audited(files)) + 1
    assert "lists nothing" in audited(files, is_listed=False).checks[1].detail


def test_every_change_of_the_size_names_the_checkpoint(files: dict[str, bytes]) -> None:
    note = files[CHECKPOINT]
    begin = note.index(b"\n") + 1
    size = note[begin : note.index(b"\n", begin)]
    for at in range(begin, begin + len(size)):
        for digit in range(0x30, 0x3A):
            if note[at] != digit:
                changed = note[:at] + bytes([digit]) + note[at + 1 :]
                assert "checkpoint" in failures(audited({**files, CHECKPOINT: changed}))["head"], changed[:80]


def test_another_run_or_release_is_told(files: dict[str, bytes]) -> None:
    assert "not of 0000" in failures(audited(files, run=bytes(32)))["head"]
    told = failures(audited(files, release="best"))
    assert told == {"release": "The log has no release named best."}


def test_heads_seen_before_must_agree(grown: World, files: dict[str, bytes]) -> None:
    tree = grown.state.tree
    seen = [(size, tree.root(size)) for size in (1, 17, tree.size)]
    assert audited(files, known_heads=seen).ok
    assert "forked" in failures(audited(files, known_heads=[(17, bytes(32))]))["head"]
    longer = [(tree.size + 1, bytes(32))]
    assert "was seen before" in failures(audited(files, known_heads=longer))["head"]


def test_cosignatures_are_needed_and_nothing_else_is_carried(files: dict[str, bytes]) -> None:
    text = files[CHECKPOINT].decode()
    lines = text.split("\n")
    alone = "\n".join([*lines[:-2], ""]).encode()
    assert "cosigned by 0" in failures(audited({**files, CHECKPOINT: alone}))["head"]
    twice = "\n".join([*lines[:-1], lines[-2], ""]).encode()
    assert CHECKPOINT in failures(audited({**files, CHECKPOINT: twice}))["head"]
    stranger = lines[-2].replace("gonode-witness/", "someone/")
    extra = "\n".join([*lines[:-1], stranger, ""]).encode()
    assert "unknown key" in failures(audited({**files, CHECKPOINT: extra}))["head"]


def test_a_false_share_fails_the_audit() -> None:
    world = World()
    world.register("ada")
    verifier = world.verifiers[0]
    world.ticks(1)
    size, root = world.state.size, world.state.tree.root()
    false = Share(world.run, verifier.public, 0, size, root, digest_of("x")).seal(verifier).encode()
    world.log(ShareSet(world.run, size, root, world.state.beacons.covered, (false,)), world.coordinator)
    world.begin_epoch(verifier)
    world.reveal(verifier, 0)
    assert "false beacon share" in failures(audited(world.public()))["head"]


def test_a_run_with_a_gumbel_root_is_played_judged_and_audited() -> None:
    gumbel = replace(SEARCH, root="gumbel")
    manifest = small_manifest(
        selfplay=gumbel, gate_search=replace(gumbel, full_share_ppm=10**6, gumbel_noise_micro=0, visits_full=8)
    )
    world = World(manifest)
    ada, bob = world.register("ada"), world.register("bob")
    assert world.judge(world.play(ada)) is None
    world.admit()
    world.cycle()
    wrong = world.judge(world.play(bob, edit=edits.of_game(1, edits.value(0))))
    assert wrong is not None
    assert wrong.label == "value"
    assert failures(audited(world.public(), full=True)) == {}


# ---- members who believe what they should not


def believed(edit: edits.Edit) -> tuple[World, BatchInfo]:
    """A run whose verifier tells the D that a cheating contributor gave it, and accepts."""
    world = World()
    batch = world.play(world.register("ada"), edit=edit)
    content = unpack_batch(world.blobs[batch.header.blob_digest], 2**23)
    honest = World()
    again = honest.play(honest.register("ada"))
    _, found, _ = honest.examine(again)
    assert len(found.digests) == content.plies
    world.say(batch, found, None)
    world.admit()
    world.cycle()
    return world, batch


def test_a_wrong_game_that_its_verifier_accepted_is_found() -> None:
    """Verifier and contributor collude; whoever audits replays the game."""
    world, batch = believed(edits.of_game(1, edits.value(6)))
    told = failures(audited(world.public(), full=True))
    assert set(told) == {"games"}
    assert f"batch at entry {batch.index} is wrong: value" in told["games"]


def test_a_batch_against_the_rules_that_its_verifier_accepted_is_found() -> None:
    world, batch = believed(edits.of_game(1, edits.more_visits(6)))
    told = failures(audited(world.public()))
    assert f"batch at entry {batch.index} is wrong: visits sum" in told["window"]


def test_traces_that_nobody_searched_for_are_found() -> None:
    """A lazy verifier accepts without a replay and makes its D up."""
    world = World()
    batch = world.play(world.register("ada"))
    world.say(batch, Replayed((0, 1), (bytes(32),) * batch.header.plies, None), None)
    world.admit()
    world.cycle()
    told = failures(audited(world.public()))
    assert told == {"window": f"The traces opened for entry {batch.index} do not back its verdict."}


def test_bans_are_believed_only_with_a_proof_that_holds() -> None:
    world = World()
    ada, bob = world.register("ada"), world.register("bob")
    honest = world.play(ada)
    assert world.judge(honest) is None
    world.admit()
    wrong = world.play(bob, edit=edits.of_game(1, edits.value(6)))
    rejected = world.judge(wrong)
    assert rejected is not None
    evidence = evidence_of(rejected)
    assert evidence is not None
    world.log(Ban(world.run, bob.public, proof_of(world, wrong, evidence)), world.coordinator)
    report = audited(world.public())
    assert failures(report) == {}
    assert "banned by a proof that holds: 1" in report.checks[0].detail
    framed = proof_of(world, honest, Evidence(PLY, 0, content_of(world, honest).games[0].plies[-1]))
    index = world.log(Ban(world.run, ada.public, framed), world.coordinator)
    assert f"The ban at entry {index} is not proved" in failures(audited(world.public()))["head"]


def test_what_an_audit_replays_is_not_known_beforehand() -> None:
    """One of a window's games is wrong: audits of one game each find it now and then, those with a seed always or never."""
    world, _ = believed(edits.of_game(1, edits.value(6)))
    files = world.public()
    found = set()
    for _ in range(500):
        found.add(audited(files, sample=1).ok)
        if len(found) == 2:
            break
    assert found == {True, False}
    assert len({audited(files, sample=1, seed=3).ok for _ in range(5)}) == 1


def test_an_audit_of_a_small_run_is_quick(files: dict[str, bytes]) -> None:
    start = perf_counter()
    audited(files)
    assert perf_counter() - start < 3


def test_a_release_file_under_another_name_is_unknown(grown: World, files: dict[str, bytes]) -> None:
    release = grown.state.release
    path = release_path(release.number, release.name)
    moved = {(name if name != path else path + "x"): data for name, data in files.items()}
    assert path + "x" in failures(audited(moved))["files"]
