"""What a node keeps of peers that went: nothing."""

import pytest
import trio

from node.peering.libp2p.mends import forgetting
from node.peering.libp2p.opening import open_libp2p
from tests.node.keys import secret

STRANGERS = 8


async def test_peers_that_went_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forgetting, "LOOK_S", 0.5)
    async with open_libp2p(secret(0)) as node, open_libp2p(secret(1)) as honest:
        await honest.dial(node.addresses()[0])
        for number in range(STRANGERS):
            async with open_libp2p(secret(2 + number)) as stranger:
                await stranger.dial(node.addresses()[0])
        store = node.host.get_peerstore()
        with trio.fail_after(10):
            while len(store.peer_ids()) > 2:
                await trio.sleep(0.1)
        assert node.peers() == (honest.key,)
        await trio.sleep(1.5)  # who is connected stays, whatever time passes
        assert len(store.peer_ids()) == 2
        assert not node.host.get_network().auto_connector._recent_disconnects
        async with open_libp2p(secret(2)) as stranger:
            await stranger.dial(node.addresses()[0])
            assert await node.dial(stranger.addresses()[0]) == stranger.key
