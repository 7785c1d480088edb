"""What is said when play rests."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from node.disk.store import Store
from node.engine.adjourning import AdjourningEngine
from node.guest.rest import Rest
from tests.sim.inline_engine import InlineEngine


@pytest.mark.parametrize(
    ("last", "due"),
    [
        (None, ""),
        (140, " A batch is due within 41 entries of the log, or the probation slot is lost."),
        (100, " A batch is due within 1 entry of the log, or the probation slot is lost."),
    ],
)
async def test_a_probation_slot_does_not_wait(tmp_path: Path, last: int | None, due: str) -> None:
    said: list[str] = []
    limits = {b"ada": last}
    member: Any = SimpleNamespace(
        state=SimpleNamespace(size=100, slots=SimpleNamespace(last_index=limits.__getitem__)),
        events=lambda event, text, **values: said.append(text),
    )
    with Store(tmp_path / "node.db") as store:
        engine = AdjourningEngine(InlineEngine(), store)
        Rest(engine, member, b"ada").hold("guest", "mains power")
    assert said == [f"Play rests, and games in flight are kept; waiting for: mains power.{due}"]
