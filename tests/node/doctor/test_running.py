"""What the doctor says of a running node, by the node's own words."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from node.control import OtherVersion
from node.disk.home import Home
from node.disk.lockfile import locked
from node.doctor.finding import Finding, Standing
from node.doctor.running import ask_node, check_running
from node.role_status import Pause
from node.status import IN, OUT, LinkState, Queue, ServiceState
from tests.node.screen.statuses import CONTRIBUTING, ENGINE, contributor, link, queue

NOW = 10_000


def found(**changes: Any) -> dict[str, Finding]:
    """The findings about a contributor whose status differs so, by name."""
    return {finding.name: finding for finding in check_running(Home(Path("x")), contributor(**changes), NOW)}


def test_a_sound_node() -> None:
    sound = {each.name: each for each in check_running(Home(Path("x")), contributor(queue("batch")), NOW)}
    assert list(sound) == ["node", "peers", "reachability", "log", "engine", "services"]
    assert {finding.standing for finding in sound.values()} == {Standing.OK}
    assert "engine" not in found(engine=None)


@pytest.mark.parametrize(
    ("name", "changes", "standing", "words"),
    [
        ("peers", {"peers": 0, "next_try_in_s": 2.5}, Standing.WRONG, "again in 2.5 s"),
        ("reachability", {"links": (link(OUT),)}, Standing.WARNING, "Nobody dialed"),
        ("reachability", {"links": (), "peers": 0}, Standing.UNKNOWN, "Without peers"),
        ("log", {"log_size": 7}, Standing.WARNING, "7 of 812,051"),
        ("log", {"newest_size": None}, Standing.UNKNOWN, "no signed head"),
        ("engine", {"engine": replace(ENGINE, restarts=3)}, Standing.WARNING, "restarts 3"),
        (
            "services",
            {"services": (ServiceState("gossip", 4, "KeyError"),)},
            Standing.WARNING,
            "gossip (4 times): KeyError",
        ),
    ],
)
def test_what_is_wrong(name: str, changes: dict[str, Any], standing: Standing, words: str) -> None:
    finding = found(**changes)[name]
    assert finding.standing is standing
    assert words in finding.detail
    assert finding.mend


@pytest.mark.parametrize("links", [(link(OUT),), (link(OUT), link(IN))], ids=["alone", "dialed too"])
def test_a_node_behind_relays_is_reached(links: tuple[LinkState, ...]) -> None:
    finding = found(links=links, relays=(b"\1" * 32, b"\xab" * 32))["reachability"]
    assert finding.standing is Standing.OK
    assert "through 2 relays (01010101, abababab)" in finding.detail


@pytest.mark.parametrize(("since", "standing"), [(NOW - 30, Standing.OK), (NOW - 3600, Standing.WARNING)])
def test_what_waits(since: int, standing: Standing) -> None:
    waits = contributor(Queue("batch", 3, "a peer", since))
    (finding,) = (each for each in check_running(Home(Path("x")), waits, NOW) if each.name == "waiting")
    assert finding.standing is standing
    assert "3 in the queue batch, waiting for: a peer" in finding.detail


def test_no_node(tmp_path: Path) -> None:
    home = Home(tmp_path)
    assert ask_node(home) is None
    (finding,) = check_running(home, None, NOW)
    assert finding.standing is Standing.UNKNOWN
    home.fault.write_text("This machine computes wrongly.\n", encoding="utf-8")
    (finding,) = check_running(home, None, NOW)
    assert finding.standing is Standing.WRONG
    assert "computes wrongly" in finding.detail


def test_a_node_that_does_not_answer(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with locked(tmp_path):
        (finding,) = check_running(home, None, NOW)
        assert finding.standing is Standing.WARNING
    (finding,) = check_running(home, None, NOW)
    assert finding.standing is Standing.UNKNOWN


def test_a_node_of_another_version(tmp_path: Path) -> None:
    (finding,) = check_running(Home(tmp_path), OtherVersion("It is of another version."), NOW)
    assert (finding.standing, finding.detail) == (Standing.WARNING, "It is of another version.")


def test_a_node_that_rests() -> None:
    rests = found(own=replace(CONTRIBUTING, paused=Pause("22:00 o'clock", NOW)))["node"]
    assert rests.standing is Standing.OK
    assert "play rests, waiting for: 22:00 o'clock" in rests.detail
