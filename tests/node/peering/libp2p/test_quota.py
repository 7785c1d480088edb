"""Quotas of connections: what handshakes under way cost others."""

from collections import Counter

import trio
import trio.testing
from libp2p.crypto.secp256k1 import create_new_key_pair
from libp2p.peer.id import ID

from node.peering.libp2p.quota import Admission, Limits, Quota, handshake


def quota_of(faults: Counter[str], **limits: int) -> Quota:
    return Quota(Limits(**limits), faults, lambda key: False, lambda key, misdeed: None)


def shake(quota: Quota, address: str) -> tuple[Admission | None, trio.CancelScope]:
    """A handshake that begins, and its scope."""
    scope = trio.CancelScope()
    handshake.set(scope)
    return quota.open_connection(None, address, "inbound"), scope


async def test_handshakes_of_few_addresses_shut_nobody_out(autojump_clock: trio.testing.MockClock) -> None:
    faults: Counter[str] = Counter()
    quota = quota_of(faults, handshakes=4)
    slow = [shake(quota, address) for address in ("10.0.0.1", "10.0.0.1", "10.0.0.2", "10.0.0.2")]
    assert all(admission is not None for admission, _ in slow)
    honest, scope = shake(quota, "10.0.0.3")
    assert honest is not None
    assert [each.cancel_called for _, each in slow] == [True, False, False, False]  # the oldest of those with most
    assert not scope.cancel_called
    second, _ = shake(quota, "10.0.0.4")
    assert second is not None
    assert [each.cancel_called for _, each in slow] == [True, False, True, False]
    assert shake(quota, "10.0.0.2")[0] is None  # it has as many as anybody
    assert faults == {"handshake ended": 2, "connection refused": 1}
    honest.close()
    honest.close()
    assert shake(quota, "10.0.0.2")[0] is not None


async def test_a_peer_with_another_kind_of_key_gives_no_place_twice(autojump_clock: trio.testing.MockClock) -> None:
    faults: Counter[str] = Counter()
    quota = quota_of(faults, handshakes=1)
    peer = ID.from_pubkey(create_new_key_pair().public_key)
    for _ in range(3):
        early, _ = shake(quota, "10.0.0.1")
        late = quota.open_connection(peer, "10.0.0.1", "inbound")
        assert early is not None
        assert late is not None
        early.close()
        late.close()
    assert shake(quota, "10.0.0.1")[0] is not None
    assert shake(quota, "10.0.0.1")[0] is None
