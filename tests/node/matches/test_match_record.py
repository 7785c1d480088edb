"""Records of matches: other settings, other files and other processes are refused, and nothing there is lost by that."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from node.matches.match_record import RecordError, open_record, read_record
from node.matches.match_result import Score
from node.matches.played_game import PlayedGame

FACTS: dict[str, Any] = {
    "run": "ab",
    "players": [{"name": "a", "identity": "network:1"}, {"name": "b", "identity": "gtp:x --level 1"}],
    "visits": 8,
}
WON = PlayedGame(7, 17, "D4 E4", "B+2.5")
LOST = PlayedGame(7, 17, "D4 D5", "B+F", "White (b) resigned.")


def test_games_as_lines() -> None:
    for game in (WON, LOST, PlayedGame(19, -15, "", "0")):
        assert PlayedGame.from_json(json.loads(json.dumps(game.to_json()))) == game
    with pytest.raises(ValueError, match="neither"):
        PlayedGame(7, 17, "", "Void")
    with pytest.raises(ValueError, match="neither"):
        PlayedGame(7, 17, "", "B+Resign")


def test_pairs_are_counted_up_to_the_first_that_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "match.jsonl"
    with open_record(path, FACTS) as record:
        for number in (0, 3, 1):
            record.add(number, (WON, LOST))
        assert record.pair(3) == (WON, LOST)
        assert record.pair(2) is None
    found, tally = read_record(path)
    assert found["visits"] == 8
    result = tally.result()
    assert (result.names, result.black, result.white) == (("a", "b"), Score(2, 0, 0), Score(0, 0, 2))
    assert result.forfeits == (("a", 2, "White (b) resigned."),)


def test_another_process_has_it(tmp_path: Path) -> None:
    path = tmp_path / "match.jsonl"
    with open_record(path, FACTS), pytest.raises(RecordError, match="another process"), open_record(path, FACTS):
        pass


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"visits": 9}, r"\(visits: 8 there, 9 now\)"),
        ({"komi": 7.5}, r"\(komi: null there, 7\.5 now\)"),
        ({"players": [*FACTS["players"][:1], {"name": "b", "identity": "gtp:x --level 2"}]}, r"level 1\).*level 2\)"),
    ],
)
def test_other_settings(changes: dict[str, Any], sentence: str, tmp_path: Path) -> None:
    path = tmp_path / "match.jsonl"
    with open_record(path, FACTS) as record:
        record.add(0, (WON, LOST))
    kept = path.read_bytes()
    with pytest.raises(RecordError, match=sentence), open_record(path, {**FACTS, **changes}):
        pass
    assert path.read_bytes() == kept


@pytest.mark.parametrize(
    "data",
    [
        b"precious",
        b"precious\n",
        b"[]\n",
        b"3\n",
        b"{}\n",
        b'{"format": "other"}\n',
        b"\xff\n",
        b"\n",
        b"[" * 100_000 + b"\n",
    ],
)
def test_a_file_of_something_else_stays_as_it_is(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(data)
    with pytest.raises(RecordError, match="no record of a match"), open_record(path, FACTS):
        pass
    assert path.read_bytes() == data


@pytest.mark.parametrize(
    "line",
    [
        "x",
        "null",
        '{"pair": 0}',
        '{"pair": 0, "games": []}',
        '{"pair": "x", "games": [GAME, GAME]}',
        '{"pair": 0, "games": [GAME, GAME, GAME]}',
        '{"pair": 0, "games": [GAME, {"size": 7, "komi": 0.3, "moves": "", "result": "0"}]}',
        '{"pair": 0, "games": [GAME, {"size": 7, "komi": Infinity, "moves": "", "result": "0"}]}',
        '{"pair": 0, "games": [GAME, {"size": 7, "komi": "x", "moves": "", "result": "0"}]}',
        '{"pair": 0, "games": [GAME, {"size": 7, "komi": 1, "moves": 3, "result": "0"}]}',
        '{"pair": 0, "games": [GAME, {"size": 7, "komi": 1, "moves": "", "result": "B+lots"}]}',
    ],
)
def test_damaged_lines(line: str, tmp_path: Path) -> None:
    path = tmp_path / "match.jsonl"
    with open_record(path, FACTS):
        pass
    with path.open("a") as file:
        file.write(line.replace("GAME", json.dumps(WON.to_json())) + "\n")
    with pytest.raises(RecordError, match="damaged in line 2"):
        read_record(path)


def test_a_head_that_was_cut_short_is_written_anew(tmp_path: Path) -> None:
    path = tmp_path / "match.jsonl"
    with open_record(path, FACTS):
        whole = path.read_bytes()
    for length in (0, 1, 10, len(whole) - 1):
        path.write_bytes(whole[:length])
        with open_record(path, FACTS):
            assert path.read_bytes() == whole


def test_what_is_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe", Path("/dev/null")):
        with pytest.raises(RecordError, match="no file"), open_record(path, FACTS):
            pass
        with pytest.raises(RecordError, match="no file"):
            read_record(path)


def test_what_a_full_disk_cut_short_is_taken_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a pair of another thread is not glued to it, should there be room again."""
    path = tmp_path / "match.jsonl"
    write = os.write
    with open_record(path, FACTS) as record:
        monkeypatch.setattr(os, "write", lambda file, data: write(file, data[:9]))
        with pytest.raises(OSError, match="No space left") as raised:
            record.add(0, (WON, LOST))
        assert raised.value.filename == str(path)
        monkeypatch.undo()
        record.add(1, (LOST, WON))
    with open_record(path, FACTS) as record:
        assert (record.pair(0), record.pair(1)) == (None, (LOST, WON))
