"""The record that a finished cycle's folder gives."""

import json
from dataclasses import replace
from pathlib import Path

from node.training.result import Losses, Rounding, load_result
from node.training.train_record import Begun, _loss_report, _rounding_report, state_file, train_record
from protocol.blob import blob_digest
from protocol.types import ZERO
from protocol.window import LossReport, RoundingReport, WindowCommitment
from tests.node.training.results import RESULT
from tests.verification.manifests import digest_of, small_manifest
from trainer.cycle import state_name
from verification.cycles import WindowInfo
from verification.window import Window

SEED = bytes(range(32))


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
    later = train_record(replace(begun, parent_state=record.state), tmp_path, load_result(tmp_path), put)
    assert later == replace(record, parent_state=record.state)


def test_a_record_has_the_losses_in_millionths() -> None:
    found = LossReport(640, 1_500_000, 2_250_000, 500_000, 750_000, 125_000)
    assert _loss_report(Losses(640, 9.0, 1.5, 2.25, 0.5, 0.75, 0.125)) == found
    assert _loss_report(None) == LossReport(0, 0, 0, 0, 0, 0)


def test_a_record_has_what_rounding_cost() -> None:
    rounding = Rounding(9, 0.0125, 0.03, 0.2, 0.5, 0.875)
    assert _rounding_report(rounding) == RoundingReport(9, 12_500, 30_000, 875_000)
    assert _rounding_report(replace(rounding, policy_divergence=-1e-9)).policy_divergence_micro == 0
