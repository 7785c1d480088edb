"""`gonode join --device`: what this machine cannot follow is one sentence."""

import json
import sys
from pathlib import Path

import pytest

from node.engine import process
from node.engine.settings import EngineSettings
from tests.node.cli.gonode import gonode
from tests.node.homes import TICKET


def test_a_kernel_is_a_processors(tmp_path: Path) -> None:
    answer = gonode("join", TICKET, "--dir", tmp_path, "--device", "cuda", "--kernel", "scalar")
    assert answer.refusal() == "A kernel is a processor's: --kernel does not go with --device cuda."


def test_a_device_that_is_not_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    answer = gonode("join", TICKET, "--dir", tmp_path, "--device", "cuda", "--listen", "/ip4/127.0.0.1/tcp/0")
    assert "CUDA" in answer.refusal()


def test_a_device_that_nobody_has() -> None:
    assert "abacus" in gonode("join", TICKET, "--device", "abacus").refusal()


def test_an_engine_that_dies_again_and_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(EngineSettings, "command", lambda self: [sys.executable, "-c", "raise SystemExit('no luck')"])
    monkeypatch.setattr(process, "FIRST_WAIT_S", 0.01)
    answer = gonode("join", TICKET, "--dir", tmp_path, "--json")
    assert answer.status == 3
    assert answer.err.startswith(
        "gonode: The engine ended 5 times within 60 s; at last it ended with status 1 (no luck). "
    )
    assert "gonode doctor" in answer.err
    assert [json.loads(line)["restarts"] for line in answer.out.splitlines()] == [1, 2, 3, 4]
