"""Everything that a status says, as `gonode status` prints it."""

from dataclasses import replace

import pytest

from node.screen.details import all_rows
from node.screen.panel import uncut
from node.screen.row import Row, Tone
from node.status import Fetching, Queue, ServiceState, Status
from tests.node.screen.statuses import COORDINATING, EVERY, contributor, link, queue, status


@pytest.mark.parametrize("found", EVERY, ids=lambda found: found.role)
def test_of_every_role_all_is_told(found: Status) -> None:
    labels = [row.label for row in all_rows(found)]
    assert labels[0] == "gonode"
    assert {"peers", "logged", "link", "parts"} <= set(labels)
    assert labels.count("queue") == len(found.queues)
    assert ("engine" in labels) == (found.engine is not None)
    assert all(row.parts for row in all_rows(found))


def test_a_queue_is_told_once_with_its_age() -> None:
    rows = all_rows(contributor(Queue("batch", 2, "a peer", 61), queue("games", 1)))
    waiting, idle = (row for row in rows if row.label == "queue")
    assert waiting == Row("queue", ("batch 2", "waiting for: a peer", "since 1970-01-01 00:01:01Z"), Tone.WAIT)
    assert idle == Row("queue", ("games 1",))
    assert "waits" not in [row.label for row in rows]


def test_faults_that_a_coordinator_noted_are_told() -> None:
    rows = all_rows(status(replace(COORDINATING, faults=("He lied.", "She too."))))
    assert [row.parts for row in rows if row.label == "fault"] == [("He lied.",), ("She too.",)]


def test_a_part_that_failed_says_why() -> None:
    rows = all_rows(contributor(services=(ServiceState("links", 0, None), ServiceState("gossip", 2, "It broke."))))
    assert [row.parts for row in rows if row.label == "parts"] == [("2", "restarts 2")]
    assert [row.parts for row in rows if row.label == "part"] == [
        ("gossip", "restarts 2", "the last one after: It broke.")
    ]


def test_where_a_link_leads() -> None:
    (told,) = (row for row in all_rows(contributor(links=(link(),))) if row.label == "link")
    assert told.parts == ("cdcdcdcd", "since 1970-01-01 00:00:03Z", "/ip4/192.0.2.7/tcp/9")


def test_lines_are_whole_and_plain() -> None:
    rows = all_rows(contributor(Queue("batch", 1, "a\npeer \x1b[31m°", 0), fetching=(Fetching(b"\1", 1, 2),)))
    lines = uncut(rows).split("\n")
    assert len(lines) == len(rows)
    assert "queue     batch 1, waiting for: a peer  [31m°, since 1970-01-01 00:00:00Z" in lines
    assert uncut(rows, is_ascii=True).isascii()
