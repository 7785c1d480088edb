"""Audits of what a web server shows: an honest run passes, what is wrong there is named, and a kept copy is gone on with."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from node.audits import copies, http_files, url_copy
from node.audits.errors import AuditInputError
from node.audits.url_copy import audit_url
from node.disk.home import Home, HomeError
from node.disk.keyring import create_key
from node.peering.transport import Unreachable
from protocol.checkpoint import Checkpoint, SignedNote
from protocol.layout import CHECKPOINT, MANIFEST, ROOT, blob_path
from protocol.tiles import Tile
from tests.node.audits.web_server import Server, says, web_server
from tests.node.homes import TICKET, grown_world, ticket_of
from tests.node.keys import secret
from tests.verification.world import World
from verification.audit.audit import AuditOptions, AuditReport, Progress
from verification.audit.files import kept_blobs, logged_files


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setattr(http_files, "AGAIN_S", 0.01)
    with web_server(grown_world().public()) as server:
        yield server


def nobody(progress: Progress) -> None:
    """Progress that nobody hears of."""


def audited(server: Server, directory: Path | None = None, ticket: str | None = None) -> AuditReport:
    return audit_url(server.url, ticket, directory, AuditOptions(sample=1), None, nobody)


def failures(report: AuditReport) -> dict[str, str]:
    return {check.name: check.detail for check in report.checks if check.ok is False}


def test_an_honest_run_passes(server: Server) -> None:
    heard: list[Progress] = []
    report = audit_url(server.url, None, None, AuditOptions(full=True), None, heard.append)
    assert failures(report) == {}
    assert report.ok
    assert "The server lists nothing" in report.checks[1].detail
    assert {each.kind for each in heard if each.check == "copy"} == {"tiles", "entries", "files", "blobs"}
    world = grown_world()
    named = {*logged_files(world.state, world.entries), *map(blob_path, kept_blobs(world.state)), CHECKPOINT}
    assert {path for path in server.asked if not path.startswith("tile/")} == named
    assert len(server.asked) == len(set(server.asked)), "each file is asked for once"
    assert server.connections <= url_copy.AT_ONCE + 1


def test_what_is_wrong_there_is_named(server: Server) -> None:
    world = grown_world()
    batch = blob_path(world.state.windows[-1].window.batches[0].header.blob_digest)
    tile = next(path for path in server.files if path.startswith("tile/0"))
    bundle = next(path for path in server.files if path.startswith("tile/entries"))
    for path, check in ((batch, "window"), (tile, "head"), (bundle, "head"), (ROOT, "files"), (CHECKPOINT, "head")):
        data = server.files[path]
        server.files[path] = data[:-1] + bytes([data[-1] ^ 1])
        assert path in failures(audited(server))[check], path
        del server.files[path]
        if path != CHECKPOINT:
            assert path in failures(audited(server))[check], path
        server.files[path] = data
    assert audited(server).ok


def test_blobs_that_are_not_asked_for_may_be_absent(server: Server) -> None:
    world = grown_world()
    early = world.state.gates.all[0].slots[0].result
    assert early is not None
    server.answers[blob_path(early.result.blob_digest)] = says(403)
    report = audited(server)
    assert report.ok
    assert "blobs that are not here" in report.checks[1].detail


def test_where_no_run_is(server: Server) -> None:
    with pytest.raises(AuditInputError, match="no run is shown here"):
        audit_url(server.url + "other/", None, None, AuditOptions(), None, nobody)
    server.answers[MANIFEST] = says(500)
    with pytest.raises(Unreachable, match="the server says 500 for manifest"):
        audited(server)


def test_a_log_that_nobody_could_keep(server: Server) -> None:
    note = SignedNote.parse(server.files[CHECKPOINT])
    head = Checkpoint.parse(note.text)
    huge = Checkpoint(head.origin, 1 << 40, head.root_hash)
    server.files[CHECKPOINT] = huge.sign(grown_world().coordinator).encode()
    assert "is missing, but the checkpoint is of" in failures(audited(server))["head"]
    assert server.asked == [CHECKPOINT]


def test_a_ticket_says_which_run_it_has_to_be(server: Server, tmp_path: Path) -> None:
    assert audited(server, ticket=ticket_of(grown_world()).encode()).ok
    assert "not of" in failures(audited(server, ticket=TICKET))["head"]
    assert audited(server, tmp_path, ticket_of(grown_world()).encode()).ok
    with pytest.raises(HomeError, match="lives here"):
        audited(server, tmp_path, TICKET)


def test_a_kept_copy_is_gone_on_with(server: Server, tmp_path: Path) -> None:
    assert audited(server, tmp_path).ok
    world = grown_world()
    home = Home(tmp_path)
    damaged = blob_path(world.state.release.network_blob)
    (home.public / damaged).write_bytes(b"damaged")
    server.asked.clear()
    assert audited(server, tmp_path).ok
    assert [path for path in server.asked if path.startswith("blob/") and path in server.files] == [damaged]
    (home.public / "stranger").write_bytes(b"x")
    assert "File stranger is unknown" in failures(audited(server, tmp_path))["files"]


def test_an_interrupted_copy_is_gone_on_with(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(url_copy, "AT_ONCE", 1)
    blobs = sorted(path for path in server.files if path.startswith("blob/"))

    def interrupt(progress: Progress) -> None:
        if (progress.kind, progress.done) == ("blobs", 5):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        audit_url(server.url, None, tmp_path, AuditOptions(sample=1), None, interrupt)
    before = {path for path in blobs if (tmp_path / "public" / path).is_file()}
    assert before
    server.asked.clear()
    assert audited(server, tmp_path).ok
    assert not before & set(server.asked)


def full_tiles(world: World) -> list[str]:
    return [path for path in world.public() if path.startswith("tile/") and Tile.parse(path).width == 256]


@pytest.fixture(scope="module")
def long() -> World:
    """A run with a full bundle."""
    world = World()
    world.ticks(300)
    return world


def test_full_tiles_are_kept_while_they_fit(long: World, tmp_path: Path) -> None:
    public = Home(tmp_path).public
    with web_server(long.public()) as server:
        assert audited(server, tmp_path).ok
        kept = full_tiles(long)
        assert len(kept) == 2
        server.asked.clear()
        assert audited(server, tmp_path).ok
        assert not set(kept) & set(server.asked)
        bundle = next(path for path in kept if "entries" in path)
        (public / bundle).write_bytes(b"\0" * 600)
        assert audited(server, tmp_path).ok
        assert bundle in server.asked


def test_a_run_that_goes_on_meanwhile(tmp_path: Path) -> None:
    """The checkpoint that comes first is replaced, and its narrow tiles are gone, before they are asked for."""
    world = World()
    notes = [world.note()]
    for _ in range(2):
        world.ticks(1)
        notes.append(world.note())
    world.ticks(1)
    with web_server(world.public()) as server:
        server.answers[CHECKPOINT] = lambda handler: handler.give(200, notes.pop(0) if notes else world.note())
        report = audited(server, tmp_path)
        assert report.ok, failures(report)
        assert f"{world.state.size} entries" in report.checks[0].detail
        gone = next(path for path in server.files if path.startswith("tile/entries"))
        del server.files[gone]
        assert gone in failures(audited(server, tmp_path))["head"]
        assert server.asked.count(CHECKPOINT) == 4 + 2


def test_a_head_that_was_in_order_is_not_contradicted_later(long: World, tmp_path: Path) -> None:
    fork, run = World(), World(word="other")
    fork.ticks(299)
    fork.begin_epoch(fork.verifiers[0])
    fork.ticks(5)
    assert fork.run == long.run
    with web_server(long.public()) as server:
        assert audited(server, tmp_path).ok
        server.files = fork.public()
        assert audited(server).ok, "by itself the other history is in order"
        assert "it forked" in failures(audited(server, tmp_path))["head"]
        server.files = run.public()
        with pytest.raises(AuditInputError, match="a copy of another run is here"):
            audited(server, tmp_path)


def test_where_a_node_lives_nothing_is_copied(server: Server, tmp_path: Path) -> None:
    create_key(Home(tmp_path).key("host"), secret(0))
    with pytest.raises(AuditInputError, match="a node lives here"):
        audited(server, tmp_path)


@pytest.mark.parametrize("place", ["public", "public/tile", "public/.checkpoint.new", "public.partial"])
def test_through_links_nothing_is_copied(place: str, server: Server, tmp_path: Path) -> None:
    directory, elsewhere = tmp_path / "copy", tmp_path / "elsewhere"
    assert audited(server, directory).ok
    link = directory / place
    if link.exists():
        link.rename(elsewhere)
    else:
        elsewhere.mkdir()
    before = sorted(elsewhere.rglob("*"))
    link.symlink_to(elsewhere)
    asked = len(server.asked)
    with pytest.raises(AuditInputError, match=rf"{place}: this is a link or no regular file"):
        audited(server, directory)
    assert (sorted(elsewhere.rglob("*")), len(server.asked)) == (before, asked)


def test_a_copy_does_not_fill_the_disk(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    free = shutil.disk_usage(tmp_path).free
    monkeypatch.setattr(copies, "LEAST_FREE", 2 * free)
    with pytest.raises(
        AuditInputError, match=r"the copy was stopped, since its disk would have less than \d+ MiB left"
    ):
        audited(server, tmp_path)
    assert not list((tmp_path / "public").rglob("*"))
