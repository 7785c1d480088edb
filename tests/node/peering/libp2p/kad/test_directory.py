"""The directory over libp2p: what one node provides another one finds, in one run, for a while."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import pairwise
from typing import Any

import pytest
import trio
from libp2p.utils.varint import encode_varint_prefixed, read_varint_prefixed_bytes_limited

from node.peering.libp2p.kad import directory, records
from node.peering.libp2p.kad.message import MAX_ANSWER, KadMessage, Kind, Told, content_target
from node.peering.libp2p.opening import open_libp2p
from node.peering.libp2p.transport import Libp2pTransport
from node.peering.transport import MAX_FOUND, Unreachable, id_bytes, peer_id
from protocol.ed25519 import SecretKey

RUN, OTHER_RUN = b"a" * 32, b"b" * 32
KEY = b"k" * 32


@asynccontextmanager
async def chain(number: int) -> AsyncIterator[list[Libp2pTransport]]:
    """Nodes of which each is connected to the next one alone."""
    async with AsyncExitStack() as stack:
        nodes = [await stack.enter_async_context(open_libp2p(SecretKey.generate(), run=RUN)) for _ in range(number)]
        for one, next_one in pairwise(nodes):
            await one.dial(next_one.addresses()[0])
        await trio.sleep(0.5)  # for the peers to be identified
        yield nodes


async def test_what_is_provided_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    async with chain(6) as nodes:
        with pytest.raises(Unreachable):
            async with open_libp2p(SecretKey.generate(), run=RUN) as alone:
                await alone.find(KEY)
        assert await nodes[5].find(KEY) == ()
        before = [node.peers() for node in nodes]
        await nodes[0].provide(KEY)
        await nodes[2].provide(KEY)
        provided = {nodes[0].addresses()[0], nodes[2].addresses()[0]}
        for node in nodes[3:]:
            assert set(await node.find(KEY)) == provided
        assert await nodes[0].find(KEY) == nodes[2].addresses()
        first = nodes[0]._directory
        assert first is not None
        with trio.fail_after(20):  # who was asked is added once its answer is read, and later on a busy machine
            while {contact.key for contact in first.contacts.closest(KEY, 20)} != {node.key for node in nodes[1:]}:
                await trio.sleep(0.5)  # whoever asks without a pause is soon not answered
                assert await nodes[0].find(KEY) == nodes[2].addresses()
        assert [node.peers() for node in nodes] == before  # connections for look-ups end with them

        async with open_libp2p(SecretKey.generate(), run=RUN) as newcomer:
            await newcomer.dial(nodes[5].addresses()[0])
            assert set(await newcomer.find(KEY)) == provided

    assert all(not node.faults()["directory refused"] for node in nodes)


async def test_a_node_that_left_is_not_given_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "RECORD_S", 1.0)
    async with chain(3) as nodes:
        async with open_libp2p(SecretKey.generate(), run=RUN) as leaver:
            await leaver.dial(nodes[0].addresses()[0])
            await leaver.provide(KEY)
            assert await nodes[2].find(KEY) == leaver.addresses()
        await trio.sleep(1.0)
        assert await nodes[2].find(KEY) == ()


async def test_a_liar_crowds_nobody_out() -> None:
    async def lie(stream: Any) -> None:
        await read_varint_prefixed_bytes_limited(stream, MAX_ANSWER)
        told = tuple(Told(bytes([each]) * 32, (f"/ip4/127.0.0.1/tcp/{each + 1}",)) for each in range(20))
        await stream.write(
            encode_varint_prefixed(KadMessage(Kind.GET_PROVIDERS, content_target(KEY), (), told).encode())
        )
        await stream.close()

    async with chain(3) as nodes, open_libp2p(SecretKey.generate()) as liar:
        await nodes[0].provide(KEY)
        liar.host.set_stream_handler(directory.directory_protocol(RUN), lie)
        await nodes[2].dial(liar.addresses()[0])
        found = await nodes[2].find(KEY)
        assert nodes[0].addresses()[0] in found
        assert len(found) == MAX_FOUND


async def test_runs_do_not_mix() -> None:
    async with (
        open_libp2p(SecretKey.generate(), run=RUN) as one,
        open_libp2p(SecretKey.generate(), run=OTHER_RUN) as other,
        open_libp2p(SecretKey.generate()) as neither,
    ):
        await one.dial(other.addresses()[0])
        await one.dial(neither.addresses()[0])
        for call in (one.provide, one.find, other.provide, other.find, neither.provide, neither.find):
            with pytest.raises(Unreachable):
                await call(KEY)


async def test_a_failed_refresh_is_counted_and_begun_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(directory, "_WAIT_FOR_PEERS_S", 0.01)
    monkeypatch.setattr(directory, "_RESTART_S", 0.01)
    failures = 0

    def fail(*args: object) -> None:
        nonlocal failures
        failures += 1
        if failures < 3:
            raise RuntimeError("a part that fails")

    monkeypatch.setattr(directory.Directory, "_meet", fail)
    async with chain(2) as nodes:
        with trio.fail_after(5):
            while nodes[0].faults()["directory"] + nodes[1].faults()["directory"] < 2:
                await trio.sleep(0.01)
        assert await nodes[0].find(KEY) == ()


def test_the_protocols_name() -> None:
    assert directory.directory_protocol(RUN) == f"/gonode/{'61' * 8}/kad/1.0.0"


async def test_the_librarys_own_kademlia_takes_part_under_our_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """What this node serves and what it asks is libp2p's Kademlia: py-libp2p's finds and provides through it."""
    from libp2p.kad_dht import common, kad_dht, peer_routing, provider_store
    from libp2p.peer.id import ID

    for module in (common, kad_dht, peer_routing, provider_store):
        monkeypatch.setattr(module, "PROTOCOL_ID", directory.directory_protocol(RUN))
    theirs, ours = content_target(KEY).hex(), b"o" * 32
    async with chain(3) as nodes, open_libp2p(SecretKey.generate()) as other:
        await other.dial(nodes[0].addresses()[0])
        dht = kad_dht.KadDHT(other.host, kad_dht.DHTMode.SERVER)
        await dht.add_peer(ID(id_bytes(nodes[0].key)))
        await nodes[2].provide(KEY)
        for found in await dht.find_providers(theirs):
            assert found.peer_id.to_bytes() == id_bytes(nodes[2].key)
            assert [f"{address}/p2p/{peer_id(nodes[2].key)}" for address in found.addrs] == list(nodes[2].addresses())
        assert found
        assert await dht.provide(content_target(ours).hex())
        await trio.sleep(0.3)
        assert await nodes[2].find(ours) == other.addresses()
