"""What the doctor says of a running node, by the node's own words."""

from pathlib import Path
from typing import Any

import pytest

from node.disk.home import Home
from node.disk.lockfile import locked
from node.doctor.finding import Finding, Standing
from node.doctor.running import ask_node, check_running

NOW = 10_000
STATUS: dict[str, Any] = {
    "role": "contributor",
    "log_size": 1200,
    "newest_size": 1200,
    "peers": 2,
    "links": [{"direction": "out"}, {"direction": "in"}],
    "services": [{"name": "links", "restarts": 0, "last_failure": None}],
    "next_try_in_s": None,
    "queues": [{"name": "batch", "length": 0, "waiting_for": None, "since_unix_s": None}],
    "engine": {"device": "cpu", "kernel": "avx2", "canaries": 3, "restarts": 0},
}


def found(**changes: Any) -> dict[str, Finding]:
    """The findings about a node whose status differs so, by name."""
    return {finding.name: finding for finding in check_running(Home(Path("x")), {**STATUS, **changes}, NOW)}


def test_a_sound_node() -> None:
    sound = found()
    assert list(sound) == ["node", "peers", "reachability", "log", "engine", "services"]
    assert {finding.standing for finding in sound.values()} == {Standing.OK}
    assert "engine" not in found(engine=None)


@pytest.mark.parametrize(
    ("name", "changes", "standing", "words"),
    [
        ("peers", {"peers": 0, "next_try_in_s": 2.5}, Standing.WRONG, "again in 2.5 s"),
        ("reachability", {"links": [{"direction": "out"}]}, Standing.WARNING, "Nobody dialed"),
        ("reachability", {"links": [], "peers": 0}, Standing.UNKNOWN, "Without peers"),
        ("log", {"log_size": 7}, Standing.WARNING, "7 of 1,200"),
        ("log", {"newest_size": None}, Standing.UNKNOWN, "no signed head"),
        ("engine", {"engine": {**STATUS["engine"], "restarts": 3}}, Standing.WARNING, "restarts 3"),
        (
            "services",
            {"services": [{"name": "gossip", "restarts": 4, "last_failure": "KeyError"}]},
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


@pytest.mark.parametrize(("since", "standing"), [(NOW - 30, Standing.OK), (NOW - 3600, Standing.WARNING)])
def test_what_waits(since: int, standing: Standing) -> None:
    queue = {"name": "batch", "length": 3, "waiting_for": "a peer", "since_unix_s": since}
    finding = found(queues=[queue])["waiting"]
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


def test_a_node_that_rests() -> None:
    rests = found(paused={"waiting_for": "22:00 o'clock", "since_unix_s": NOW})["node"]
    assert rests.standing is Standing.OK
    assert "play rests, waiting for: 22:00 o'clock" in rests.detail
