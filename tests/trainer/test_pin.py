"""What a pinned process allows."""

import pytest
import torch

from trainer.pin import pin


def test_what_gives_other_bits_each_time_is_an_error() -> None:
    pin(1)
    assert torch.get_num_threads() == 1
    assert torch.are_deterministic_algorithms_enabled()
    assert not torch.is_deterministic_algorithms_warn_only_enabled()
    values = torch.ones(4, requires_grad=True)
    with pytest.raises(RuntimeError, match="deterministic"):
        torch.nn.functional.max_unpool1d(values.view(1, 1, 4), torch.zeros(1, 1, 4, dtype=torch.int64), 2)
