"""A trainer's result, as it writes it."""

from typing import Any

from trainer.network.loss import PARTS

RESULT: dict[str, Any] = {
    "job": "00",
    "shape": "b1c16",
    "step": 130,
    "batches": 3,
    "headers_used": "00",
    "skipped": [{"batch": "ab", "why": "It is damaged."}],
    "parent_state": "00",
    "state": {"path": "train_state-0000000130.bin", "digest": "00"},
    "states": [{"step": 125, "digest": "00"}, {"step": 130, "digest": "00"}],
    "torch": "2.13.0",
    "device": "cpu",
    "processes": 1,
    "threads": 2,
    "capability": "test",
    "steps": 30,
    "samples": 960,
    "rows": 400,
    "network": {"path": "network.bin", "digest": "00"},
    "weights": {"path": "weights.bin", "digest": "00"},
    "network_len": 11,
    "losses": {name: 1.0 + number for number, name in enumerate(PARTS)},
    "loss_rows": 960,
    "held_out_losses": {},
    "held_out_rows": 0,
    "rounding": {
        "rows": 9,
        "policy_divergence": 0.0125,
        "value_error": 0.03,
        "value_error_largest": 0.2,
        "score_error": 0.5,
        "same_first_move": 0.875,
    },
}
