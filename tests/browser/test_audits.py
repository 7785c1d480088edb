"""The page's audit under Node.js: an honest run passes, each changed byte is found and named, heads are compared."""

from dataclasses import replace
from random import Random
from typing import Any

import pytest

from protocol.checkpoint import Checkpoint, NoteSignature, SignedNote, cosign
from protocol.envelope import Envelope
from protocol.layout import BLOBS, CHECKPOINT, MANIFEST, ROOT, release_path
from protocol.merkle import Tree
from protocol.release import Release
from protocol.seeds import log_origin, run_id
from protocol.tiles import tiles_for
from protocol.window import WindowCommitment
from tests.browser.programs import answer
from tests.verification.history import History
from tests.verification.world import World
from verification.witness import witness_name

OF_THE_LOG = ("run", "log", "signatures", "head")
OF_A_RELEASE = ("release", "gate", "window", "chain", "statement")


@pytest.fixture(scope="module")
def world() -> World:
    """A run with two contributors and two releases; look only."""
    world = World()
    for name in ("ada", "bob"):
        world.register(name)
    world.cycle()
    world.cycle()
    return world


@pytest.fixture(scope="module")
def files(world: World) -> dict[str, bytes]:
    """What the page reads of its public folder."""
    return {path: data for path, data in world.public().items() if not path.startswith(BLOBS)}


def audits(files: dict[str, bytes], changes: list[dict[str, bytes | None]], **given: Any) -> list[dict[str, Any]]:
    """The answers for each change of the folder."""
    told = [{path: None if data is None else data.hex() for path, data in each.items()} for each in changes]
    found = answer("audits.js", {"files": {path: data.hex() for path, data in files.items()}, "changes": told, **given})
    assert isinstance(found, list)
    return found


def failures(answers: dict[str, Any]) -> dict[str, str]:
    """The sentences of what fails."""
    return {name: each[1] for name, each in answers.items() if each[0] == "fail"}


def test_an_honest_run_passes(world: World, files: dict[str, bytes]) -> None:
    (found,) = audits(files, [{}], run=world.run.hex())
    assert failures(found) == {}
    assert [name for name, (state, _) in found.items() if state == "pass"] == [*OF_THE_LOG, *OF_A_RELEASE]
    assert "SHA256SUMS and 6 documents" in found["statement"][1]
    assert "gonode audit" in found["replay"][1]


def test_single_byte_changes_are_found_and_named(files: dict[str, bytes]) -> None:
    rng = Random(7)
    paths = [path for path in sorted(files) if "/00001-" not in path]  # what is shown is the newest release
    changes: list[dict[str, bytes | None]] = []
    for number in range(120):
        path = paths[number % len(paths)]
        data = files[path]
        at = rng.randrange(len(data))
        changes.append({path: data[:at] + bytes([data[at] ^ (1 << rng.randrange(8))]) + data[at + 1 :]})
    for change, found in zip(changes, audits(files, changes), strict=True):
        (path,) = change
        told = failures(found)
        assert told, f"a byte of {path} was changed and the page does not say so"
        assert path in " ".join(told.values()), (path, told)


def test_a_release_without_a_statement_is_no_fault(world: World, files: dict[str, bytes]) -> None:
    (found,) = audits(files, [published(world, world.entries[: world.state.release.index + 1])])
    assert failures(found) == {}
    assert found["statement"] == ["none", "The log has no statement about this release yet."]


def test_missing_swapped_and_cut_files_are_named(world: World, files: dict[str, bytes]) -> None:
    first, second = sorted(path for path in files if path.startswith("release/"))
    bundle = next(path for path in files if path.startswith("tile/entries/"))
    hashes = next(path for path in files if path.startswith("tile/0/"))
    note = SignedNote.parse(files[CHECKPOINT])
    line = NoteSignature("stranger", b"abcd", b"\0" * 64)
    changes: dict[str, tuple[dict[str, bytes | None], str, str]] = {
        "no checkpoint": ({CHECKPOINT: None}, "log", "File checkpoint is missing"),
        "no bundle": ({bundle: None}, "log", f"File {bundle} is missing"),
        "no hash tile": ({hashes: None}, "log", f"File {hashes} is missing"),
        "no manifest": ({MANIFEST: None}, "run", "File manifest is missing"),
        "a bundle cut short": ({bundle: files[bundle][:-1]}, "log", f"File {bundle}: The entry bundle is cut short"),
        "a long bundle": ({bundle: files[bundle] + b"\0"}, "log", f"File {bundle}: Bytes follow"),
        "a swapped release": ({second: files[first]}, "release", f"File {second} is not the entry"),
        "no release": ({second: None}, "release", f"File {second} is missing"),
        "not cosigned": (
            {CHECKPOINT: SignedNote(note.text, note.signatures[:1]).encode()},
            "head",
            "cosigned by 0 of the verifiers; 1 have to",
        ),
        "an unknown line": (
            {CHECKPOINT: note.with_signatures([line]).encode()},
            "head",
            "signature line by an unknown key",
        ),
        "a root that is not the log's": (
            {ROOT: world.root.seal(world.key("thief")).encode()},
            "signatures",
            "File root",
        ),
    }
    found = audits(files, [change for change, _, _ in changes.values()])
    for (name, (_, step, words)), each in zip(changes.items(), found, strict=True):
        assert words in failures(each).get(step, ""), (name, failures(each))


def test_an_entry_under_another_head_is_named(world: World, files: dict[str, bytes]) -> None:
    index = next(n for n, entry in enumerate(world.entries) if b"gonode.verdict.v1" in entry)
    entries = list(world.entries)
    entries[index] = entries[index].replace(b"accept", b"reject", 1)
    bundles = {
        path: data
        for path, data in tiles_for(0, len(entries), world.state.tree, entries)
        if path.startswith("tile/entries/")
    }
    (found,) = audits(files, [dict(bundles)])
    assert f"entry {index} (verdict) is not the one that the head commits to" in failures(found)["log"]


def published(world: World, entries: list[bytes]) -> dict[str, bytes | None]:
    """Head and tiles of these entries, signed by the world's coordinator and verifiers."""
    tree = Tree(entries)
    head = Checkpoint(log_origin(world.run), len(entries), tree.root())
    lines = [cosign(head.body(), key, witness_name(key.public), 1) for key in world.verifiers]
    note = head.sign(world.coordinator).with_signatures(lines).encode()
    return {CHECKPOINT: note, **dict(tiles_for(0, len(entries), tree, entries))}


def test_what_a_signed_head_covers_is_judged_all_the_same(world: World, files: dict[str, bytes]) -> None:
    release, window = world.state.release, world.state.windows[-1]
    record = Release.open(Envelope.parse(world.entries[release.index]))
    commitment = WindowCommitment.open(Envelope.parse(world.entries[window.index]))

    def with_entry(index: int, entry: bytes) -> dict[str, bytes | None]:
        return published(world, [*world.entries[:index], entry, *world.entries[index + 1 :]])

    other = replace(record, steps=record.steps + 1).seal(world.coordinator).encode()
    by_another = record.seal(world.key("ada")).encode()
    smaller = replace(commitment, games=commitment.games - 1).seal(world.coordinator).encode()
    path = release_path(record.number, record.name)
    changed, unsigned, narrowed = audits(
        files,
        [
            {**with_entry(release.index, other), path: other},
            with_entry(release.index, by_another),
            with_entry(window.index, smaller),
        ],
    )
    assert failures(changed)["gate"] == "The release's field steps is not that of its train record."
    assert (
        f"Entry {release.index} (release): The release is not signed by a coordinator"
        in failures(unsigned)["signatures"]
    )
    assert "is not what the log gives" in failures(narrowed)["window"]


def test_another_run_and_a_fork_are_told(world: World, files: dict[str, bytes]) -> None:
    (other,) = audits(files, [{}], run="00" * 32)
    assert "not 0000000000000000" in failures(other)["run"]
    size = world.state.size
    seen = [{"size": 5, "root": world.state.tree.root(5).hex()}, {"size": size, "root": world.state.tree.root().hex()}]
    (same,) = audits(files, [{}], seen=seen)
    assert same["seen"] == ["pass", "The log goes on from 2 heads that this browser saw before."]
    (forked,) = audits(files, [{}], seen=[{"size": 5, "root": "11" * 32}])
    assert "it forked" in failures(forked)["seen"]
    (shorter,) = audits(files, [{}], seen=[{"size": size + 1, "root": "11" * 32}])
    assert f"before, but this log has {size}" in failures(shorter)["seen"]


def test_the_run_id_is_that_of_the_node(world: World) -> None:
    assert run_id(world.root.encode(), world.manifest.encode()) == world.run


@pytest.mark.parametrize("seed", [0, 6, 9, 10, 15, 18])
def test_any_history_is_followed(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the state takes is signed as it has to be, and a window is found again, or the reason why it is not."""
    monkeypatch.setattr("protocol.stamp.stamp_number", lambda message, nonce: 0)
    history = History(seed)
    for _ in range(500):
        history.step()
    world = history.world
    entries = {path: data for path, data in published(world, world.entries).items() if data is not None}
    files = {**entries, ROOT: world.entries[0], MANIFEST: world.entries[1]}
    (found,) = audits(files, [{}], all=True)
    assert found["log"][0] == found["signatures"][0] == "pass", found
    for window in world.state.windows:
        told = found["windows"][str(window.index)]
        wanted = {name: getattr(window.record, name) for name in ("batches", "games", "rows", "total_rows")}
        is_same = told["headers"] == window.record.headers.hex() and wanted == {name: told[name] for name in wanted}
        assert is_same or told["strange"], (window.index, told, wanted)
