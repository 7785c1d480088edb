"""The coordinator's pen: shares survive restarts, heads are shown only when cosigned, and the folder is always whole."""

import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from node.coordinator.log_writer import SHARES_KEY, SHARES_WITHIN_S
from protocol.checkpoint import Checkpoint, SignedNote
from protocol.epoch import Share
from protocol.errors import BadProof, ProtocolError, WrongSigner
from protocol.layout import CHECKPOINT
from protocol.receipt import Tick
from protocol.registration import Invite, Registration
from protocol.seeds import log_origin
from tests.node.keys import secret
from tests.node.log_desk import Desk
from tests.verification.world import World
from verification.faults import LogFault
from verification.witness import verify_head


@pytest.fixture
def two(tmp_path: Path) -> Iterator[Desk]:
    """A run with two verifiers, both of whom have to cosign."""
    desk = Desk(tmp_path, World(verifiers=2))
    yield desk
    desk.store.close()


@pytest.fixture
def three(tmp_path: Path) -> Iterator[Desk]:
    """A run with three verifiers, two of whom have to cosign."""
    desk = Desk(tmp_path, World(verifiers=3))
    yield desk
    desk.store.close()


def test_entries_are_on_disk_and_refused_ones_are_not(two: Desk) -> None:
    size = two.world.state.size
    assert two.tick() == size
    assert two.store.log_size == two.world.state.size == size + 1
    with pytest.raises(LogFault):
        two.writer.append(Tick(two.world.run, size, 0).seal(secret(1)))
    with pytest.raises((LogFault, ProtocolError)):
        two.writer.append(Invite(two.world.run, bytes(16), 1).seal(two.world.coordinator))
    assert two.store.log_size == two.world.state.size == size + 1


def test_what_the_disk_does_not_take_is_not_logged(two: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    size, root = two.world.state.size, two.world.state.tree.root()

    def full(entries: object) -> int:
        raise sqlite3.OperationalError("database or disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(two.store, "append", full)
        with pytest.raises(sqlite3.OperationalError):
            two.tick()
    assert (two.world.state.size, two.world.state.tree.root(), two.store.log_size) == (size, root, size)
    assert two.tick() == size


def test_a_head_is_signed_only_for_something_new(two: Desk) -> None:
    assert two.writer.sign_head()  # a new process cannot know whether the last one signed
    assert not two.writer.sign_head()
    size = two.sign()
    assert not two.writer.sign_head()
    for verifier in two.world.verifiers:
        two.cosign(verifier, size)
    assert two.world.state.beacons.last_size == size
    assert not two.writer.sign_head(), "a share set alone makes no new head"


def test_who_registers_waits_for_no_tick(two: Desk) -> None:
    """The share set that gives a newcomer its seeds is under a head at once; the one that follows is not."""
    world = two.world
    assert two.writer.sign_head()
    key = world.key("ada")
    record = Registration(
        world.run, key.public, "ada", b"", world.state.size, world.state.tree.root(), world.invite("ada"), 0
    )
    index = two.writer.append(record.seal(key))
    assert two.writer.sign_head()
    size = world.state.size
    for verifier in world.verifiers:
        two.cosign(verifier, size)
    found = world.state.beacons.find(index)
    assert found is not None
    assert found.set_index == size
    assert two.writer.sign_head()
    for verifier in world.verifiers:
        two.cosign(verifier, size + 1)
    assert world.state.beacons.last_size == size + 1
    assert not two.writer.sign_head()


def test_only_own_heads_are_passed_on(two: Desk) -> None:
    size = two.sign()
    note = two.writer.newest_note
    assert two.writer.is_head(note)
    two.cosign(two.world.verifiers[0], size)
    assert two.writer.is_head(two.writer.newest_note)
    forged = Checkpoint(log_origin(two.world.run), size + 1, bytes(32)).sign(secret(1)).encode()
    other = Checkpoint(log_origin(bytes(32)), size, bytes(32)).sign(two.world.coordinator).encode()
    for false in (forged, other, note.replace(str(size).encode(), str(size + 1).encode()), b"", b"\xff" * 100):
        assert not two.writer.is_head(false)


def test_idle_time_counts_from_the_last_entry(two: Desk) -> None:
    two.clock_s = 5
    assert two.writer.idle_s == 5
    two.tick()
    assert two.writer.idle_s == 0


def test_a_head_is_shown_once_enough_cosigned(three: Desk) -> None:
    size = three.sign()
    assert three.published() == 0
    three.cosign(three.world.verifiers[0], size)
    assert three.published() == 0
    three.cosign(three.world.verifiers[2], size)
    assert three.published() == size
    three.audit()
    assert not three.share_sets()[1:], "one verifier may still give its share"
    three.cosign(three.world.verifiers[1], size)
    assert three.share_sets()[-1].size == size
    assert len(three.share_sets()[-1].shares) == 3
    assert len(SignedNote.parse((three.public / CHECKPOINT).read_bytes()).signatures) == 4
    three.audit()


def test_shares_are_logged_after_a_while_without_the_rest(three: Desk) -> None:
    size = three.sign()
    three.cosign(three.world.verifiers[0], size)
    three.clock_s += SHARES_WITHIN_S - 0.1
    three.writer.sign_head()
    assert three.world.state.beacons.last_size < size
    three.clock_s += 0.2
    three.writer.sign_head()
    assert three.world.state.beacons.last_size == size
    assert len(three.share_sets()[-1].shares) == 1
    with pytest.raises(BadProof, match="logged already"):
        three.cosign(three.world.verifiers[1], size)
    three.cosign(three.world.verifiers[0], size)  # taken before: nothing changes


def test_a_witness_that_cosigns_twice_counts_once(two: Desk) -> None:
    size = two.sign()
    first, second = two.world.verifiers
    two.cosign(first, size, 1_700_000_000)
    two.cosign(first, size, 1_700_000_001)
    assert two.published() == 0
    two.cosign(second, size)
    assert two.published() == size


def test_what_is_no_cosignature_is_refused(two: Desk) -> None:
    size = two.sign()
    first, second = two.world.verifiers
    share = two.world.share(first, size)
    line = two.line(first, size)
    stranger = secret(4)
    with pytest.raises(WrongSigner, match="Only a verifier"):
        two.writer.add_cosignature(stranger.public, size, two.line(stranger, size), share)
    with pytest.raises(WrongSigner, match="Only a verifier"):
        two.writer.add_cosignature(two.world.coordinator.public, size, line, share)
    with pytest.raises(WrongSigner):
        two.writer.add_cosignature(first.public, size, two.line(second, size), share)
    with pytest.raises(WrongSigner):
        two.writer.add_cosignature(first.public, size, line, two.world.share(second, size))
    with pytest.raises(ProtocolError):
        two.writer.add_cosignature(first.public, size, two.line(first, size - 1), share)
    with pytest.raises(BadProof, match="not for this head"):
        two.writer.add_cosignature(first.public, size, line, two.world.share(first, size - 1))
    for wrong in (size + 7, 2**63, 2**64 - 1):
        with pytest.raises(BadProof, match="never signed"):
            two.writer.add_cosignature(first.public, wrong, line, share)
    misnamed = replace(Share.open(share), verifier=second.public).seal(first)  # no set with it could be logged
    with pytest.raises(WrongSigner, match="another verifier"):
        two.writer.add_cosignature(first.public, size, line, misnamed)
    for text in ("", "\u2014 x y", line[:-4], line + "\n" + line):
        with pytest.raises(ProtocolError):
            two.writer.add_cosignature(first.public, size, text, share)
    assert two.published() == 0
    two.cosign(first, size)
    two.cosign(second, size)
    assert two.published() == size


def test_a_head_is_told_once_when_enough_witnesses_cosigned_it(two: Desk) -> None:
    told: list[bytes] = []
    two.writer.on_cosigned = told.append
    first, second = two.world.verifiers
    size = two.sign()
    two.cosign(first, size)
    assert not told
    two.cosign(second, size)
    two.cosign(second, size)
    (note,) = told
    assert verify_head(SignedNote.parse(note), two.world.run, two.world.state.roots).size == size


def test_a_head_needs_the_witnesses_that_the_root_below_it_says(three: Desk) -> None:
    """A version that asks for more of them, logged meanwhile, counts for the heads above it."""
    first, second, third = three.world.verifiers
    told: list[bytes] = []
    three.writer.on_cosigned = told.append
    size = three.sign()
    three.cosign(first, size)
    change_root(three, witness_threshold=3)
    three.cosign(second, size)
    assert three.published() == size
    three.audit()
    later = three.sign()
    three.cosign(first, later)
    three.cosign(second, later)
    assert (three.published(), len(told)) == (size, 1)
    three.cosign(third, later)
    assert (three.published(), len(told)) == (later, 2)


def test_who_was_revoked_below_a_head_counts_for_it_no_more(three: Desk) -> None:
    first, second, third = three.world.verifiers
    size = three.sign()
    three.cosign(first, size)
    roles = three.world.state.root.roles
    change_root(
        three, roles=tuple(replace(each, invalid_from=size - 1) if each.key == first.public else each for each in roles)
    )
    three.cosign(second, size)
    assert three.published() == 0
    three.cosign(third, size)
    assert three.published() == size


def change_root(desk: Desk, **changes: Any) -> None:
    """Logs the next root version with these changes."""
    root = replace(desk.world.state.root, run=desk.world.run, version=desk.world.state.root.version + 1, **changes)
    desk.writer.append(root.seal(desk.world.root_key))


def test_shares_survive_a_restart(two: Desk) -> None:
    size = two.sign()
    two.cosign(two.world.verifiers[0], size)
    two.restart()
    assert two.published() == 0
    two.cosign(two.world.verifiers[0], size)  # the witness sends again until it is logged: nothing changes
    two.cosign(two.world.verifiers[1], size)
    assert two.published() == size
    assert len(two.share_sets()[-1].shares) == 2
    two.audit()
    two.restart()
    assert two.published() == size
    assert two.writer.newest_note == two.store.newest_head().note  # type: ignore[union-attr]


def test_an_older_head_that_is_cosigned_late_changes_nothing_shown(two: Desk) -> None:
    first, second = two.world.verifiers
    older = two.sign()
    two.cosign(first, older)
    newer = two.sign()
    two.cosign(first, newer)
    two.cosign(second, newer)
    assert two.published() == newer
    with pytest.raises(BadProof, match="logged already"):
        two.cosign(second, older)
    assert two.published() == newer
    two.audit()


def test_every_published_state_is_whole(three: Desk) -> None:
    """Random lengths, witnesses and restarts, over the borders of tiles: what is shown always passes the audit."""
    rng = Random(3)
    sizes = []
    while three.world.state.size < 700:
        for _ in range(rng.choice((0, 1, 3, 40, 120))):
            three.tick()
        size = three.sign()
        if rng.random() < 0.3:
            three.restart()
        for verifier in rng.sample(three.world.verifiers, rng.randrange(4)):
            three.cosign(verifier, size)
            if rng.random() < 0.2:
                three.restart()
        three.clock_s += rng.choice((0.0, 1.0, SHARES_WITHIN_S))
        if three.published():
            three.audit()
            sizes.append(three.published())
    assert sizes == sorted(sizes)
    assert len(set(sizes)) > 5
    assert sizes[-1] > 512


def test_what_a_kill_left_of_a_publication_is_made_good(two: Desk) -> None:
    """Tiles are written before the checkpoint and old ones dropped after it, so any prefix of this shows a whole head."""
    size = two.sign()
    for verifier in two.world.verifiers:
        two.cosign(verifier, size)
    before = {path: path.read_bytes() for path in two.public.rglob("*") if path.is_file()}
    for _ in range(300):
        two.tick()
    newer = two.sign()
    for verifier in two.world.verifiers:
        two.cosign(verifier, newer)
    assert two.published() == newer
    for path, data in before.items():  # as if the kill came before the checkpoint was replaced
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    assert two.published() == size
    two.restart()
    last = two.sign()
    for verifier in two.world.verifiers:
        two.cosign(verifier, last)
    assert two.published() == last
    two.audit()


@pytest.mark.parametrize(
    "value", [b"", b"\xff", b"\x01", b"\xc0", b"\x91\x01", b"\x91\x92\x05\x05", b"\x91\x92\x01\x91\x05"]
)
def test_damaged_shares_are_sent_again(value: bytes, two: Desk) -> None:
    size = two.sign()
    two.cosign(two.world.verifiers[0], size)
    two.store.put(SHARES_KEY, value)
    two.restart()
    for verifier in two.world.verifiers:
        two.cosign(verifier, size)
    assert two.published() == size
    assert len(two.share_sets()[-1].shares) == 2


@pytest.mark.parametrize("value", [b"\xc1", b"\x91\x92\xcd\xff\xff\x90", b"\x91\x92\xcd\xff\xff\x91\xc4\x00"])
def test_shares_that_cannot_be_read_are_named(value: bytes, two: Desk) -> None:
    two.store.put(SHARES_KEY, value)
    with pytest.raises(ProtocolError):
        two.restart()
