"""The page's audit under Node.js: an honest run passes, each changed byte is found and named, heads are compared."""

from dataclasses import replace
from hashlib import sha256
from random import Random
from typing import Any

import pytest

from protocol.checkpoint import NoteSignature, SignedNote
from protocol.entries import Entry
from protocol.envelope import Envelope
from protocol.epoch import Share, ShareSet
from protocol.layout import BLOBS, CHECKPOINT, MANIFEST, ROOT, release_path, statement_path
from protocol.orders import VoidEpoch
from protocol.proof import Pardon
from protocol.record import Record
from protocol.release import Release
from protocol.seeds import run_id
from protocol.statement.documents import PATHS, PROVENANCE, SIGNERS, SUMS, SUMS_SIGNATURE, Documents
from protocol.statement.record import ReleaseStatement
from protocol.statement.sshsig import ssh_message, ssh_signature
from protocol.window import WindowCommitment
from tests.browser.programs import answer
from tests.browser.rewritten import doubtful, published
from tests.protocol.tile_files import tiles_for
from tests.verification.history import History
from tests.verification.world import World
from verification.state import LogState

OF_THE_LOG = ("run", "log", "signatures", "head")
SIGNED = (SUMS, SUMS_SIGNATURE, SIGNERS)
OF_A_RELEASE = ("release", "gate", "window", "chain", "statement")


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
    return {name: each[1] for name, each in answers.items() if name != "headline" and each[0] == "fail"}


def test_an_honest_run_passes(world: World, files: dict[str, bytes]) -> None:
    (found,) = audits(files, [{}], run=world.run.hex())
    assert failures(found) == {}
    assert [name for name, (state, _) in found.items() if state == "pass"] == [*OF_THE_LOG, *OF_A_RELEASE, "headline"]
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
    assert found["headline"][0] == "pass"


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


def test_what_the_page_does_not_follow_turns_no_fault_into_a_pass(world: World) -> None:
    """A void epoch or a pardon leaves a window undecided that it can touch, and no other."""
    window = world.state.windows[-1]
    own = WindowCommitment.open(Envelope.parse(world.entries[window.index]))
    narrower, larger = replace(own, games=own.games - 1), replace(own, total_rows=2 * own.total_rows + 1)
    void = VoidEpoch(world.run, world.verifiers[0].public, 0)
    pardon, vain = (Pardon(world.run, world.key(name).public, b"") for name in ("ada", "eve"))
    before = window.index - 4
    cases: list[tuple[Record, WindowCommitment, str, str]] = [
        (void, narrower, "open", f"a void-epoch at entry {before}"),
        (pardon, narrower, "open", f"a pardon at entry {before}"),
        (vain, narrower, "fail", "is not what the log gives"),
        (void, larger, "fail", "is not what the log gives"),
        (void, own, "pass", "exactly those that log and rules give"),
    ]
    changes = [doubtful(world, cause, before, commitment) for cause, commitment, _, _ in cases]
    for (_, _, state, words), found in zip(cases, audits(world.public(), changes), strict=True):
        assert found["window"][0] == state, found["window"]
        assert words in found["window"][1]
        assert found["headline"][0] == state, found["headline"]
        if state == "open":
            assert "? Not decided: training window." in found["headline"][1]
            assert "gonode audit" in found["headline"][1]


def test_a_statement_follows_a_release_that_has_none(world: World) -> None:
    first, entry = world.state.releases.all[1], world.state.statements.all[0]
    at = world.state.windows[-1].index - 4
    for record, words in (
        (entry.record, f"The release of entry {first.index} has a statement already."),
        (replace(entry.record, release=at - 1), f"Entry {at - 1}, which it is about, is no release."),
    ):
        entries = [*world.entries]
        entries[at] = record.seal(world.coordinator).encode()
        (found,) = audits(world.public(), [published(world, entries)])
        assert failures(found)["signatures"] == f"Entry {at} (release-statement): {words}"


def test_documents_say_what_the_log_says(world: World, files: dict[str, bytes]) -> None:
    """A coordinator can sign whatever it likes; what the page makes anew from the log is not what it signed."""
    honest = world.state.statements.all[-1]
    about, weights = honest.documents.about, honest.record.weights_sha256
    folder = statement_path(about.release.number, about.release.name, "")

    def restated(made: dict[str, bytes], record: ReleaseStatement) -> dict[str, bytes | None]:
        digests = {
            **files_digests,
            **{name: sha256(data).digest() for name, data in made.items() if name not in SIGNED},
        }
        sums = "".join(f"{digests[name].hex()}  {name}\n" for name in sorted(digests)).encode()
        record = replace(record, sums_signature=world.coordinator.sign(ssh_message(sums)))
        entries = [*world.entries]
        entries[honest.index] = record.seal(world.coordinator).encode()
        signed = {SUMS: sums, SUMS_SIGNATURE: ssh_signature(world.coordinator.public, record.sums_signature)}
        return {**published(world, entries), **{folder + name: data for name, data in {**made, **signed}.items()}}

    files_digests = {about.network_name: about.release.network, about.weights_name: weights}
    plain = honest.documents.files(honest.record)
    other = Documents(replace(about, train=replace(about.train, torch="9.9")), weights, world.coordinator.public)
    lie = other.sign(world.coordinator)
    found = audits(
        files,
        [
            restated(plain, honest.record),
            restated({**plain, PATHS: plain[PATHS].replace(b"blob/", b"blub/")}, honest.record),
            restated({**plain, "README": b"?"}, honest.record),
            restated(other.files(lie), lie),
            restated(plain, replace(honest.record, provenance_signature=lie.provenance_signature)),
        ],
    )
    told = [failures(each).get("statement", "") for each in found]
    assert told[0] == ""
    assert told[1] == f"File {folder}{PATHS} is signed, but it is not what the log gives."
    assert f"File {folder}{SUMS} is not the list of" in told[2]
    assert told[3] == told[4] == f"File {folder}{PROVENANCE} is signed, but it is not what the log gives."


def test_shares_are_by_verifiers_and_for_their_tree(world: World) -> None:
    at = world.state.windows[-1].index - 4
    record = ShareSet.open(Envelope.parse(world.entries[at]))
    (share,) = record.shares
    thief = replace(Share.open(Envelope.parse(share)), verifier=world.key("thief").public)
    for shares, words in (
        ((share, share), "not in the order of their verifiers' keys"),
        ((thief.seal(world.key("thief")).encode(),), "not signed by a verifier"),
        ((share.replace(record.run, b"\1" * 32),), "signature"),
        ((world.share(world.verifiers[0], record.size - 1).encode(),), "for another tree"),
        ((record.seal(world.verifiers[0]).encode(),), "holds a share-set"),
        ((share[:-1],), "cut short"),
    ):
        entries = [*world.entries]
        entries[at] = replace(record, shares=shares).seal(world.coordinator).encode()
        (found,) = audits(world.public(), [published(world, entries)])
        told = failures(found)["signatures"]
        assert f"Entry {at} (share-set): " in told
        assert words in told


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


@pytest.mark.parametrize("seed", [0, 7, 10, 13, 18])
def test_any_history_is_followed(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the state takes is signed as it has to be; the page always finds the released batches, or says why not."""
    wanted: dict[int, list[tuple[int, int]]] = {}
    apply = LogState.apply

    def noted(state: LogState, *given: Any, **how: Any) -> Entry:
        entry = apply(state, *given, **how)
        wanted[state.size] = [(batch.index, batch.header.plies) for batch in state.batches.released]
        return entry

    monkeypatch.setattr("protocol.stamp.stamp_number", lambda message, nonce: 0)
    monkeypatch.setattr(LogState, "apply", noted)
    history = History(seed)
    for _ in range(500):
        history.step()
    world = history.world
    found = answer("releases.js", {"run": world.run.hex(), "entries": [entry.hex() for entry in world.entries]})
    assert len(found) == world.state.size
    for size, released in wanted.items():
        batches, doubt = found[size - 1]["batches"], found[size - 1]["doubt"]
        assert doubt["causes"] or batches == [index for index, _ in released], size
        assert doubt["least"] <= sum(plies for _, plies in released) <= doubt["most"], size
