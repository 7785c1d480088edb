"""The record of a match: a file of JSON lines that each finished pair is added to, so that a match goes on where it ended.

The first line says what is played; a line each follows for the pairs, in the order in which they ended. A line is on the
disk before its pair counts, and a last line that was cut short is dropped. One process has a record at a time.

```
{"format": "gonode/match/1", "run": HEX, "players": [{"name": .., "identity": ..}, ..], "visits": 100, "sprt": null, ...}
{"pair": 0, "games": [{"size": 7, "komi": 9.5, "result": "W+0.5", "moves": "D4 E4 ..."}, {..}]}
```
"""

import errno
import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Any, Final

from node.disk.files import naming
from node.matches.colours import Colours
from node.matches.match_result import Tally
from node.matches.played_game import Pair, PlayedGame

FORMAT: Final = "gonode/match/1"
MAX_BYTES: Final = 1 << 30


class RecordError(ValueError):
    """One sentence about a file that is not the record that is needed."""


class MatchRecord:
    """An open record; safe to use from many threads."""

    def __init__(self, path: Path, file: int, pairs: dict[int, Pair]) -> None:
        self._path = path
        self._file = file
        self._pairs = pairs
        self._lock = Lock()

    def pair(self, number: int) -> Pair | None:
        """The games of a pair that was played before."""
        return self._pairs.get(number)

    def add(self, number: int, games: Pair) -> None:
        """Adds a finished pair; it is on the disk when this returns."""
        line = json.dumps({"pair": number, "games": [game.to_json() for game in games]})
        with self._lock:
            _append(self._path, self._file, line)
            self._pairs[number] = games


@contextmanager
def open_record(path: Path, settings: Mapping[str, Any]) -> Iterator[MatchRecord]:
    """The record at `path`, made if there is none; raises RecordError when it has other settings or another has it."""
    if path.exists() and not path.is_file():
        raise RecordError(f"{path}: this is no file.")
    path.parent.mkdir(parents=True, exist_ok=True)
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise RecordError(f"{path}: another process records a match here.") from None
        data = _read(path)
        whole = data[: data.rfind(b"\n") + 1]
        if data and not whole and not json.dumps({"format": FORMAT}).encode()[:-1].startswith(data[:20]):
            raise RecordError(f"{path}: this is no record of a match.")
        head = {"format": FORMAT, **settings}
        if whole:
            found, pairs = _parse(path, whole)
            _verify_same(path, found, json.loads(json.dumps(head)))
            os.ftruncate(file, len(whole))
        else:
            pairs = {}
            os.ftruncate(file, 0)
            _append(path, file, json.dumps(head))
        yield MatchRecord(path, file, pairs)
    finally:
        os.close(file)


def read_record(path: Path) -> tuple[dict[str, Any], Tally]:
    """A record's settings, and what its pairs give up to the first one that is missing: pairs that ended before their turn
    would favour short games. Raises RecordError."""
    data = _read(path)
    found, pairs = _parse(path, data[: data.rfind(b"\n") + 1])
    try:
        names = [(str(each["name"]), str(each["identity"])) for each in found["players"]]
        tally = Tally((names[0][0], names[1][0]), None, Colours(found.get("colours") or Colours.SWAP))
    except (KeyError, TypeError, IndexError, ValueError):
        raise RecordError(f"{path}: line 1 does not say who played, and with which colours.") from None
    number = 0
    while (pair := pairs.get(number)) is not None:
        tally.add(pair)
        number += 1
    return found, tally


def _read(path: Path) -> bytes:
    if path.exists() and not path.is_file():
        raise RecordError(f"{path}: this is no file.")
    with path.open("rb") as file:
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise RecordError(f"{path}: a record of more than {MAX_BYTES} bytes is not read.")
    return data


def _append(path: Path, file: int, line: str) -> None:
    data = line.encode() + b"\n"
    before = os.fstat(file).st_size
    with naming(path):
        if os.write(file, data) != len(data):
            os.ftruncate(file, before)  # or the next line would be glued to what is there of this one
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        os.fsync(file)


def _parse(path: Path, data: bytes) -> tuple[dict[str, Any], dict[int, Pair]]:
    pairs: dict[int, Pair] = {}
    head: dict[str, Any] | None = None
    for number, line in enumerate(data.splitlines(), 1):
        try:
            found = json.loads(line)
            if head is None:
                head = found
                if found["format"] != FORMAT:
                    raise ValueError("it has another format")
                continue
            one, two = (PlayedGame.from_json(game) for game in found["games"])
            pairs[int(found["pair"])] = (one, two)
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
            what = "no record of a match" if number == 1 else f"damaged in line {number}"
            raise RecordError(f"{path}: this file is {what}.") from None
    if head is None:
        raise RecordError(f"{path}: this file is no record of a match.")
    return head, pairs


def _shown(value: Any) -> str:
    """A setting in a sentence; of players the end of what they are, where commands differ."""
    if isinstance(value, list) and all(isinstance(each, dict) for each in value):
        return " and ".join(f"{each.get('name')} ({str(each.get('identity'))[-80:]})" for each in value)
    return json.dumps(value)[:120]


def _verify_same(path: Path, found: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    for key in sorted({*found, *wanted}):
        if found.get(key) != wanted.get(key):
            there, here = (_shown(each.get(key)) for each in (found, wanted))
            raise RecordError(
                f"{path}: it records another match ({key}: {there} there, {here} now); take another file."
            )
