"""One training at a time works in a folder; who comes second waits, and may be interrupted."""

import threading
from pathlib import Path

import pytest

from trainer.errors import BadJob, Interrupted
from trainer.folder import held
from trainer.learning.group import ALONE


def test_the_second_waits_and_says_so_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trainer.folder.AGAIN_S", 0.001)
    folder, told, order = tmp_path / "a" / "out", list[str](), list[str]()
    asked = threading.Event()

    def second() -> None:
        with held(folder, ALONE, lambda: asked.set() or False, told.append):  # type: ignore[func-returns-value]
            order.append("second")

    with held(folder, ALONE, lambda: False, pytest.fail):
        thread = threading.Thread(target=second)
        thread.start()
        for _ in range(3):
            asked.clear()
            assert asked.wait(10)
        order.append("first")
    thread.join(10)
    assert order == ["first", "second"]
    assert told == [f"Another training is at work in {folder}; this one begins when that has ended."]


def test_who_waits_may_be_interrupted(tmp_path: Path) -> None:
    with (
        held(tmp_path, ALONE, lambda: False, pytest.fail),
        pytest.raises(Interrupted),
        held(tmp_path, ALONE, lambda: True, pytest.fail),
    ):
        pass
    with held(tmp_path, ALONE, lambda: True, pytest.fail):  # nobody else is at work: the training itself is asked
        pass


def test_what_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path / "file", tmp_path / "file" / "out"):
        with pytest.raises(BadJob, match="cannot be made"), held(path, ALONE, lambda: False, pytest.fail):
            pass
