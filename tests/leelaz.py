"""The real `leelaz`, where it is installed (`apt install leela-zero`): what it says about positions and games."""

import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

LEELAZ = shutil.which("leelaz") or shutil.which("leelaz", path="/usr/games")

needs_leelaz = pytest.mark.skipif(LEELAZ is None, reason="Leela Zero is not installed (apt install leela-zero)")

_HEAT = re.compile(r"((?:^(?: *\d+ ){19}\n){19})pass: (\d+)\nwinrate: ([0-9.]+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Heat:
    """What `heatmap` prints of a position: thousandths by point from the top left corner, the pass last, 0 where a stone
    lies; and the win rate of the side to move, to six digits."""

    policy: tuple[int, ...]
    win_rate: float


def command(weights: Path, *options: str) -> list[str]:
    """The command line of a leelaz on one thread of the processor."""
    assert LEELAZ is not None
    return [LEELAZ, "--gtp", "--cpu-only", "--noponder", "-t", "1", "-w", str(weights), *options]


def ask(weights: Path, commands: Sequence[str], *options: str) -> tuple[str, str]:
    """Has it obey GTP commands; gives its answers and what it printed beside them."""
    done = subprocess.run(
        command(weights, *options),
        input="".join(f"{line}\n" for line in (*commands, "quit")),
        capture_output=True,
        text=True,
        timeout=1200,
        cwd=weights.parent,
        env={"HOME": str(weights.parent), "PATH": "/usr/bin:/bin"},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert not re.search(r"^\?", done.stdout, re.MULTILINE), done.stdout
    return done.stdout, done.stderr


def heats(weights: Path, games: Sequence[Sequence[str]]) -> list[Heat]:
    """Of the position after each list of moves (`b D4`)."""
    commands = [line for game in games for line in ("clear_board", *(f"play {move}" for move in game), "heatmap")]
    _, printed = ask(weights, commands)
    found = [
        Heat((*map(int, rows.split()), int(passing)), float(win_rate))
        for rows, passing, win_rate in _HEAT.findall(printed)
    ]
    assert len(found) == len(games)
    return found


class Player:
    """A leelaz that plays a game, one command after another."""

    def __init__(self, weights: Path, *options: str) -> None:
        self._process = subprocess.Popen(
            command(weights, "-q", *options),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=weights.parent,
            env={"HOME": str(weights.parent), "PATH": "/usr/bin:/bin"},
        )

    def ask(self, line: str) -> str:
        """Its answer to a command."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        assert answer.startswith("="), answer
        assert self._process.stdout.readline() == "\n"
        return answer[1:].strip()

    def close(self) -> None:
        """Ends it."""
        with self._process:
            self._process.kill()
