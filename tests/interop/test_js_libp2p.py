"""A js-libp2p peer, written from `docs/spec/wire.md` alone, and processes of gonode understand each other."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import trio

from node.blobs.service import BlobService
from node.disk.blob_store import BlobStore
from node.disk.store import Store
from node.following.follower import LogFollower
from node.peering.call import call
from node.peering.libp2p.opening import open_libp2p
from protocol import codec
from protocol.blob import blob_digest
from protocol.merkle import Tree
from protocol.ticket import Ticket
from tests.e2e.process import log_of
from tests.interop.javascript import HERE, install, program, serving, started
from tests.interop.served_run import LONG, ServedRun, served_run
from tests.node.keys import secret
from verification.state import LogState

HEADS = 5


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedRun]:
    install()
    with served_run(tmp_path_factory.mktemp("served")) as served:
        yield served


@pytest.fixture(scope="module")
def joined(run: ServedRun) -> Any:
    """What the JavaScript client found."""
    done = program("client.js", run.ticket, "--heads", HEADS, "--within", 40, "--blob", blob_digest(LONG).hex())
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def root_at(run: ServedRun, size: int) -> str:
    """The root over the coordinator's first entries."""
    tree = Tree()
    for entry in log_of(run.coordinator.directory)[:size]:
        tree.append(entry)
    assert tree.size == size
    return tree.root().hex()


def test_it_imports_its_packages_only() -> None:
    named = set(json.loads((HERE / "package.json").read_text(encoding="utf-8"))["dependencies"])
    for path in HERE.glob("*.js"):
        for name in re.findall(r"^import .*?'([^']+)'", path.read_text(encoding="utf-8"), re.M):
            assert name in named or name.startswith("node:") or (HERE / name).parent == HERE


def test_the_lock_names_no_host() -> None:
    lock = (HERE / "package-lock.json").read_text(encoding="utf-8")
    assert "://" not in lock
    assert lock.count('"integrity"') > 50


def test_it_identifies_the_peer(run: ServedRun, joined: Any) -> None:
    (address,) = Ticket.parse(run.ticket).addresses
    assert joined["address"] == address
    assert joined["peer"] == address.rpartition("/")[2]
    assert set(joined["protocols"]) >= {
        *(f"/gonode/{name}/1" for name in ("log", "blob", "peers", "post", "cosign")),
        "/meshsub/1.1.0",
        "/ipfs/id/1.0.0",
    }
    assert 0 <= joined["ping_ms"] < 10_000


def test_it_follows_the_log(run: ServedRun, joined: Any) -> None:
    assert joined["run"] == run.world.run.hex()
    for head in (joined["head"], joined["cosigned"]):
        assert head["size"] >= len(run.world.entries)
        assert head["root_hash"] == root_at(run, head["size"])
    assert joined["cosigned"]["cosigned"] == 1
    assert joined["size"] >= joined["head"]["size"]


def test_it_fetches_the_newest_release(run: ServedRun, joined: Any) -> None:
    release = run.world.state.release
    assert joined["release"] == {
        "number": 1,
        "name": release.name,
        "network": release.network.hex(),
        "bytes": len(run.world.networks[release.network]),
        "chunks": 1,
    }


def test_it_fetches_every_chunk(joined: Any) -> None:
    (blob,) = joined["blobs"]
    assert (blob["bytes"], blob["chunks"]) == (len(LONG), 2)
    assert blob["digest"] == blob_digest(LONG).hex()


def test_it_hears_the_announced_heads(run: ServedRun, joined: Any) -> None:
    heads = joined["heads"]
    assert len(heads) >= HEADS
    assert heads[-1]["size"] > joined["cosigned"]["size"]
    assert joined["size"] >= max(head["size"] for head in heads)
    for head in heads:
        assert head["root_hash"] == root_at(run, head["size"])
    assert {head["cosigned"] for head in heads} == {0, 1}


def test_it_joins_by_websocket(run: ServedRun) -> None:
    done = program("client.js", run.websocket_ticket, "--heads", 1, "--within", 40, "--blob", blob_digest(LONG).hex())
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    (address,) = Ticket.parse(run.websocket_ticket).addresses
    assert found["address"] == address
    assert "/ws/" in address
    assert found["release"]["number"] == 1
    assert found["blobs"][0]["bytes"] == len(LONG)
    assert len(found["heads"]) >= 1


def test_it_believes_no_other_root(run: ServedRun) -> None:
    ticket = Ticket.parse(run.ticket)
    done = program("client.js", Ticket(ticket.run, bytes(32), ticket.addresses).encode())
    assert done.returncode == 1
    assert done.stderr == "Not believed: the root's digest.\n"


async def test_gonode_follows_and_fetches_from_it(run: ServedRun, tmp_path: Path) -> None:
    file = tmp_path / "long"
    file.write_bytes(LONG)
    with serving("mirror.js", run.ticket, file) as mirror, trio.fail_after(60):
        assert mirror["size"] >= len(run.world.entries)
        async with open_libp2p(secret(60)) as transport:
            peer = await transport.dial(mirror["address"])
            nobody = codec.encode({"addresses": []})
            assert await call(transport, peer, "/gonode/peers/1", nobody) == nobody
            blobs = BlobService(transport, BlobStore(tmp_path / "public"))
            assert mirror["blobs"] == [blob_digest(LONG).hex()]
            assert await blobs.fetch(blob_digest(LONG), [peer]) == LONG
            with Store(tmp_path / "node.db") as store:
                state = LogState(run.world.run)
                follower = LogFollower(transport, state, store, lambda: [peer], tmp_path)
                assert await follower.sync_once()
                assert state.size == mirror["size"]
                assert state.tree.root().hex() == root_at(run, state.size)
                cosigned = await follower.cosigned()
                assert cosigned is not None
                assert cosigned.size >= len(run.world.entries)


def test_it_hears_heads_of_a_coordinator_that_was_killed_and_started_again(run: ServedRun) -> None:
    with started("client.js", run.ticket, "--heads", 1000, "--within", 80) as client:
        assert client.stderr is not None
        assert "joined\n" in client.stderr
        run.kill()
        size = len(log_of(run.coordinator.directory))
        run.start()
        lines = (re.fullmatch(r"heard (\d+)\n", line) for line in client.stderr)
        assert next(line for line in lines if line is not None and int(line[1]) > size)
