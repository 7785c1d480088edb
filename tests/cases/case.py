"""Rule cases as typed records: what tests/cases/rules/README.md describes, read from any such folder."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from native.game import Game
from native.rules import Colour, Ko, Rules, Scoring

COLUMNS = "ABCDEFGHJKLMNOPQRST"
STONES = {".": Colour.EMPTY, "X": Colour.BLACK, "O": Colour.WHITE}
SIGNS = {int(colour): sign for sign, colour in STONES.items()}
PLAYERS = {"B": Colour.BLACK, "W": Colour.WHITE}
KO = {"simple": Ko.SIMPLE, "positional": Ko.POSITIONAL, "situational": Ko.SITUATIONAL}
SCORING = {"area": Scoring.AREA, "territory": Scoring.TERRITORY}


@dataclass(frozen=True)
class Case:
    """One case; `data` is the JSON object it came from."""

    id: str
    kind: str
    data: dict[str, Any]

    @property
    def expected(self) -> dict[str, Any]:
        expected: dict[str, Any] = self.data["expected"]
        return expected

    @property
    def cols(self) -> int:
        return int(self.data["size"][0])

    @property
    def rows(self) -> int:
        return int(self.data["size"][1])

    def rules(self, pass_alive: bool = False) -> Rules:
        named = self.data["rules"]
        return Rules(
            rows=self.rows,
            cols=self.cols,
            komi_half=round(2 * self.data["komi"]),
            ko=KO[named["ko"]],
            suicide=named["suicide"] == "allowed",
            scoring=SCORING[named["scoring"]],
            pass_alive=pass_alive,
        )

    def start(self, pass_alive: bool = False) -> Game:
        """The game before its moves."""
        setup = self.data["setup"]
        stones = bytes(STONES[sign] for row in setup["rows"] for sign in row) if setup["rows"] else None
        return Game(self.rules(pass_alive), stones, PLAYERS[setup["to_move"]])

    def replayed(self, pass_alive: bool = False) -> Game:
        """The game after all moves, each of which has to be legal for its player."""
        game = self.start(pass_alive)
        for text in self.data["moves"]:
            colour, move = self.move_of(text)
            game.play(move, colour)
        return game

    def move_of(self, text: str) -> tuple[Colour, int]:
        """`B D4` or `W pass` as player and move number."""
        player, vertex = text.split()
        return PLAYERS[player], self.point_of(vertex)

    def point_of(self, vertex: str) -> int:
        if vertex == "pass":
            return self.rows * self.cols
        return (self.rows - int(vertex[1:])) * self.cols + COLUMNS.index(vertex[0])

    def picture(self, points: bytes) -> list[str]:
        """Rows from the top in the cases' own signs."""
        return ["".join(SIGNS[p] for p in points[r * self.cols : (r + 1) * self.cols]) for r in range(self.rows)]


def load_cases(folder: Path) -> list[Case]:
    """All cases of a folder's JSON files, in the order of the files' names."""
    return [
        Case(entry["id"], entry["kind"], entry)
        for path in sorted(folder.glob("*.json"))
        for entry in json.loads(path.read_text(encoding="utf-8"))
    ]


def result_text(score_half: int) -> str:
    """`B+3.5`, `W+7` or `0`."""
    if score_half == 0:
        return "0"
    whole, half = divmod(abs(score_half), 2)
    return f"{'B' if score_half > 0 else 'W'}+{whole}{'.5' if half else ''}"
