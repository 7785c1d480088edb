"""A group computes what one process does: moments, losses of the whole minibatch, gradients; and misses who is gone."""

from typing import Any

import pytest
import torch

from tests.trainer.learning.group_member import lose, minibatch, part_of, run
from trainer.errors import BadJob
from trainer.learning.group import ALONE, Group, is_in_group

Findings = list[dict[str, Any]]


@pytest.fixture(scope="module")
def alone() -> dict[str, Any]:
    return run(1)[0]


@pytest.fixture(scope="module", params=[2, 3])
def found(request: pytest.FixtureRequest) -> Findings:
    """What the processes of a group of two, and of three, found."""
    return run(request.param)


def test_one_process_is_a_group_that_sends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    assert not is_in_group()
    assert Group.join() == ALONE
    tensor = torch.tensor([1.0, 2.0])
    assert ALONE.total(tensor) is tensor
    assert ALONE.gather(tensor).tolist() == [[1.0, 2.0]]
    assert (ALONE.is_any(True), ALONE.is_any(False), ALONE.is_same(b"x"), ALONE.of_first(b"x")) == (1, 0, 1, b"x")


@pytest.mark.skipif(torch.cuda.is_available(), reason="says what a machine without a GPU says")
def test_a_process_without_a_gpu_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("RANK", "0"), ("WORLD_SIZE", "2"), ("LOCAL_RANK", "0")):
        monkeypatch.setenv(name, value)
    with pytest.raises(BadJob, match="Process 0 of 2 has no GPU"):
        Group.join("cuda")


def test_all_hear_the_same(found: Findings) -> None:
    size = len(found)
    for mine in found:
        assert mine["gather"].tolist() == [[rank, 2 * rank] for rank in range(size)]
        assert mine["total"] == sum(range(1, size + 1))
        assert [tensor.unique().tolist() for tensor in mine["add_up"]] == [[mine["total"]], [10 * mine["total"]]]
        assert mine["is_any"] == [False, True, True]
        assert mine["of_first"] == [b"first", b""]
        assert mine["is_same"] == [True, False]


@pytest.mark.parametrize("kind", ["norm", "masked"])
def test_moments_are_those_of_all_rows(found: Findings, alone: dict[str, Any], kind: str) -> None:
    for name in ("y", "to_x"):
        torch.testing.assert_close(
            torch.cat([mine[kind][name] for mine in found]), alone[kind][name], rtol=1e-4, atol=1e-5
        )
    for name in ("to_gamma", "to_beta"):
        for mine in found:
            torch.testing.assert_close(mine[kind][name], alone[kind][name], rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize(("precision", "near"), [("float32", 1e-5), ("bfloat16", 0.02)])
def test_losses_and_gradients_are_those_of_the_whole_minibatch(
    found: Findings, alone: dict[str, Any], precision: str, near: float
) -> None:
    parts, gradients = alone[precision]
    for mine in found:
        torch.testing.assert_close(mine[precision][0], parts, rtol=near, atol=near)
        for each, whole, first in zip(mine[precision][1], gradients, found[0][precision][1], strict=True):
            assert float((each - whole).norm()) <= 10 * near * float(whole.norm()) + near
            assert torch.equal(each, first)


@pytest.mark.parametrize("size", [2, 3])
def test_parts_of_the_minibatch_have_their_targets_unevenly(size: int) -> None:
    """So that the mean of the processes' means is not what is looked for above."""
    parts = [part_of(minibatch(), Group(rank, size)) for rank in range(size)]
    assert len({int(part.policy.sum(1).gt(0).sum()) for part in parts}) > 1
    assert len({float(part.board.sum()) for part in parts}) > 1


def test_who_died_is_missed_at_once() -> None:
    assert lose(dies=True, timeout_s=60) < 30


def test_who_says_nothing_is_missed_in_time() -> None:
    assert 1 <= lose(dies=False, timeout_s=2) < 30
