"""Nodes of one run, in processes of their own, find each other by multicast."""

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
import trio

from node.peering.libp2p.lan import mdns
from node.peering.libp2p.lan.mdns import GROUP, NEW_PEERS, PORT
from node.peering.libp2p.lan.message import answer, question
from node.peering.libp2p.opening import open_libp2p
from node.peering.transport import peer_id
from protocol.ed25519 import SecretKey
from tests.node.peering.libp2p.lan.multicast import lan

RUN, OTHER_RUN = os.urandom(32), os.urandom(32)


class LanNode:
    """One process; what it heard is read when it has ended."""

    def __init__(self, run: bytes) -> None:
        root = Path(__file__).parents[5]
        self.process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("lan_node.py")), run.hex()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(root)},
        )
        assert self.process.stdout is not None
        self.address = self.process.stdout.readline().strip()

    def end(self) -> list[str]:
        """Ends the process, cleanly; the addresses that it heard."""
        rest, _ = self.process.communicate(timeout=15)
        assert self.process.returncode == 0
        *heard, pages = rest.splitlines()
        assert int(pages.removeprefix("pages ")) * 4096 < 150 << 20
        return heard


def test_nodes_of_a_run_find_each_other() -> None:
    with lan():
        one, stranger = LanNode(RUN), LanNode(OTHER_RUN)
        two = LanNode(RUN)
        time.sleep(3)
        assert one.end() == [two.address]
        assert two.end() == [one.address]
        assert stranger.end() == []


def test_a_flood_of_answers() -> None:
    with lan() as (sock, host):
        node = LanNode(RUN)
        for number in range(3000):
            liar = f"/ip4/{host}/tcp/{number + 1}/p2p/{peer_id(os.urandom(32))}"
            sock.sendto(answer(RUN, "liar", [liar]), (GROUP, PORT))
            sock.sendto(question(RUN), (GROUP, PORT))
            sock.sendto(os.urandom(100), (GROUP, PORT))
        time.sleep(1)
        answers = _answers(sock, node.address)
        assert 1 <= len(node.end()) <= NEW_PEERS
        assert answers <= 5


def _answers(sock: socket.socket, address: str) -> int:
    """How many of the packets that wait at `sock` name `address`."""
    count = 0
    sock.settimeout(0.3)
    try:
        while True:
            count += address.encode() in sock.recv(10_000)
    except TimeoutError:
        return count


async def test_a_node_on_loopback_alone_stays_out_of_the_lan() -> None:
    async with open_libp2p(SecretKey.generate()) as transport:
        with trio.fail_after(1):
            await mdns.Lan(transport, RUN, lambda addresses: None).run()


async def test_without_a_network_it_tries_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mdns, "_AGAIN_S", 0.01)
    monkeypatch.setattr(mdns, "ASK_S", (0.01,))
    tries = 0

    def interfaces() -> tuple[()]:
        nonlocal tries
        tries += 1
        if tries == 2:
            raise OSError("the network is down")
        return ()

    async with open_libp2p(SecretKey.generate(), ["/ip4/0.0.0.0/tcp/0"]) as transport:
        with trio.move_on_after(0.5):
            await mdns.Lan(transport, RUN, lambda addresses: None, interfaces).run()
    assert tries >= 4
