"""What is shown, as text: each way that a node can be."""

from dataclasses import replace

import pytest

from node.role_status import Coordinating, Mirroring, Pause, Relaying, ReleaseState, Verifying
from node.screen.lately import Lately
from node.screen.panel import panel
from node.screen.row import Row, Tone
from node.screen.rows import rows_now, rows_of
from node.status import Fetching, Status
from node.training.events import Progress
from tests.node.screen.statuses import CONTRIBUTING, COORDINATING, RELAYING, contributor, queue, status


class Clock:
    """Seconds that a test sets."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


RELEASE = ReleaseState("r1", 1, 30)
PROGRESS = Progress(3, 9, 2.0, 1.5, 0.5, 4321, 0.0, 8.0)


def busy() -> Lately:
    """After three hours of play: a game of 90 plies every 10 s."""
    clock = Clock()
    lately = Lately(clock)
    clock.now_s = 3 * 3600.0
    lately.hear("playing", {"release": "r0123", "counter": 0})
    for counter in range(60):
        clock.now_s += 10.0
        values = {"counter": counter, "plies": 90, "visits": 9000, "result": "W+R"}
        lately.hear("game", dict(values))
    lately.hear("logged", {"kind": "batch", "index": 812_044, "after_s": 0.84})
    lately.hear("logged", {"kind": "gate-result", "index": 812_045, "after_s": 0.5})
    clock.now_s += 4.0
    return lately


def test_a_contributor_that_plays() -> None:
    rows = rows_of(contributor(own=replace(CONTRIBUTING, hottest_c=71.4)), busy())
    assert panel(rows, 100, 20).plain.split("\n") == [
        "gonode    0.4.1 mira (9c41e07b) · run alpha · release r0123 (8f3e21aa) · up 3h10m",
        "playing   16 games · 9.0 plies/s · 900 visits/s · 71 °C · next game ~6s",
        "today     41 games · 1,204 plies",
        "credit    1,102 games verified (24,310 plies) · 102 pending · 0 rejected",
        "last      game 59, 90 plies W+R -> receipt #812,044 in 0.8 s",
        "peers     9 · log 812,051 (in sync) · batches waiting 0",
    ]


def test_what_waits_and_why() -> None:
    reason = "No peer is reachable (3 tried)."
    found = contributor(
        queue("batch", 2, reason),
        queue("games", 3),
        peers=0,
        newest_size=812_060,
        next_try_in_s=40.2,
        fetching=(Fetching(b"\xcd" * 32, 1_000_000, 3_000_000),),
    )
    lines = panel(rows_of(found, busy()), 100, 20).plain.split("\n")
    assert lines[-3:] == [
        "peers     0 · log 812,051 (9 behind) · batches waiting 2 · next try in 40s",
        "weights   cdcdcdcdcdcdcdcd · 33 % of 3.0 MB",
        "waits     2 batch: No peer is reachable (3 tried).",
    ]


@pytest.mark.parametrize(
    ("found", "row"),
    [
        (
            contributor(queue("registration", 1, "a probation slot: place 2 of 5")),
            Row("joining", ("waiting for a probation slot: place 2 of 5",), Tone.WAIT),
        ),
        (
            contributor(queue("batch", 256), queue("games", 3, "fewer batches; play is paused")),
            Row("paused", ("waiting for fewer batches; play is paused",), Tone.WAIT),
        ),
        (
            contributor(own=replace(CONTRIBUTING, paused=Pause("22:00 o'clock", 3))),
            Row("paused", ("waiting for 22:00 o'clock",), Tone.WAIT),
        ),
        (contributor(engine=None), Row("playing", ("the first game is under way",), Tone.GOOD)),
        (
            status(Verifying(1, 2345), queue("judging", 3)),
            Row("verifying", ("3 to judge", "1 verdict", "2,345 plies replayed"), Tone.GOOD),
        ),
        (
            status(Verifying(0, 0), queue("approval", 1, "the root's holder")),
            Row("waiting", ("for the root's holder",), Tone.WAIT),
        ),
        (
            status(Relaying(1, 2, 3)),
            Row("relaying", ("1 network", "for 2 peers", "circuits 3"), Tone.GOOD),
        ),
        (
            status(RELAYING, release=None, log_size=0),
            Row("connecting", ("looking for a peer of the run",), Tone.WAIT),
        ),
        (
            status(Mirroring(1234, 80, 0)),
            Row("copying", ("1,234 blobs", "shows log 80", "0 missing"), Tone.GOOD),
        ),
        (
            status(Coordinating("training", None, (), (RELEASE, RELEASE), None, None)),
            Row("leading", ("training", "2 releases"), Tone.GOOD),
        ),
        (
            status(Coordinating("training", PROGRESS, (), (), None, None)),
            Row("leading", ("training 33 %, loss 2.00, 4,321 samples/s, 0:08 left", "0 releases"), Tone.GOOD),
        ),
        (
            status(replace(COORDINATING, gate=0, gate_played=1204)),
            Row("leading", ("gating, 0 pairs counted of 1,204 played", "0 releases"), Tone.GOOD),
        ),
        (
            status(replace(COORDINATING, gate=7, gate_played=7)),
            Row("leading", ("gating, 7 pairs counted", "0 releases"), Tone.GOOD),
        ),
    ],
    ids=lambda value: value.label if isinstance(value, Row) else value.role,
)
def test_what_each_role_does(found: Status, row: Row) -> None:
    rows = rows_of(found, Lately(Clock()))
    assert rows[1] == row
    waits = [each for each in rows if each.label == "waits"]
    assert not waits  # it is said once


def test_relays_that_reach_it_are_counted() -> None:
    peers = rows_of(contributor(relays=(b"\1" * 32, b"\2" * 32)), busy())[-1]
    assert "reached through 2 relays" in peers.parts
    assert not [part for part in rows_of(contributor(), busy())[-1].parts if "relay" in part]


def test_a_drain_is_said() -> None:
    lately = busy()
    lately.hear("draining", {})
    assert rows_of(contributor(), lately)[1].label == "draining"


def test_before_there_is_a_log() -> None:
    found = contributor(
        queue("registration", 1, "the run's log"), release=None, run_name=None, newest_size=None, log_size=0
    )
    lines = panel(rows_of(found, Lately(Clock())), 100, 20).plain.split("\n")
    assert lines[:2] == [
        "gonode    0.4.1 mira (9c41e07b) · run abababababababab · up 0s",
        "joining   waiting for the run's log",
    ]
    assert "peers     9 · log 0" in lines


def test_rejected_games_are_marked() -> None:
    credit = next(row for row in rows_of(contributor(rejected=3), busy()) if row.label == "credit")
    assert credit.tone == Tone.BAD
    assert credit.parts[-1] == "3 rejected"


def test_a_receipt_without_a_game() -> None:
    lately = Lately(Clock())
    lately.hear("logged", {"kind": "batch", "index": 7, "after_s": None})
    last = next(row for row in rows_of(contributor(), lately) if row.label == "last")
    assert last.parts == ("batch -> receipt #7",)


def test_a_late_game_is_not_promised() -> None:
    clock = Clock()
    lately = Lately(clock)
    for when in (10.0, 20.0, 30.0):
        clock.now_s = when
        lately.hear("game", {"counter": 1, "plies": 2})
    clock.now_s = 36.0
    assert lately.next_game_in_s == pytest.approx(4.0)
    clock.now_s = 41.0
    assert lately.next_game_in_s is None


def test_a_status_that_fails_is_a_row() -> None:
    def fails() -> Status:
        raise KeyError("games")

    _, row = rows_now(fails, Lately(Clock()))
    assert row == Row("status", ("cannot be told: 'games'",), Tone.BAD)
