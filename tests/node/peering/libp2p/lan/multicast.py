"""A network of this machine on which multicast comes back, for tests of the LAN."""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from node.peering.libp2p.lan.mdns import GROUP, PORT, lan_interfaces


@contextmanager
def lan() -> Iterator[tuple[socket.socket, str]]:
    """A socket on the group and the address of its network; skips the test where multicast does not come back."""
    interfaces = lan_interfaces()
    if not interfaces:
        pytest.skip("this machine has no network but loopback")
    host = interfaces[0].ip
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        for option in (socket.SO_REUSEADDR, socket.SO_REUSEPORT):
            sock.setsockopt(socket.SOL_SOCKET, option, 1)
        try:
            sock.bind(("", PORT))
            sock.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton(GROUP) + host.packed)
            sock.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, host.packed)
            sock.settimeout(1)
            probe = os.urandom(20)
            sock.sendto(probe, (GROUP, PORT))
            while sock.recv(10_000) != probe:
                pass
        except OSError as error:
            pytest.skip(f"multicast does not work on this machine: {error}")
        yield sock, str(host)
