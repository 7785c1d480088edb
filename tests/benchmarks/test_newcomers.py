"""What the benchmarks of installing and joining say of their measurements."""

import os
from pathlib import Path

import pytest

from benchmarks.install import Install, room, row, sizes_mb
from benchmarks.join import EVENTS, KEY, own_home, rows


def test_a_folder_is_as_large_as_its_files(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "file").write_bytes(os.urandom(1_000_001))
    (tmp_path / "below" / "small").write_bytes(b"x")
    (tmp_path / "link").symlink_to(tmp_path / "below")
    assert sizes_mb(tmp_path)[0] == pytest.approx(1, rel=1e-3)


def test_an_install_is_all_that_is_waited_for() -> None:
    found = [
        Install(1.0, 6.0, 4.0, 90.0, 99.0, {}),
        Install(2.0, 11.0, 9.0, 92.0, 99.0, {}),
        Install(1.5, 7.5, None, 91.0, 98.0, {}),
    ]
    assert row("somewhere", found) == {
        "packages from": "somewhere",
        "rounds": 3,
        "environment s": 1.5,
        "install s": 7.5,
        "s": 9.0,
        "spread": pytest.approx(6 / 9),
        "packages alone s": 6.5,
        "MB": 92.0,
        "MB on disk": 99.0,
    }
    assert row("somewhere", found[2:])["packages alone s"] == "-"


def test_what_is_large_is_named() -> None:
    folders = {f"package{number}": float(number) for number in range(10)}
    told = {each["package"]: each["MB"] for each in room(Install(1, 1, None, 50.0, 60.0, folders))}
    assert list(told)[:2] == ["package9", "package8"]
    assert told["all else"] == 50.0 - sum(range(2, 10))


def test_steps_are_counted_from_the_start_and_from_the_one_before() -> None:
    names = [KEY, *EVENTS.values()]
    found = [{name: factor * (number + 1) for number, name in enumerate(names)} for factor in (1.0, 2.0, 4.0)]
    told = list(rows(found))
    assert [each["reached"] for each in told] == names
    assert [each["s"] for each in told] == [2.0 * (number + 1) for number in range(len(names))]
    assert {each["s after the one before"] for each in told} == {2.0}


def test_a_home_of_ones_own_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GONODE_JOIN_NICE", "7")
    before = dict(os.environ)
    with own_home(tmp_path):
        assert os.environ["HOME"] == str(tmp_path)
        assert "GONODE_JOIN_NICE" not in os.environ
    assert dict(os.environ) == before
