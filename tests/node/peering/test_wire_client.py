"""A client that was written from `docs/spec/wire.md` alone joins a run over libp2p on loopback."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pytest
import trio

from node.blobs.service import BlobService
from node.coordinator.intake import Intake
from node.coordinator.log_writer import LogWriter
from node.coordinator.opening import OwnReach
from node.disk.blob_store import BlobStore
from node.disk.home import Home
from node.disk.store import Head, Store
from node.events import silent
from node.following.service import LogService
from node.member import Member
from node.peering.call import serve_calls
from node.peering.libp2p.opening import open_libp2p
from node.peering.links import Links
from node.peering.post import POST_PROTOCOL
from node.peering.table import PeerTable
from node.peering.transport import Transport
from protocol.ticket import Ticket
from tests.node.keys import secret
from tests.node.peering import wire_client
from tests.node.peering.wire_client import NotBelieved, Refused, WireClient
from tests.verification.world import World
from verification.state import LogState

LONG = b"go" * (700 << 10)


@dataclass
class Run:
    """A run's coordinator in this process, with one release."""

    world: World
    transport: Transport
    log: LogWriter
    member: Member

    @property
    def ticket(self) -> str:
        """The run's ticket."""
        return Ticket(self.world.run, self.world.root.digest(), self.transport.addresses()).encode()


@asynccontextmanager
async def coordinator(path: Path) -> AsyncIterator[Run]:
    """Serves log, blobs and posts as a coordinator does; nothing trains and nobody decides."""
    world = World()
    world.register("ada")
    world.cycle()
    world.put(LONG)
    state = LogState(world.run)
    home = Home(path / "coordinator")
    async with open_libp2p(secret(0)) as transport:
        with Store(home.database) as store:
            for entry in world.entries:
                state.apply(entry)
            store.append(world.entries)
            store.put_head(Head(state.size, state.tree.root(), world.note()))
            blob_store = BlobStore(home.public)
            for blob in world.blobs.values():
                blob_store.put(blob)
            blobs = BlobService(transport, blob_store)
            LogService(transport, state, store)
            clock = trio.current_time
            reach = OwnReach(transport, Random(1))
            member = Member(home, transport, state, store, blobs, blob_store, reach, silent, clock, Random(1))
            log = LogWriter(state, store, world.coordinator, home.public, clock)
            intake = Intake(member, world.coordinator, log, None)  # type: ignore[arg-type]  # nothing is replayed
            serve_calls(transport, POST_PROTOCOL, intake.call)
            yield Run(world, transport, log, member)


@asynccontextmanager
async def stranger(ticket: str) -> AsyncIterator[WireClient]:
    """The client on a plain libp2p host, connected to the ticket's first address."""
    from libp2p import new_host
    from libp2p.crypto.ed25519 import create_new_key_pair
    from libp2p.crypto.x25519 import create_new_key_pair as create_new_x25519_key_pair
    from libp2p.custom_types import TProtocol
    from libp2p.peer.peerinfo import info_from_p2p_addr
    from libp2p.security.noise.transport import PROTOCOL_ID as NOISE
    from libp2p.security.noise.transport import Transport as NoiseTransport
    from libp2p.stream_muxer.yamux.yamux import PROTOCOL_ID as YAMUX
    from libp2p.stream_muxer.yamux.yamux import Yamux
    from multiaddr import Multiaddr  # type: ignore[import-untyped]

    keys = create_new_key_pair(secret(50).seed)
    noise = NoiseTransport(keys, noise_privkey=create_new_x25519_key_pair().private_key)
    host: Any = new_host(key_pair=keys, muxer_opt={TProtocol(YAMUX): Yamux}, sec_opt={NOISE: noise})
    info = info_from_p2p_addr(Multiaddr(wire_client.read_ticket(ticket)["addresses"][0]))
    for name in [each for each in host.get_mux().get_protocols() if str(each).startswith("/ipfs/")]:
        del host.get_mux().handlers[name]  # it need not speak them
    async with host.run(listen_addrs=[Multiaddr("/ip4/127.0.0.1/tcp/0")]):
        await host.connect(info)
        yield WireClient(host, info.peer_id, ticket)
        await host.disconnect(info.peer_id)


def test_the_client_knows_the_page_only() -> None:
    source = Path(wire_client.__file__).read_text(encoding="utf-8")
    assert re.findall(r"^\s*(?:from|import) (?:node|protocol|verification|native|trainer|tests)\b", source, re.M) == []


async def test_it_follows_fetches_and_posts(tmp_path: Path) -> None:
    with trio.fail_after(50):
        async with coordinator(tmp_path) as run, stranger(run.ticket) as client:
            world = run.world
            await client.begin()
            cosigned = await client.follow("cosigned", limit=7)
            assert cosigned == len(world.entries)
            assert client.entries == world.entries

            file = await client.fetch_network(client.newest_release(cosigned))
            assert file == world.networks[world.state.release.network]
            assert await client.fetch(world.put(LONG), len(LONG)) == LONG

            ada = world.peers["ada"]
            header = world.header(ada, world.games(ada, 2))
            blob = world.blobs[header.blob_digest]
            envelope = header.seal(ada).encode()
            assert client.serve(blob) == header.blob_digest
            index, receipt = await client.post(envelope)
            assert index == cosigned
            assert run.member.blob_store.get(header.blob_digest) == blob
            assert run.log.sign_head()
            assert await client.follow() == index + 1
            client.verify_receipt(receipt, envelope)
            again, same = await client.post(envelope)
            assert (again, same["subject"]) == (index, receipt["subject"])


async def test_it_keeps_its_link(tmp_path: Path) -> None:
    with trio.fail_after(50):
        async with coordinator(tmp_path) as run, stranger(run.ticket) as client:
            client.serve_peers()
            links = Links(run.transport, PeerTable(run.member.store, run.transport.key, trio.current_time, Random(1)))
            (key,) = run.transport.peers()
            for _ in range(3):
                await links._exchange(key)
            assert run.transport.peers() == (key,)
            client.host.remove_stream_handler("/gonode/peers/1")
            for _ in range(2):
                await links._exchange(key)
            assert run.transport.peers() == ()


async def test_it_meets_refusals_and_believes_no_lie(tmp_path: Path) -> None:
    with trio.fail_after(50):
        async with coordinator(tmp_path) as run, stranger(run.ticket) as client:
            with pytest.raises(Refused, match="is not here"):
                await client.fetch(bytes(32), 100)
            with pytest.raises(Refused, match="not a request"):
                await client.ask_log({"op": "tail"})
            with pytest.raises(Refused, match="Only the coordinator logs a tick"):
                await client.post(run.world.entries[_tick_in(run)])
            await client.begin()
            client.entries[1] = client.entries[0]
            with pytest.raises(NotBelieved, match="the proof"):
                await client.follow()
            client.run = bytes(32)
            with pytest.raises(NotBelieved, match="the run id"):
                await client.begin()


def _tick_in(run: Run) -> int:
    run.world.ticks(1)
    return len(run.world.entries) - 1
