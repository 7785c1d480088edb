"""The folder in which a group meets goes in the end, and after a kill with the next group."""

import os
import tempfile
from pathlib import Path

import pytest

from trainer.meeting import PREFIX, meeting_place, stay


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where folders are made."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_it_goes_in_the_end(place: Path) -> None:
    with meeting_place() as folder:
        assert folder.parent == place
        assert folder.stat().st_mode & 0o777 == 0o700
        (folder / "life-0").mkdir()
    assert list(place.iterdir()) == []


def test_the_next_group_removes_what_nobody_holds(place: Path) -> None:
    others = place / "others"
    others.mkdir()
    left, used, link, file = (place / (PREFIX + name) for name in ("left", "used", "link", "file"))
    (left / "life-0").mkdir(parents=True)
    used.mkdir()
    link.symlink_to(others)
    file.touch()
    lock = stay(used)
    with meeting_place() as first, meeting_place() as second:
        assert {path.name for path in place.iterdir()} == {
            *("others", used.name, link.name, file.name, first.name, second.name)
        }
    os.close(lock)
    with meeting_place():
        assert not used.exists()
    assert others.is_dir()


def test_one_that_was_taken_for_left_over_is_made_again(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    make = tempfile.mkdtemp

    def mkdtemp(prefix: str) -> str:
        made.append(make(prefix=prefix))
        if len(made) == 1:
            os.rmdir(made[0])
        return made[-1]

    monkeypatch.setattr(tempfile, "mkdtemp", mkdtemp)
    with meeting_place() as folder:
        assert [str(folder)] == made[1:]
