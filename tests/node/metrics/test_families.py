"""The families: every role's numbers, parsed again by Prometheus's own parser; all are on the page."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from node.metrics.families import FAMILIES, Kind, StatusCollector
from node.role_status import Mirroring, Pause, ReleaseState, Verifying
from node.status import BanState, Fetching, Queue, ServiceState, Status
from node.training.events import Progress
from tests.node.screen.statuses import CONTRIBUTING, COORDINATING, ENGINE, RELAYING, contributor, queue, status

NOW = 1_000_000


def read(found: Status) -> dict[str, dict[tuple[str, ...], float]]:
    """The samples by name, then by label values."""
    text = generate_latest(StatusCollector(lambda: found, lambda: NOW)).decode()
    samples: dict[str, dict[tuple[str, ...], float]] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            samples.setdefault(sample.name, {})[tuple(sample.labels.values())] = sample.value
    return samples


def test_a_contributor() -> None:
    found = read(
        contributor(
            Queue("batch", 2, "a peer", NOW - 90),
            queue("games", 1),
            own=replace(CONTRIBUTING, played=5),
            engine=replace(ENGINE, restarts=1),
            services=(ServiceState("links", 3, None),),
            fetching=(Fetching(b"\xcd", 10, 40),),
            bans=(BanState(b"\7" * 32, "It lied.", 1, 60),),
            relays=(b"\1" * 32, b"\2" * 32),
        )
    )
    assert found["gonode_queue_length"] == {("batch",): 2.0, ("games",): 1.0}
    assert found["gonode_queue_waiting_seconds"] == {("batch",): 90.0, ("games",): 0.0}
    assert found["gonode_service_restarts_total"] == {("links",): 3.0}
    assert found["gonode_engine_info"] == {("cpu", "avx2"): 1.0}
    assert found["gonode_engine_games"] == {(): 16.0}
    assert found["gonode_blob_held_bytes"] == {("cd",): 10.0}
    assert found["gonode_played_games_total"] == {(): 5.0}
    assert found["gonode_today_plies"] == {(): 1204.0}
    assert found["gonode_paused"] == {(): 0.0}
    assert found["gonode_games"] == {("verified",): 1102.0, ("pending",): 102.0, ("rejected",): 0.0}
    assert found["gonode_banned_peers"] == {(): 1.0}
    assert found["gonode_relays"] == {(): 2.0}
    assert found["gonode_engine_restarts_total"] == {(): 1.0}
    assert "gonode_next_try_seconds" not in found  # nothing is tried again
    assert "gonode_verdicts_total" not in found


def test_one_that_rests() -> None:
    rests = contributor(own=replace(CONTRIBUTING, paused=Pause("night", None)))
    assert read(rests)["gonode_paused"] == {(): 1.0}


def test_others() -> None:
    verifier = read(status(Verifying(3, 400), next_try_in_s=2.5))
    assert (verifier["gonode_verdicts_total"], verifier["gonode_next_try_seconds"]) == ({(): 3.0}, {(): 2.5})
    assert "gonode_paused" not in verifier
    training = Progress(4, 9, 2.0, 1.5, 0.5, 4321, 0.0, 8.0)
    release = ReleaseState("r1", 1, 30)
    coordinator = read(status(replace(COORDINATING, training=training, releases=(release, release))))
    assert coordinator["gonode_releases"] == {(): 2.0}
    assert coordinator["gonode_log_faults"] == {(): 0.0}
    assert (coordinator["gonode_training_step"], coordinator["gonode_training_steps"]) == ({(): 4.0}, {(): 9.0})
    assert "gonode_gate_pairs" not in coordinator
    gating = read(status(replace(COORDINATING, gate=3, gate_played=8)))
    assert (gating["gonode_gate_pairs"], gating["gonode_gate_played_pairs"]) == ({(): 3.0}, {(): 8.0})
    assert "gonode_training_steps" not in read(status(COORDINATING))
    relay = read(status(RELAYING))
    assert relay["gonode_relay_places"] == {(): 2.0}
    assert "gonode_engine_info" not in relay
    assert read(status(Mirroring(7, 80, 0)))["gonode_mirror_missing_blobs"] == {(): 0.0}


def test_before_there_is_a_log() -> None:
    found = read(status(RELAYING, release=None, release_id=None, run_name=None, newest_size=None, log_size=0))
    assert "gonode_log_newest_entries" not in found
    assert found["gonode_log_entries"] == {(): 0.0}


def test_a_name_with_quotes_is_one_label() -> None:
    (labels,) = read(contributor(own=replace(CONTRIBUTING, name='a"b\\\n')))["gonode_info"]
    assert 'a"b\\\n' in labels


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_names_are_as_prometheus_wants_them(family: Any) -> None:
    assert re.fullmatch(r"gonode(_[a-z]+)+", family.name)
    assert not family.name.endswith(("_total", "_count", "_sum", "_bucket"))
    assert family.help.endswith(".")


def test_all_are_on_the_page() -> None:
    page = Path("docs/metrics.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(gonode_\w+)` \| (\w+) \| ([^|]*)\| (.*) \|$", page, re.M)
    said = {(name, kind, tuple(re.findall(r"`(\w+)`", labels)), help) for name, kind, labels, help in rows}
    assert len(rows) == len(FAMILIES)
    assert said == {
        (f"{each.name}{'_total' if each.kind == Kind.COUNTER else ''}", each.kind.value, each.labels, each.help)
        for each in FAMILIES
    }
