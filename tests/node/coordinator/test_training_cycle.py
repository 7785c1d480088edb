"""What the coordinator says of a candidate, and what it records of it."""

from node.coordinator.training_cycle import LOSSES, _loss_report, _losses, _rounding
from protocol.window import LossReport, RoundingReport
from trainer.network.loss import PARTS


def test_losses_of_a_candidate() -> None:
    assert _losses({"held_out_losses": {"value": 0.5, "policy": 1.25}}) == "losses policy 1.250, value 0.500"
    assert _losses({"held_out_losses": {}}) == "no games held out yet to measure losses on"


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
