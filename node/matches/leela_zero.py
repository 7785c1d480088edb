"""A player of matches that is a weights file of Leela Zero: the program `leelaz` plays it, on its own board alone, 19x19.

It has so many visits a move, all of them (it stops no search early) and no clock, or seconds a move; one thread of the
processor, no thinking on the other's time, and it never resigns: who wins is counted, as in games between releases. Each
game has a process of its own with the game's seed, so that with visits a match repeats on one machine. A file is known by
its first line, and the rest of it is judged by `leelaz`. Version 2 is refused, as everywhere here.
"""

import gzip
import hashlib
import shlex
import shutil
import zlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO, ClassVar, Final, cast

from node.matches.gtp_engine import GtpError, shown
from node.matches.gtp_player import GtpOpponent
from node.matches.gtp_terms import GtpTerms
from node.matches.opponent import OpponentError

PREFIX: Final = "leela-zero:"
PROGRAM: Final = "leelaz"
SIZE: Final = 19

_GAMES: Final = "/usr/games"
"""Where Debian has games; not on everybody's path."""
_GZIP: Final = b"\x1f\x8b"
_LAG: Final = "10"
"""Hundredths of a second that it leaves over of its time; 100 unless told, which is all that it has of a second."""
_NO_LIMIT: Final = "time_settings 0 1 0"
"""A period without stones; without it, a game has an hour."""
_CHUNK: Final = 1 << 20
_MOST_BYTES: Final = 1 << 31
"""Above every network's file, unpacked."""


def weights_version(path: Path) -> int | None:
    """The version of a file of Leela Zero's weights, packed by gzip or not; None for any other file. Raises OSError."""
    with path.open("rb") as file:
        start = file.read(2)
        file.seek(0)
        try:
            line = _unpacked(file, start).readline(64).strip()
        except (EOFError, gzip.BadGzipFile, zlib.error):
            return None
    return int(line) if line in (b"1", b"2") else None


class LeelaZeroOpponent(GtpOpponent):
    """Weights in a file, played by `leelaz`; `name` is the file's."""

    goes_on: ClassVar[bool] = False

    def __init__(self, path: Path, visits: int, deadline_s: float, terms: GtpTerms) -> None:
        """`visits` a move where `terms` have no time; raises OpponentError."""
        self._file = path.name
        verify_version(path)
        program = shutil.which(PROGRAM) or shutil.which(PROGRAM, path=_GAMES)
        if program is None:
            raise OpponentError(
                f"{path}: Leela Zero's own program plays its weights, and there is no {PROGRAM} on the PATH "
                "(Debian: apt install leela-zero)."
            )
        self.digest = _digest(path)
        words = [program, "--gtp", "--cpu-only", "--noponder", "--threads", "1", "--resignpct", "0"]
        self._startup = terms.startup
        if terms.time_s is None:
            words += ["--visits", str(visits), "--timemanage", "off"]
            terms = replace(terms, startup=(_NO_LIMIT, *terms.startup))
        else:
            words += ["--lagbuffer", _LAG]
        super().__init__(shlex.join([*words, "--weights", str(path)]), deadline_s, terms)
        self.name = shown(path.name)

    @property
    def identity(self) -> str:
        """See `Opponent.identity`: the digest is of the numbers, packed or not."""
        return " | ".join((PREFIX + self.digest.hex(), *self._startup))

    def _command_line(self, number: int) -> Sequence[str]:
        return [*self._words, "--seed", str(number)]

    def _useless(self, error: GtpError) -> OpponentError:
        return OpponentError(f"{shown(self._file)}: {PROGRAM} {error}.")


def verify_version(path: Path) -> None:
    """Raises OpponentError for weights of version 2."""
    if weights_version(path) == 2:
        raise OpponentError(f"{path}: The weights file has version 2, whose value is black's; only version 1 is read.")


def _digest(path: Path) -> bytes:
    """The SHA-256 of what is in the file; raises OpponentError."""
    found = hashlib.sha256()
    total = 0
    try:
        with path.open("rb") as file:
            start = file.read(2)
            file.seek(0)
            unpacked = _unpacked(file, start)
            while data := unpacked.read(_CHUNK):
                found.update(data)
                total += len(data)
                if total > _MOST_BYTES:
                    raise OpponentError(f"{path}: weights of more than {_MOST_BYTES} bytes are not played.")
    except (EOFError, gzip.BadGzipFile, zlib.error):
        raise OpponentError(f"{path}: The weights file is damaged: it cannot be unpacked to its end.") from None
    except OSError as error:
        raise OpponentError(f"{path}: cannot be read ({error.strerror or error}).") from None
    return found.digest()


def _unpacked(file: BinaryIO, start: bytes) -> BinaryIO:
    return cast(BinaryIO, gzip.GzipFile(fileobj=file)) if start == _GZIP else file
