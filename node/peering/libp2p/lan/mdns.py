"""Finds the nodes of a run on the LAN, by multicast DNS, and tells them of this one.

Spec: docs/spec/swarm.md ("LAN"). One UDP socket on trio: no threads, no cache. It asks at once, then more and more rarely,
and says where this node is when somebody asks. Invariants: only packets from networks of this machine's own count; of what
they say at most NEW_PEERS peers in PERIOD_S are handed on, and each once in PERIOD_S; it sends at most one answer each
ANSWER_EVERY_S. Without a usable network it tries again later; it never ends the node.
"""

import logging
import os
import socket
from collections.abc import Callable, Iterable, Sequence
from ipaddress import IPv4Address, IPv4Interface
from random import Random
from typing import Final

import ifaddr
import trio

from node.peering.libp2p.lan import message as lan_message
from node.peering.libp2p.scope import Scope, scope_of
from node.peering.libp2p.told import MAX_TOLD, place_of
from node.peering.transport import Transport

log = logging.getLogger("gonode.net")

GROUP: Final = "224.0.0.251"
PORT: Final = 5353
NEW_PEERS: Final = 32
PERIOD_S: Final = 60.0
ANSWER_EVERY_S: Final = 1.0
ASK_S: Final = (1.0, 4.0, 16.0, 60.0)
"""The waits after one question before the next; the last one is repeated."""

_AGAIN_S: Final = 60.0

Learn = Callable[[Iterable[str]], None]


def lan_interfaces() -> tuple[IPv4Interface, ...]:
    """The IPv4 addresses of this machine and their networks, but for loopback ones."""
    found = [
        IPv4Interface(f"{ip.ip}/{ip.network_prefix}")
        for adapter in ifaddr.get_adapters()
        for ip in adapter.ips
        if isinstance(ip.ip, str)
    ]
    return tuple(each for each in found if not each.ip.is_loopback)


class Lan:
    """Looks for the nodes of `run` on the networks that `interfaces` gives, and hands their addresses to `learn`."""

    def __init__(
        self,
        transport: Transport,
        run: bytes,
        learn: Learn,
        interfaces: Callable[[], Sequence[IPv4Interface]] = lan_interfaces,
    ) -> None:
        self._transport = transport
        self._run = run
        self._learn = learn
        self._interfaces = interfaces
        self._networks: Sequence[IPv4Interface] = ()
        self._name = os.urandom(16).hex()
        self._rng = Random(transport.key)
        self._heard: dict[bytes, float] = {}
        self._is_asked = trio.Event()

    async def run(self) -> None:
        """Asks and answers until cancelled; a node that listens on this machine alone does nothing."""
        addresses = self._transport.addresses()
        if addresses and not near_addresses(addresses):
            return
        while True:
            try:
                with trio.socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
                    await self._bind(sock)
                    async with trio.open_nursery() as nursery:
                        nursery.start_soon(self._receive, sock)
                        nursery.start_soon(self._answer, sock)
                        await self._ask(sock)
            except* OSError as group:
                log.info("no nodes can be looked for on the LAN now: %s", group.exceptions[0])
            await trio.sleep(_AGAIN_S)

    async def _bind(self, sock: trio.socket.SocketType) -> None:
        """Binds beside other users of the port, such as the system's own resolver."""
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if hasattr(socket, "SO_REUSEPORT"):
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        sock.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, 255)
        sock.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_LOOP, 1)
        await sock.bind(("", PORT))

    async def _ask(self, sock: trio.socket.SocketType) -> None:
        joined: set[IPv4Address] = set()
        turn = 0
        while True:
            self._networks = self._interfaces()
            for network in self._networks:
                if network.ip not in joined and self._join(sock, network.ip):
                    joined.add(network.ip)
            joined &= {network.ip for network in self._networks}
            await self._send(sock, lan_message.question(self._run))
            await trio.sleep(ASK_S[min(turn, len(ASK_S) - 1)] * (0.75 + self._rng.random() / 2))
            turn += 1

    def _join(self, sock: trio.socket.SocketType, host: IPv4Address) -> bool:
        """Has the socket hear what is said in the network of `host`; whether it does."""
        try:
            sock.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton(GROUP) + host.packed)
        except OSError as error:
            log.debug("no multicast at %s: %s", host, error)
        else:
            return True
        return False

    async def _send(self, sock: trio.socket.SocketType, packet: bytes) -> None:
        """Sends a packet into each network; one that takes none is passed over."""
        for network in self._networks:
            try:
                sock.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, network.ip.packed)
                await sock.sendto(packet, (GROUP, PORT))
            except OSError as error:
                log.debug("nothing was sent from %s: %s", network.ip, error)

    async def _receive(self, sock: trio.socket.SocketType) -> None:
        while True:
            data, (source, *_) = await sock.recvfrom(lan_message.MAX_PACKET + 1)
            if not any(IPv4Address(source) in network.network for network in self._networks):
                continue
            heard = lan_message.hear(data, self._run, source)
            if heard.is_question:
                self._is_asked.set()
            for key, addresses in heard.addresses.items():
                if self._is_news(key):
                    self._learn(addresses)

    def _is_news(self, key: bytes) -> bool:
        """Whether what was heard of a peer is handed on, which then counts."""
        now = trio.current_time()
        while self._heard and next(iter(self._heard.values())) <= now:
            del self._heard[next(iter(self._heard))]
        if key == self._transport.key or key in self._heard or len(self._heard) >= NEW_PEERS:
            return False
        self._heard[key] = now + PERIOD_S
        return True

    async def _answer(self, sock: trio.socket.SocketType) -> None:
        while True:
            await self._is_asked.wait()
            await trio.sleep(0.02 + 0.1 * self._rng.random())
            self._is_asked = trio.Event()
            addresses = near_addresses(self._transport.addresses())
            if addresses:
                await self._send(sock, lan_message.answer(self._run, self._name, addresses))
            await trio.sleep(ANSWER_EVERY_S)


def near_addresses(addresses: Iterable[str]) -> list[str]:
    """Up to MAX_TOLD of a node's own addresses that its LAN can dial directly."""
    places = {address: place_of(address) for address in addresses}
    scopes = {address: scope_of(place[0]) for address, place in places.items() if place is not None}
    return [address for address, scope in scopes.items() if scope in (Scope.LAN, Scope.WORLD)][:MAX_TOLD]
