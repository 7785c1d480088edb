"""The board between the controller and the player: `Table`, whose moves anybody may make in any order, and take back.

The rules know turns and an end, GTP knows neither. So where a colour moves twice, the other is taken to have passed; at
the start whoever moves first begins; and where moves follow the end, a new game goes on from that position, without the
boards before it. Invariant: a call that raises Failure changes nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from native.errors import EngineError, IllegalMove
from native.game import Game
from native.handicap import HandicapError, verify_free_points
from native.rules import Colour, Rules
from node.gtp.errors import CANNOT_UNDO, ILLEGAL, Failure
from node.play.stand import Stand

Move = tuple[Colour, int]


@dataclass(frozen=True, slots=True)
class Start:
    """Where the moves begin: the stones (b"": none), who is to move, and what was taken before, by Colour."""

    stones: bytes = b""
    to_move: Colour = Colour.BLACK
    captured: tuple[int, int, int] = (0, 0, 0)
    handicap: int = 0


class Table:
    """One game at a time, from its start to wherever it stands."""

    def __init__(self, rules: Rules) -> None:
        self._start = Start()
        self._moves: list[Move] = []
        self._stand = _begin(rules, self._start)

    @property
    def rules(self) -> Rules:
        """Of this game, its board's size and komi among them."""
        return self._stand.game.rules

    @property
    def game(self) -> Game:
        """The position; look only."""
        return self._stand.game

    @property
    def stand(self) -> Stand:
        """The position with what was taken before; look only."""
        return self._stand

    @property
    def start(self) -> Start:
        """Where the moves begin."""
        return self._start

    @property
    def moves(self) -> Sequence[Move]:
        """What was played, without the passes that are taken as given."""
        return tuple(self._moves)

    def clear(self, rules: Rules) -> None:
        """An empty board."""
        self._set(rules, Start(), [])

    def put(self, rules: Rules, start: Start, moves: Sequence[Move] = ()) -> None:
        """A position to go on from, and the moves after it; Failure where the rules forbid them."""
        self._set(rules, start, list(moves))

    def place_handicap(self, points: Sequence[int]) -> None:
        """Black's stones before White's first move; Failure unless they may all be put, on an empty board."""
        if self._moves or any(self.game.stones()):
            raise Failure("The board is not empty: handicap stones come first.")
        try:
            verify_free_points(self.rules, points)
        except HandicapError as error:
            raise Failure(str(error)) from None
        stones = bytearray(self.rules.points)
        for point in points:
            stones[point] = Colour.BLACK
        self._set(self.rules, Start(bytes(stones), Colour.WHITE, handicap=len(points)), [])

    def play(self, colour: Colour, move: int) -> None:
        """One move or pass of whichever colour; Failure for one that the rules forbid."""
        try:
            self._stand = self._stand.after(colour, move)
        except IllegalMove:
            raise Failure(ILLEGAL) from None
        self._moves.append((colour, move))

    def undo(self) -> None:
        """Takes the last move back; Failure when there is none."""
        if not self._moves:
            raise Failure(CANNOT_UNDO)
        self._set(self.rules, self._start, self._moves[:-1])

    def change_rules(self, rules: Rules) -> None:
        """The same moves under other rules; Failure where those forbid one of them."""
        self._set(rules, self._start, self._moves)

    def change_komi(self, komi_half: int) -> None:
        """The same game with another komi."""
        self._set(replace(self.rules, komi_half=komi_half), self._start, self._moves)

    def _set(self, rules: Rules, start: Start, moves: list[Move]) -> None:
        stand = _begin(rules, start)
        for number, (colour, move) in enumerate(moves, 1):
            try:
                stand = stand.after(colour, move)
            except IllegalMove as error:
                raise Failure(f"Move {number} is illegal by these rules: {error.reason}.") from None
        self._start, self._moves, self._stand = start, moves, stand


def _begin(rules: Rules, start: Start) -> Stand:
    try:
        return Stand(Game(rules, start.stones or None, start.to_move), start.captured)
    except EngineError:
        raise Failure("The stones are no position: some have no liberty.") from None
