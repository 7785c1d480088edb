"""Commands that search in their own process, on a machine that computes wrongly: they judge nobody."""

from dataclasses import replace
from pathlib import Path

import pytest

from native import canary
from tests.node.cli.gonode import gonode


@pytest.fixture(autouse=True)
def wrong_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is known is something else here."""
    first, *others = canary.CANARIES
    monkeypatch.setattr(canary, "CANARIES", (replace(first, known="0" * 64), *others))


def test_it_does_not_audit(tmp_path: Path) -> None:
    assert gonode("audit", "--dir", tmp_path).refusal(1).startswith("This machine computes wrongly: ")


def test_it_does_not_check_proofs(tmp_path: Path) -> None:
    file = tmp_path / "some.proof"
    file.write_bytes(b"whatever it says")
    assert gonode("proof", "check", file).refusal(1).startswith("This machine computes wrongly: ")
