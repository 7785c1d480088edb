"""The record that a finished cycle's folder gives."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from node.training.train_record import LOSSES, Begun, _loss_report, _rounding, load_result, state_file, train_record
from protocol.blob import blob_digest
from protocol.types import ZERO
from protocol.window import LossReport, RoundingReport, WindowCommitment
from tests.verification.manifests import digest_of, small_manifest
from trainer.cycle import state_name
from trainer.network.loss import PARTS
from verification.cycles import WindowInfo
from verification.window import Window

SEED = bytes(range(32))
RESULT: dict[str, Any] = {
    "step": 130,
    "samples": 960,
    "states": [{"step": 125, "digest": "00"}, {"step": 130, "digest": "00"}],
    "network": {"path": "network.bin"},
    "weights": {"path": "weights.bin"},
    "torch": "2.13.0",
    "threads": 1,
    "capability": "test",
    "shape": "b1c16",
    "processes": 1,
    "device": "cpu",
    "batches": 3,
    "skipped": [{}],
    "losses": dict.fromkeys((f"{name}_loss" for name in LOSSES), 1.0),
    "loss_rows": 960,
    "held_out_losses": {},
    "held_out_rows": 0,
    "rounding": {"rows": 9, "policy_divergence": 0.0125, "value_error": 0.03, "same_first_move": 0.875},
}


def test_states_network_and_weights_are_named_as_blobs(tmp_path: Path) -> None:
    for name in ("network.bin", "weights.bin"):
        (tmp_path / name).write_bytes(name.encode())
    for step in (125, 130):
        assert state_file(tmp_path, step).name == state_name(step)
        state_file(tmp_path, step).write_bytes(b"state %d" % step)
    (tmp_path / "result.json").write_text(json.dumps(RESULT))
    kept: list[bytes] = []

    def put(data: bytes) -> bytes:
        kept.append(data)
        return blob_digest(data)

    window = WindowCommitment(digest_of("run"), 2, 77, 4, 8, 200, 400, digest_of("headers"))
    info = WindowInfo(77, window, Window((), 8, 200, 400), small_manifest())
    begun = Begun(info, digest_of("base"), None, SEED, 40)
    record = train_record(begun, tmp_path, load_result(tmp_path), put)
    assert sorted(kept) == [b"network.bin", b"state 125", b"state 130", b"weights.bin"]
    assert [(point.step, point.state) for point in record.states] == [
        (125, blob_digest(b"state 125")),
        (130, blob_digest(b"state 130")),
    ]
    assert record.state == record.states[-1].state
    assert (record.run, record.cycle, record.window, record.base) == (window.run, 2, 77, begun.base)
    assert (record.parent_state, record.samples, record.batches, record.skipped) == (ZERO, 1000, 3, 1)
    later = train_record(replace(begun, parent_state=record.state), tmp_path, RESULT, put)
    assert later == replace(record, parent_state=record.state)


def test_a_record_has_the_losses_in_millionths() -> None:
    assert tuple(f"{name}_loss" for name in LOSSES) == PARTS[1:]
    losses = dict(zip(PARTS, (9.0, 1.5, 2.25, 0.5, 0.75, 0.125), strict=True))
    found = LossReport(640, 1_500_000, 2_250_000, 500_000, 750_000, 125_000)
    assert _loss_report(640, losses) == found
    assert _loss_report(0, {}) == LossReport(0, 0, 0, 0, 0, 0)


def test_a_record_has_what_rounding_cost() -> None:
    result = {"rows": 9, "policy_divergence": 0.0125, "value_error": 0.03, "same_first_move": 0.875, "score_error": 0.5}
    assert _rounding(result) == RoundingReport(9, 12_500, 30_000, 875_000)
    assert _rounding({**result, "policy_divergence": -1e-9}).policy_divergence_micro == 0
