"""Puts a host of py-libp2p together: TCP, WebSocket, Noise, Yamux and GossipSub, restricted and mended.

Spec: docs/spec/wire.md ("Connection"), docs/spec/swarm.md ("Hardening"). Nothing weaker than Noise is offered.
"""

import os
from typing import Any, Final

from node.peering.libp2p.mends import hardening
from node.peering.libp2p.quota import Limits
from protocol.ed25519 import SecretKey

MESHSUB: Final = ("/meshsub/1.2.0", "/meshsub/1.1.0", "/meshsub/1.0.0")
_MAX_RPC: Final = 256 << 10


def build_host(secret: SecretKey, limits: Limits, quota: Any) -> tuple[Any, Any, Any]:
    """The host, the pubsub and the router, not running yet."""
    from libp2p import new_host
    from libp2p.crypto.ed25519 import create_new_key_pair
    from libp2p.crypto.x25519 import create_new_key_pair as create_new_x25519_key_pair
    from libp2p.custom_types import TProtocol
    from libp2p.network.config import ConnectionConfig, RetryConfig
    from libp2p.pubsub.gossipsub import GossipSub
    from libp2p.pubsub.pubsub import Pubsub
    from libp2p.security.noise.transport import PROTOCOL_ID as NOISE
    from libp2p.security.noise.transport import Transport as NoiseTransport
    from libp2p.stream_muxer.yamux.yamux import PROTOCOL_ID as YAMUX
    from libp2p.transport.tcp.tcp import TCP

    from node.peering.libp2p.mends.gossip_quota import bound_gossip
    from node.peering.libp2p.mends.yamux import BoundedYamux
    from node.peering.libp2p.websocket import WebSocketTransport

    keys = create_new_key_pair(secret.seed)
    noise = NoiseTransport(keys, noise_privkey=create_new_x25519_key_pair().private_key)
    host: Any = new_host(
        key_pair=keys,
        muxer_opt={TProtocol(YAMUX): BoundedYamux},
        sec_opt={NOISE: noise},
        resource_manager=quota,
        transports=[TCP(), WebSocketTransport(quota)],
        connection_config=ConnectionConfig(
            max_connections=limits.connections,
            min_connections=0,
            low_watermark=0,
            high_watermark=limits.connections,
            max_connections_per_peer=2,
        ),
        disable_identify_address_discovery=True,
    )
    network = host.get_network()
    network.set_resource_manager(quota, enable_stream_semaphore=False)
    network.retry_config = RetryConfig(max_retries=0)
    hardening.harden_host(host)
    router = GossipSub(
        protocols=[TProtocol(name) for name in MESHSUB],
        degree=16,
        degree_low=12,
        degree_high=64,
        heartbeat_interval=1,
        adaptive_gossip_enabled=False,  # it makes that a minute where links are few
        spam_protection_enabled=False,
        px_peers_count=0,
    )
    pubsub = Pubsub(host, router, strict_signing=True, max_inbound_rpc_size=_MAX_RPC)
    bound_gossip(pubsub, quota)
    # The library counts from the seconds of the clock: what a host publishes that is started again would be taken for what
    # it published before.
    pubsub.counter = int.from_bytes(os.urandom(7))
    return host, pubsub, router
