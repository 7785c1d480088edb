"""Canaries: every kernel of this machine gives what is known, and one wrong bit shows."""

import pytest

from native import canary
from native._engine import ffi, lib
from native.canary import CANARIES, WrongMachine, verify_kernel, verify_outputs
from native.errors import EngineError
from native.network import Evaluator, Kernel, Network


@pytest.mark.parametrize("kernel", [Kernel.BEST, *Kernel.available()], ids=lambda kernel: kernel.encode())
def test_every_kernel_gives_what_is_known(kernel: Kernel) -> None:
    verify_kernel(kernel)


def test_a_kernel_that_is_not_here() -> None:
    missing = next(kernel for kernel in Kernel if kernel not in (Kernel.BEST, *Kernel.available()))
    with pytest.raises(EngineError) as caught:
        verify_kernel(missing)
    assert not isinstance(caught.value, WrongMachine)


@pytest.mark.parametrize("which", range(len(CANARIES)))
@pytest.mark.parametrize("field", ["policy", "value", "score_mean", "score_spread", "ownership"])
def test_one_wrong_bit_is_seen(which: int, field: str) -> None:
    def evaluate(network: Network, size: int, planes: bytes) -> bytes:
        outputs, count = Evaluator(network, Kernel.BEST).run_raw(size, size, planes)
        if size == CANARIES[which].size:
            if field in ("policy", "ownership"):
                getattr(outputs[0], field)[size * size - 1] ^= 1
            else:
                setattr(outputs[count - 1], field, getattr(outputs[count - 1], field) ^ 1)
        return bytes(ffi.buffer(outputs))

    with pytest.raises(WrongMachine, match="This machine computes wrongly"):
        verify_outputs(evaluate)


def test_a_tree_that_is_not_the_known_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def selftest(kernel: Kernel) -> None:
        raise EngineError("mismatch", lib.GO_ERR_MISMATCH)

    monkeypatch.setattr(canary, "selftest", selftest)
    with pytest.raises(WrongMachine, match="another tree"):
        verify_kernel(Kernel.BEST)
