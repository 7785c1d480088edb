"""What the coordinator says of a candidate."""

from node.coordinator.training_cycle import _losses


def test_losses_of_a_candidate() -> None:
    assert _losses({"held_out_losses": {"value": 0.5, "policy": 1.25}}) == "losses policy 1.250, value 0.500"
    assert _losses({"held_out_losses": {}}) == "no games held out yet to measure losses on"
