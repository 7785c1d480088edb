"""A whole network of processes makes a release; the commands about it answer as documented."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.conftest import FinishedRun
from tests.e2e.process import Running, gonode, log_of, running

CHECKS = {"head", "files", "release", "gate", "window", "games", "retrain", "chain"}


@pytest.fixture(scope="module")
def coordinator(finished: FinishedRun, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """The finished run's coordinator, running alone in a copy of its directory."""
    directory = finished.copy(tmp_path_factory.mktemp("copy") / "coordinator")
    with running(directory.with_name("said"), "coordinate", directory, "--json") as command:
        command.event("listening")
        yield command


def home_of(coordinator: Running) -> Path:
    return Path(coordinator.process.args[4])  # type: ignore[index, arg-type]


def test_a_release_is_made(finished: FinishedRun) -> None:
    ended = finished.ended
    assert ended.status == 0, ended.err
    summary = ended.json
    assert summary.keys() == {"seconds", "games", "plies", "batches", "rejected", "releases", "audit_ok"}
    assert summary["audit_ok"] is True
    assert summary["rejected"] == 0
    assert summary["plies"] > summary["games"] > summary["batches"] > 0
    assert summary["releases"][0].keys() == {"name", "elo", "elo_error"}
    assert len(list((finished.coordinator / "public" / "release").iterdir())) == len(summary["releases"]) >= 1


def test_every_node_has_the_same_log(finished: FinishedRun) -> None:
    log = log_of(finished.coordinator)
    for name in ("verifier", "contributor-1", "contributor-2"):
        own = log_of(finished.directory / name)
        assert own == log[: len(own)]
        assert len(own) > 10


def test_the_directory_audits(finished: FinishedRun) -> None:
    ended = gonode("audit", "--dir", finished.coordinator, "--full", "--json")
    report = ended.json
    assert ended.status == 0, report
    assert report.keys() == {"ok", "release", "checks"}
    assert report["ok"] is True
    assert report["release"] in [release["name"] for release in finished.ended.json["releases"]]
    assert {check["name"] for check in report["checks"]} >= CHECKS
    assert all(check.keys() == {"name", "ok", "detail"} and check["detail"] for check in report["checks"])


def test_the_training_repeats(finished: FinishedRun) -> None:
    """The same machine trains the release's whole cycle again, from what is published alone."""
    ended = gonode("audit", "--dir", finished.coordinator, "--sample", 0, "--retrain", "--json")
    answer = {check["name"]: check for check in ended.json["checks"]}["retrain"]
    assert ended.status == 0, ended.json
    assert answer["ok"] is True
    assert "repeated bit for bit: train state " in answer["detail"]


def test_the_network_audits(coordinator: Running) -> None:
    ticket = (home_of(coordinator) / "ticket").read_text(encoding="ascii").strip()
    ended = gonode("audit", "--ticket", ticket, "--sample", 1)
    assert ended.status == 0, ended.out + ended.err
    lines = ended.out.splitlines()
    assert lines[0].startswith("ok    head ")
    assert lines[-1].endswith("passed.")
    assert len(lines) > len(CHECKS)


def test_a_running_node_audits(coordinator: Running) -> None:
    ended = gonode("audit", "--dir", home_of(coordinator), "--sample", 1, "--json")
    assert ended.status == 0, ended.json


def test_the_status_of_a_running_node(coordinator: Running, finished: FinishedRun) -> None:
    ended = gonode("status", "--dir", home_of(coordinator), "--json")
    status = ended.json
    assert ended.status == 0
    documented = {"role", "run", "release", "log_size", "peers", "queues", "games", "plies", "verified", "pending"}
    assert status.keys() >= documented | {"rejected"}
    assert status["role"] == "coordinator"
    assert len(status["run"]) == 64
    assert status["release"] == finished.ended.json["releases"][-1]["name"]
    assert status["log_size"] >= len(log_of(finished.coordinator))
    assert status["games"] == status["verified"] + status["pending"] + status["rejected"]
    for queue in status["queues"]:
        assert queue.keys() == {"name", "length", "waiting_for", "since_unix_s"}
    assert f"games {status['games']:,}" in gonode("status", "--dir", home_of(coordinator)).out


def test_the_first_interrupt_ends_a_coordinator_in_order(coordinator: Running) -> None:
    coordinator.interrupt()
    assert coordinator.ended().status == 0
    ended = gonode("status", "--dir", home_of(coordinator), "--json")
    assert ended.status == 3
    assert "No running node answers" in ended.sentence
    assert gonode("audit", "--dir", home_of(coordinator), "--sample", 0, "--json").status == 0


def test_a_match_between_releases(finished: FinishedRun) -> None:
    command = ("match", "latest", "first", "--games", 4, "--visits", 8, "--dir", finished.coordinator)
    ended = gonode(*command, "--json")
    result = ended.json
    assert ended.status == 0
    assert result.keys() >= {"games", "wins", "draws", "losses", "score", "elo", "elo_error", "llr", "verdict"}
    assert result["games"] == 4 == result["wins"] + result["draws"] + result["losses"]
    assert result["players"] == [finished.ended.json["releases"][-1]["name"], "first"]
    again = gonode(*command)
    assert re.search(rf"all games +4 +{result['wins']} +{result['draws']} +{result['losses']} ", again.out)


def test_a_match_that_loses_its_test_says_no(finished: FinishedRun) -> None:
    ended = gonode(
        "match", "random", "latest", "--games", 400, "--visits", 16, "--sprt", "0,100", "--dir", finished.coordinator,
        "--size", 7, "--komi", 0.5, "--json",
    )  # fmt: skip
    assert ended.json["verdict"] in ("failed", "passed", "undecided")
    assert ended.status == (1 if ended.json["verdict"] == "failed" else 0)
