"""What was played since midnight UTC: kept over restarts, new each day, harmless when the value is not ours."""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from node.contributor.today import NAME, Today
from node.disk.store import Store
from node.role_status import Played


@pytest.fixture
def member(tmp_path: Path) -> Iterator[Any]:
    with Store(tmp_path / "node.db") as store:
        now = [86_400.0 * 20_000]
        yield SimpleNamespace(store=store, now=now, clock=lambda: now[0])


def test_it_counts_and_survives_a_restart(member: Any) -> None:
    for plies in (10, 32):
        Today(member).add(plies)
    assert Today(member).status() == Played(2, 42)


def test_a_new_day_begins_at_midnight(member: Any) -> None:
    member.now[0] += 86_399.9
    today = Today(member)
    today.add(10)
    assert today.status() == Played(1, 10)
    member.now[0] += 0.2
    assert today.status() == Played(0, 0)
    today.add(7)
    assert today.status() == Played(1, 7)


def test_another_value_is_no_count(member: Any) -> None:
    member.store.put(NAME, b"what is this")
    assert Today(member).status() == Played(0, 0)


def test_what_is_rolled_back_does_not_count(member: Any) -> None:
    def add_and_fail() -> None:
        with member.store.transaction():
            Today(member).add(5)
            raise KeyError

    with pytest.raises(KeyError):
        add_and_fail()
    assert Today(member).status() == Played(0, 0)
