"""What the doctor says of processors and kernels."""

import pytest

import node.doctor.machine
from native.canary import WrongMachine
from native.network import Kernel
from node.doctor.finding import Finding, Standing
from node.doctor.machine import check_canaries, check_kernels, check_threads
from node.machine import Machine


def test_kernels() -> None:
    assert check_kernels(Kernel.available(), "x86_64").standing in (Standing.OK, Standing.WARNING)
    assert check_kernels([Kernel.SCALAR, Kernel.AVX2], "x86_64").standing is Standing.OK
    slow = check_kernels([Kernel.SCALAR], "x86_64")
    assert slow.standing is Standing.WARNING
    assert "AVX2" in slow.mend
    assert "NEON" in check_kernels([Kernel.SCALAR], "aarch64").mend
    assert check_kernels([Kernel.SCALAR], "riscv64").standing is Standing.OK


def test_canaries() -> None:
    assert check_canaries([Kernel.best()]).standing is Standing.OK

    def broken(kernel: Kernel) -> None:
        if kernel is Kernel.SCALAR:
            raise WrongMachine("This machine computes wrongly.")

    found = check_canaries([Kernel.best(), Kernel.SCALAR], broken)
    assert found.standing is Standing.WRONG
    assert "Kernel scalar" in found.detail


def test_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node.doctor.machine, "load_machine", lambda: None)
    assert "gonode bench" in check_threads().mend
    machine = Machine.here(kernel=Kernel.SCALAR, net="b2c16", size=9, threads=3, games=4)
    monkeypatch.setattr(node.doctor.machine, "load_machine", lambda: machine)
    assert "3 threads with 4 games" in check_threads().detail


def test_what_is_not_ok_has_a_mend() -> None:
    for standing in Standing:
        with pytest.raises(ValueError, match="mend"):
            Finding("x", standing, "so", "mend it" if standing is Standing.OK else "")
