"""The page about this node and its links: no address is told, and with whom it is linked to its own machine alone."""

import re
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path

import pytest

from node.disk.home import Home
from node.status import IN, OUT, LinkState, Status
from node.web import own_node
from node.web.network_map import MOST, network_map
from node.web.queries.network import CONTRIBUTOR, COORDINATOR, VERIFIER, LinkLine
from tests.node.keys import secret
from tests.node.screen.statuses import COORDINATING, status
from tests.node.web.pages import HOST, visiting, words
from tests.verification.world import World

ADDRESS = "/ip4/198.51.100.9/tcp/7/p2p/x"
STRANGER = b"\xaa" * 32
HOST_OF_VERIFIER = b"\xbb" * 32


@pytest.fixture
def asked(shown_world: World, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Which sockets were asked; a node that runs: its links are the ticket's coordinator, a contributor and a stranger."""
    asked: list[Path] = []
    ada, coordinator = shown_world.peers["ada"].public, secret(0).public
    verifier = shown_world.verifiers[0].public
    links = (
        LinkState(STRANGER, None, IN, 5, None, None, None),
        LinkState(ada, ADDRESS, OUT, 6, None, None, 1, 4, 1_700_000_000),
        LinkState(coordinator, ADDRESS, OUT, 7, None, None, 1, 9, 1_700_000_060),
        LinkState(HOST_OF_VERIFIER, None, IN, 8, None, None, None, 7, 1_700_000_060, verifier),
    )

    def ask_status(path: Path, within_s: float) -> Status:
        asked.append(path)
        return status(COORDINATING, log_size=7, links=links)

    monkeypatch.setattr(own_node, "ask_status", ask_status)
    return asked


async def test_a_node_that_does_not_run(shown: Home) -> None:
    async with visiting(shown, hosts=[HOST]) as visitor:
        answer = await visitor.get("/network")
        found = (await visitor.get("/api/v1/network")).json()["answer"]
    assert answer.headers["cache-control"] == "no-store"
    assert "etag" not in answer.headers
    assert found["node"]["links"] is None
    assert "does not run" in words(answer.text)
    assert "<svg" not in answer.text
    roles = [each["role"] for each in found["members"]]
    assert roles[:2] == ["coordinator", "verifier"]
    assert roles.count("contributor") == 3
    assert not re.search(r"127\.0\.0\.1|/ip[46]/", answer.text)


async def test_links_to_its_own_machine(shown: Home, shown_world: World, asked: list[Path]) -> None:
    async with visiting(shown, hosts=[HOST]) as visitor:
        nodes = [(await visitor.get("/api/v1/network")).json()["answer"]["node"] for _ in range(3)]
        html = (await visitor.get("/network")).text
    assert asked == [shown.control]
    links = nodes[0]["links"]
    assert [each["role"] for each in links] == ["coordinator", "verifier", "contributor", ""]
    assert [each["name"] for each in links] == ["", shown_world.root.verifiers[0].name, "ada", ""]
    assert [each["speaks_for"] for each in links] == ["", shown_world.verifiers[0].public.hex(), "", ""]
    assert [(each["log_size"], each["lag"]) for each in links] == [(9, 0), (7, 0), (4, 3), (None, None)]
    build = shown_world.state.batches.identities[0].batches[-1].header.build
    assert links[2]["build"] == build
    assert links[3]["key"] == STRANGER.hex()
    text = words(html)
    assert "2 that it called, 2 that called it" in text
    assert "3 behind" in text
    assert "3: contributor ada" in text
    assert "198.51" not in str(nodes) + html


async def test_links_to_others(shown: Home, shown_world: World, asked: list[Path]) -> None:
    async with visiting(shown) as visitor:
        found = (await visitor.get("/api/v1/network")).json()["answer"]
        html = (await visitor.get("/network")).text
    assert asked == [shown.control]
    assert [each["role"] for each in found["node"]["links"]] == ["coordinator", "verifier", "contributor", ""]
    for each in found["node"]["links"]:
        assert each["key"] == each["speaks_for"] == each["name"] == each["build"] == ""
    assert STRANGER.hex()[:8] not in html
    assert "contributor ada" not in words(html)
    assert "on this node's own machine alone" in words(html)
    assert "198.51" not in str(found) + html


def link(role: str, direction: str, number: int = 1) -> LinkLine:
    """A link."""
    return LinkLine(role, bytes([number]) * 32, b"", f"<{number}>", "", direction, 1, 5, 6, 0)


def test_the_map_is_a_picture_of_the_table() -> None:
    links = [link(COORDINATOR, OUT), link(CONTRIBUTOR, IN, 2), link("", OUT, 3), link(VERIFIER, IN, 4)]
    svg = network_map(links, 9)
    root = ElementTree.fromstring(svg)
    assert svg == network_map(list(links), 9)
    texts = [each.text for each in root.iter("text")]
    assert texts == ["1", "2", "3", "4", "this"]
    assert [each.text for each in root.iter("title")][1:] == [
        "1: coordinator <1>",
        "2: contributor <2>",
        "3: no known role <3>",
        "4: verifier <4>",
    ]
    (told,) = (each.text or "" for each in root.iter("desc"))
    assert "linked to 4 others: 1 coordinator; 1 verifier; 1 contributor; 1 node of no known role" in told
    assert "It called 2 of them, 2 called it. It knows of 9 other nodes" in told
    inwards = network_map([replace(links[0], direction=IN)], 1)
    ends = re.search(r'x1="(\S+)" y1="(\S+)" x2="(\S+)" y2="(\S+)"', inwards)
    assert ends is not None
    assert float(ends[2]) < float(ends[4])  # from the one above to this one in the middle
    assert network_map([], 9) == ""


@pytest.mark.parametrize("count", [1, 2, MOST, MOST + 20])
def test_however_many_links_there_are(count: int) -> None:
    root = ElementTree.fromstring(network_map([link(CONTRIBUTOR, IN)] * count, count))
    places = [(each.get("cx"), each.get("cy")) for each in root.iter("circle") if each.get("class") == "peer"]
    assert len(set(places)) == len(places) == min(count, MOST)
    _, _, width, height = map(float, (root.get("viewBox") or "").split())
    assert all(15 <= float(x or 0) <= width - 15 and 15 <= float(y or 0) <= height - 15 for x, y in places)
    assert ("are drawn" in str([each.text for each in root.iter("desc")])) == (count > MOST)
