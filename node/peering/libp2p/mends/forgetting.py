"""Forgets peers that went: py-libp2p 0.8.1 keeps keys, addresses, protocols and times of whoever connected once.

Spec: docs/spec/swarm.md ("Hardening"). Its own clean-up is never started, so strangers with ever new keys would fill the
memory. What a node knows of peers beyond a connection is in `node.peering.table`.
"""

from collections.abc import Callable, Collection
from typing import Any, Final

import trio

LOOK_S: Final = 20.0
"""What was kept of a peer goes at the second look that finds it gone: by then nothing is under way with it."""


async def forget_gone(host: Any, is_dialing: Callable[[Any], bool]) -> None:
    """Has `host` forget peers that are not connected, until cancelled; `is_dialing(peer)` says whom it is about to be."""
    network, store = host.get_network(), host.get_peerstore()
    gone: Collection[Any] = ()
    while True:
        await trio.sleep(LOOK_S)
        kept = {host.get_id(), *network.connections}
        absent = {peer for peer in store.peer_ids() if peer not in kept and not is_dialing(peer)}
        for peer in absent.intersection(gone):
            store.clear_peerdata(peer)
        gone = absent
        network.auto_connector._recent_disconnects.clear()
