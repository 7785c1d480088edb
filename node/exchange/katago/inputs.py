"""KataGo's inputs of a position (its version 7): 22 binary planes and 19 numbers, from the view of the side to move.

| plane | on at | | number | |
|---|---|---|---|---|
| 0 | the board | | 0-4 | the last five moves: 1 for a pass |
| 1, 2 | own stones, the other's | | 5 | komi for the side to move / 20 |
| 3, 4, 5 | chains with 1, 2, 3 liberties | | 6, 7 | superko: 1; positional 0.5, situational -0.5 |
| 6 | points that ko or superko forbids | | 8 | suicide of several stones: 1 |
| 9-13 | the last five moves, the newest first | | 14 | a pass would end the game: 1 |
| 14, 15, 16 | stones in ladders, now, a move and two ago | | 18 | where komi lies between two that can draw |
| 17 | moves that begin a ladder against the other | | | |
| 18, 19 | own area, the other's, as the board stands | | | |

Planes 7, 8, 20, 21 and the other numbers are of rules that no run has (territory, tax, button) or of handicap: 0. Source:
`fillRowV7` of its `cpp/neuralnet/nninputs.cpp`. There, under simple ko, a pass also ends the game in a position in which the
same player passed before; here it does not, and 14 says so.
"""

import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from native.game import Game
from native.rules import Colour, Ko, Rules
from node.exchange.katago.canvas import Canvas
from node.exchange.katago.ladders import Ladders, find_ko, find_ladders

PLANES: Final = 22
GLOBALS: Final = 19
_KOMI_CLIP: Final = 20
_KO: Final = {Ko.SIMPLE: (0.0, 0.0), Ko.POSITIONAL: (1.0, 0.5), Ko.SITUATIONAL: (1.0, -0.5)}


@dataclass(frozen=True, slots=True)
class Position:
    """A position of a game, as far as the inputs need it: `features` and `area` as `native.game.Game` has them, the area
    with dead stones in pass-alive territory taken off."""

    features: bytes
    area: bytes
    to_move: Colour


class Replay:
    """The positions of a game's moves in order, whose last one is the end; raises IllegalMove or EngineError."""

    def __init__(self, rules: Rules, moves: Sequence[int]) -> None:
        self.rules, self.moves = rules, tuple(moves)
        self._game = Game(replace(rules, pass_alive=True))
        self.stones = [self._game.stones()]
        self._kos: list[int | None] = [None]
        self.positions = []
        for move in self.moves:
            self.positions.append(Position(self._game.features(), self._game.owner(), self._game.to_move))
            self._game.play(move)
            self.stones.append(self._game.stones())
            self._kos.append(find_ko(self.stones[-2], self.stones[-1], rules.cols, move))
        self._ladders: dict[int, Ladders] = {}

    def ladders(self, ply: int) -> Ladders:
        """The ladders on the board before a move."""
        found = self._ladders.get(ply)
        if found is None:
            found = self._ladders[ply] = find_ladders(self.stones[ply], self.rules.cols, self._kos[ply])
        return found


def input_planes(replay: Replay, ply: int, canvas: Canvas) -> bytes:
    """The packed planes before a move."""
    position, points = replay.positions[ply], replay.rules.points
    ours = [canvas.bits(position.features[start : start + points]) for start in range(0, 17 * points, points)]
    ladders = [replay.ladders(max(ply - back, 0)) for back in range(3)]
    other = position.to_move.other
    planes = [0] * PLANES
    planes[0:3] = ours[0:3]
    planes[3:6] = (own | others for own, others in zip(ours[3:6], ours[6:9], strict=True))
    planes[6] = ours[9]
    planes[9:14] = ours[10:15]
    planes[14:17] = (canvas.bits_of(each.caught) for each in ladders)
    planes[17] = canvas.bits_of(ladders[0].working[other])
    for plane, colour in ((18, position.to_move), (19, other)):
        planes[plane] = canvas.bits(bytes(owner == colour for owner in position.area))
    return b"".join(map(canvas.pack, planes))


def input_globals(replay: Replay, ply: int) -> bytes:
    """The numbers before a move, as little-endian binary32."""
    rules, found = replay.rules, [0.0] * GLOBALS
    for back in range(1, min(ply, 5) + 1):
        found[back - 1] = float(replay.moves[ply - back] == rules.points)
    komi = own_komi(rules, replay.positions[ply].to_move)
    komi = max(-rules.points - _KOMI_CLIP, min(rules.points + _KOMI_CLIP, komi))
    found[5] = komi / 20
    found[6], found[7] = _KO[rules.ko]
    found[8] = float(rules.suicide)
    found[14] = found[0]
    found[18] = _wave(komi, rules.points)
    return struct.pack(f"<{GLOBALS}f", *found)


def own_komi(rules: Rules, to_move: Colour) -> float:
    """Komi in points from the view of a side."""
    return (1 if to_move == Colour.WHITE else -1) * rules.komi_half / 2


def _wave(komi: float, points: int) -> float:
    """A triangle of period 2 that is 0, and rises, at komi by which a game can be drawn."""
    parity = points % 2
    delta = komi - (math.floor((komi - parity) / 2) * 2 + parity)
    return delta if delta < 0.5 else 1 - delta if delta < 1.5 else delta - 2
