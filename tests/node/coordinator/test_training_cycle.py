"""What the coordinator says of a candidate."""

from node.coordinator.training_cycle import _losses
from node.training.result import Losses


def test_losses_of_a_candidate() -> None:
    assert _losses(Losses(9, 6.0, 1.25, 2.0, 0.5, 0.25, 0.125)) == (
        "losses loss 6.000, opponent_policy_loss 2.000, ownership_loss 0.125, policy_loss 1.250, score_loss 0.250, "
        "value_loss 0.500"
    )
    assert _losses(None) == "no games held out yet to measure losses on"
